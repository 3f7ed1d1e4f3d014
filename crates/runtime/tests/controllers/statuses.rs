//! The driver writes the status before Events, and ignores conflicts and deleted objects.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::ensure;
use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::report::{EventNote, EventReason, ReconcileResult, Report};
use machinist_domain::retry::Retry;
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{AnyCache, Cache};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::Controller;
use machinist_runtime::controller::declaration::Declaration;
use machinist_runtime::controller::start::{Registration, Shared};
use machinist_runtime::events::Regarding;
use machinist_runtime::queue::Queue;
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};
use machinist_testbed::faults::{Effect, Gate, Match, Rule};
use machinist_testbed::poll::eventually;
use serde_json::{Value, json};

use crate::things::{Desk, Thing, Things};
use crate::world::PATIENCE;

/// Reports each thing once as seen, in the status and by an Event, and polls it a few times.
struct Seer {
    cache: Arc<Cache<Things>>,
    reconciles: Arc<AtomicUsize>,
    /// Whether its status write is pruned, and it does not poll.
    in_vain: bool,
}

/// How often a thing is polled.
const LOOKS: usize = 20;

fn seer(reconciles: &Arc<AtomicUsize>) -> Registration {
    seer_in_vain(reconciles, false)
}

fn seer_in_vain(reconciles: &Arc<AtomicUsize>, in_vain: bool) -> Registration {
    let reconciles = reconciles.clone();
    Registration::new(move |shared: &Arc<Shared>| Seer {
        cache: shared.caches.open(&shared.control, shared.scope.clone(), Things),
        reconciles,
        in_vain,
    })
}

struct Look;

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("look at it")
    }
}

impl Controller for Seer {
    type Snapshot = Arc<Thing>;
    type Plan = Look;
    type Outcome = usize;

    const DECLARATION: Declaration =
        Declaration { requires: &[Things::RESOURCE], ..Declaration::new("seer") };

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.cache.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        let queue = queue.clone();
        self.cache.subscribe(move |change| queue.add_changed(change.key, change));
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Arc<Thing>>, ApiError> {
        Ok(match self.cache.get_certain(key).await? {
            Some(Entry::Known(thing)) => Some(thing),
            _ => None,
        })
    }

    fn decide(&self, _: &Arc<Thing>, _now: Timestamp) -> Look {
        Look
    }

    async fn act(&self, _: &Arc<Thing>, _: &Look, _: &Writer) -> usize {
        self.reconciles.fetch_add(1, Ordering::SeqCst)
    }

    fn report(&self, thing: &Arc<Thing>, _: &Look, reconciles: &usize, _now: Timestamp) -> Report {
        let again = *reconciles < LOOKS && !self.in_vain;
        let again = again.then_some(Retry::Again(Duration::from_millis(1)));
        if thing.seen.is_some() {
            return Report { retry: again, ..Report::quiet(ReconcileResult::Settled) };
        }
        Report {
            result: ReconcileResult::Changed,
            status: Some(json!({"seen": "yes"})),
            events: vec![EventNote::normal(EventReason::Annotated, "See", "seen")],
            retry: again,
        }
    }

    async fn write_status(
        &self,
        thing: &Arc<Thing>,
        _: &Look,
        status: &Value,
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        // The status endpoint ignores other fields.
        let part = if self.in_vain { "lost" } else { "status" };
        let patch = json!({part: status});
        writer.patch(&self.cache, &thing.meta, Part::Status, Guard::Version, patch, &Look).await
    }

    fn regarding<'a>(&self, thing: &'a Arc<Thing>) -> Regarding<'a> {
        Regarding { resource: Things::RESOURCE, meta: &thing.meta }
    }
}

fn status_writes() -> Match {
    Match::writes().resource("things").subresource("status")
}

async fn events(desk: &Desk) -> usize {
    let events: Api<Event> = Api::namespaced(desk.world.client.clone(), &desk.world.namespace);
    events.list(&ListParams::default()).await.unwrap().items.len()
}

/// How many reconciles had this result.
fn reconciles(shared: &Shared, result: &str) -> usize {
    let metrics = shared.metrics.encode(&[]).unwrap();
    let line = format!(r#"machinist_reconcile_total{{controller="seer",result="{result}"}} "#);
    let count = metrics.lines().find_map(|found| found.strip_prefix(&line));
    count.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn conflicting_status_is_retried_soon_and_events_are_written_once() {
    let desk = Desk::new("conflict", |_| {}).await;
    desk.given("one", &[]).await;
    for code in [409, 409, 500] {
        let rule = Rule::new(status_writes(), Effect::answer(code)).times(1);
        desk.world.proxy.add_rule(rule);
    }
    let running = desk.world.run(desk.world.options(), vec![seer(&Arc::default())]);
    let written = eventually(PATIENCE, "the status", || async {
        let thing = desk.truth("one").await.unwrap();
        ensure!(thing.data["status"]["seen"] == "yes");
        Ok(())
    });
    written.await.unwrap();
    assert_eq!(reconciles(&running.shared, "failed"), 1, "a conflict is not a failure");
    running.stop().await;
    assert_eq!(events(&desk).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_object_needs_no_status() {
    let desk = Desk::new("gone", |_| {}).await;
    desk.given("one", &[]).await;
    let gate = Gate::new();
    desk.world.proxy.add_rule(Rule::new(status_writes(), Effect::Hold(gate.clone())));
    let running = desk.world.run(desk.world.options(), vec![seer(&Arc::default())]);
    gate.reached().await;
    desk.people.delete("one", &DeleteParams::default()).await.unwrap();
    gate.open();
    let ended = eventually(PATIENCE, "the reconcile to end", || async {
        ensure!(reconciles(&running.shared, "changed") == 1);
        Ok(())
    });
    ended.await.unwrap();
    assert_eq!((reconciles(&running.shared, "failed"), events(&desk).await), (0, 0));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn polling_has_no_backoff() {
    let desk = Desk::new("again", |_| {}).await;
    desk.given("one", &[]).await;
    let looks = Arc::new(AtomicUsize::new(0));
    let running = desk.world.run(desk.world.options(), vec![seer(&looks)]);
    // With backoff, so many reconciles would take two minutes.
    let looked = eventually(PATIENCE, "all the looks", || async {
        ensure!(looks.load(Ordering::SeqCst) > LOOKS);
        Ok(())
    });
    looked.await.unwrap();
    running.stop().await;
}

/// A patch that changes nothing succeeds, and the watch reports nothing.
#[tokio::test(flavor = "multi_thread")]
async fn write_without_effect_is_retried() {
    let desk = Desk::new("vain", |_| {}).await;
    desk.given("one", &[]).await;
    let tried = Arc::new(AtomicUsize::new(0));
    let running = desk.world.run(desk.world.options(), vec![seer_in_vain(&tried, true)]);
    let again = eventually(PATIENCE, "another attempt, and one more", || async {
        ensure!(tried.load(Ordering::SeqCst) >= 4);
        Ok(())
    });
    again.await.unwrap();
    let entries = desk.world.proxy.log().matching(&status_writes());
    assert!(entries.iter().all(|entry| entry.status.is_none_or(|code| code == 200)), "{entries:?}");
    assert_eq!(events(&desk).await, 1);
    running.stop().await;
}
