//! Watches every state of every machine, in the order in which they were stored, and notes what must never be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use futures::{StreamExt as _, pin_mut};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, WatchEvent, WatchParams};
use machinist_testbed::world::reading::{is_alive, line, phase};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

/// The longest watch that the API server accepts is 295 s; a story on a busy machine may take longer.
const WATCH_SECONDS: u32 = 290;

/// What was wanted, and what was seen.
#[derive(Default)]
struct Notes {
    /// The most that was ever wanted.
    most_wanted: AtomicUsize,
    /// How many machines there was ever a reason to make.
    reasons: AtomicUsize,
    wanted: AtomicUsize,
    wrongs: Mutex<Vec<String>>,
}

pub(super) struct Witness {
    notes: Arc<Notes>,
    watching: JoinHandle<()>,
}

impl Witness {
    /// Watches from now on; there is no machine yet.
    pub(super) fn new(machines: Api<DynamicObject>) -> Self {
        let notes = Arc::new(Notes::default());
        let seen = Seen { notes: Arc::clone(&notes), ..Seen::default() };
        Self { notes, watching: tokio::spawn(seen.watch(machines)) }
    }

    /// Call it before the set is scaled.
    pub(super) fn wants(&self, size: usize) {
        let before = self.notes.wanted.swap(size, Ordering::SeqCst);
        self.notes.most_wanted.fetch_max(size, Ordering::SeqCst);
        self.notes.reasons.fetch_add(size.saturating_sub(before), Ordering::SeqCst);
    }

    /// Call it before a machine is deleted: it may be replaced.
    pub(super) fn deletes(&self) {
        self.notes.reasons.fetch_add(1, Ordering::SeqCst);
    }

    /// Everything that must never be and was.
    pub(super) fn wrongs(&self) -> Vec<String> {
        let mut wrongs = self.notes.wrongs.lock().clone();
        if self.watching.is_finished() {
            wrongs.push("the watch of the test ended early".to_owned());
        }
        wrongs
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

/// What the watch has reported so far.
#[derive(Default)]
struct Seen {
    notes: Arc<Notes>,
    alive: BTreeMap<String, bool>,
    ever: BTreeSet<String>,
}

impl Seen {
    async fn watch(mut self, machines: Api<DynamicObject>) {
        if let Err(error) = self.follow(machines).await {
            self.note(format!("the watch of the test broke: {error:#}"));
        }
    }

    async fn follow(&mut self, machines: Api<DynamicObject>) -> Result<()> {
        let params = WatchParams::default().timeout(WATCH_SECONDS);
        let mut version = "0".to_owned();
        // A watch that ends continues at the version where it ended, so no state is missed.
        loop {
            let events = machines.watch(&params, &version).await?;
            pin_mut!(events);
            while let Some(event) = events.next().await {
                let reached = match event? {
                    WatchEvent::Added(machine) | WatchEvent::Modified(machine) => {
                        self.is(&machine);
                        machine.resource_version()
                    }
                    WatchEvent::Deleted(machine) => {
                        self.alive.remove(&machine.name_any());
                        machine.resource_version()
                    }
                    WatchEvent::Bookmark(bookmark) => Some(bookmark.metadata.resource_version),
                    WatchEvent::Error(status) => anyhow::bail!("{status}"),
                };
                version = reached.unwrap_or(version);
            }
        }
    }

    fn is(&mut self, machine: &DynamicObject) {
        self.alive.insert(machine.name_any(), is_alive(machine));
        let alive = self.alive.values().filter(|alive| **alive).count();
        let most = self.notes.most_wanted.load(Ordering::SeqCst);
        if alive > most {
            self.note(format!("{alive} machines at once, and never more than {most} were wanted"));
        }
        if self.ever.insert(machine.uid().unwrap_or_default()) {
            let (ever, reasons) = (self.ever.len(), self.notes.reasons.load(Ordering::SeqCst));
            if ever > reasons {
                self.note(format!("{ever} machines were made, with a reason for {reasons}"));
            }
        }
        if phase(machine) == "Failed" {
            self.note(format!(
                "it failed for good, and nothing was wrong for good: {}",
                line(machine)
            ));
        }
    }

    fn note(&self, wrong: String) {
        self.notes.wrongs.lock().push(wrong);
    }
}
