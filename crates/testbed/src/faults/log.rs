//! An entry is there as soon as the request was read, before any effect; it gets its final outcome exactly once, also
//! when the client disappears.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{ApiRequest, Match};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    InFlight,
    Answered,
    /// By the proxy.
    Injected,
    /// Before anything was forwarded, or in the middle of a watch.
    Cut,
    /// The API server carried it out.
    AnswerLost,
    /// Carried out when its client had given up.
    LandedLate,
    /// Also when the network was cut.
    ClientGone,
    Upstream(String),
}

#[derive(Debug, Clone)]
pub struct LogEntry {
    /// Counted from the start of the proxy.
    pub at: Duration,
    pub request: Arc<ApiRequest>,
    /// Also set when the answer was lost.
    pub status: Option<u16>,
    pub outcome: Outcome,
    /// Once it has ended.
    pub took: Option<Duration>,
}

impl fmt::Display for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:9.3}s {:<24} {}",
            self.at.as_secs_f64(),
            self.request.user_agent,
            self.request
        )?;
        if let Some(status) = self.status {
            write!(f, " → {status}")?;
        }
        match &self.outcome {
            Outcome::Answered => Ok(()),
            other => write!(f, " ({other:?})"),
        }
    }
}

#[derive(Debug)]
struct Inner {
    start: Instant,
    stopped: AtomicBool,
    entries: Mutex<Vec<LogEntry>>,
}

/// In the order in which they came in.
#[derive(Debug, Clone)]
pub struct RequestLog(Arc<Inner>);

impl RequestLog {
    pub(super) fn new() -> Self {
        let (start, stopped) = (Instant::now(), AtomicBool::new(false));
        Self(Arc::new(Inner { start, stopped, entries: Mutex::default() }))
    }

    pub(super) fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// On the scale of [`LogEntry::at`].
    pub fn now(&self) -> Duration {
        self.0.start.elapsed()
    }

    pub fn entries(&self) -> Vec<LogEntry> {
        self.0.entries.lock().clone()
    }

    pub fn matching(&self, when: &Match) -> Vec<LogEntry> {
        self.0.entries.lock().iter().filter(|entry| when.fits(&entry.request)).cloned().collect()
    }

    pub(super) fn open(&self, request: Arc<ApiRequest>) -> Ticket {
        if self.0.stopped.load(Ordering::Relaxed) {
            return Ticket { log: self.clone(), index: usize::MAX };
        }
        let at = self.now();
        let mut entries = self.0.entries.lock();
        entries.push(LogEntry {
            at,
            request,
            status: None,
            outcome: Outcome::InFlight,
            took: None,
        });
        Ticket { log: self.clone(), index: entries.len() - 1 }
    }
}

impl fmt::Display for RequestLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries().iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

/// Dropped without an outcome, the client is gone.
#[derive(Debug)]
pub(super) struct Ticket {
    log: RequestLog,
    index: usize,
}

impl Ticket {
    pub(super) fn status(&self, status: u16) {
        self.change(|entry| entry.status = Some(status));
    }

    pub(super) fn close(self, outcome: Outcome) {
        self.end(outcome);
    }

    fn end(&self, outcome: Outcome) {
        let now = self.log.now();
        self.change(|entry| {
            if entry.outcome == Outcome::InFlight {
                entry.outcome = outcome;
                entry.took = Some(now.saturating_sub(entry.at));
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut LogEntry)) {
        if let Some(entry) = self.log.0.entries.lock().get_mut(self.index) {
            change(entry);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.end(Outcome::ClientGone);
    }
}
