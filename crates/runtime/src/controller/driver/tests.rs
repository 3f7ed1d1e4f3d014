mod follower;
mod pauses;
mod refusals;
mod restored;
mod stage;

use std::collections::HashMap;
use std::convert::Infallible;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::client::Body;
use machinist_api::resource::MACHINE_SETS;
use machinist_domain::key::{Uid, Version};
use machinist_domain::meta::Meta;
use machinist_domain::report::{EventReason, Report};
use machinist_domain::safety::Limits;
use parking_lot::Mutex;
use serde_json::Value;

use super::*;
use crate::cache::{AnyCache, Scope};
use crate::clock::{ManualClock, SharedClock};
use crate::cluster::{ApiError, Cluster};
use crate::controller::declaration::Declaration;
use crate::manager::{Manager, Options};
use crate::timings::Timings;
use crate::user_agent::UserAgent;

/// Reports two Events at its first reconcile, and none later.
#[derive(Default)]
struct Talker {
    reconciles: AtomicU64,
    retry: Option<Retry>,
    nodes: bool,
}

impl Controller for Talker {
    type Snapshot = Meta;
    type Plan = &'static str;
    type Outcome = ();

    const DECLARATION: Declaration = Declaration::new("talker");

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        Vec::new()
    }

    fn subscribe(&self, _: &Arc<Queue>) {}

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Meta>, ApiError> {
        let (uid, version) = (Uid("uid".into()), Version(1));
        Ok(Some(Meta { key: key.clone(), uid, version, deleting: false }))
    }

    fn decide(&self, _: &Meta, _: Timestamp) -> &'static str {
        "talk"
    }

    async fn act(&self, _: &Meta, _: &&'static str, _: &Writer) {}

    fn report(&self, _: &Meta, _: &&'static str, (): &(), _: Timestamp) -> Report {
        let first = self.reconciles.fetch_add(1, Ordering::Relaxed) == 0;
        let note = |reason| EventNote::normal(reason, "Talk", "news");
        let events = [EventReason::Annotated, EventReason::ArchitectureReplaced].map(note);
        let events = if first { events.to_vec() } else { Vec::new() };
        Report { events, retry: self.retry, ..Report::quiet(ReconcileResult::Changed) }
    }

    fn regarding<'a>(&self, meta: &'a Meta) -> Regarding<'a> {
        Regarding { resource: if self.nodes { NODES } else { MACHINE_SETS }, meta }
    }
}

/// Also refused ones.
type Sent = Arc<Mutex<Vec<String>>>;

/// The API server answers the first Event with `refusal`, and accepts the others.
fn driver(refusal: u16) -> (Driver<Talker>, Sent) {
    let (cluster, sent) = cluster(refusal);
    (driver_of(Talker::default(), &cluster), sent)
}

fn cluster(refusal: u16) -> (Cluster, Sent) {
    let sent = Sent::default();
    let heard = Arc::clone(&sent);
    let api_server = tower::service_fn(move |request: Request<Body>| {
        let heard = Arc::clone(&heard);
        async move {
            let body = request.into_body().collect().await.expect("a body").to_bytes();
            let event: Value = serde_json::from_slice(&body).expect("JSON");
            let mut heard = heard.lock();
            heard.push(event["reason"].as_str().unwrap_or_default().to_owned());
            let code = if heard.len() == 1 { refusal } else { 201 };
            let body = axum::body::Body::from("{}");
            Ok::<_, Infallible>(Response::builder().status(code).body(body).expect("a response"))
        }
    });
    let client = kube::Client::new(api_server, "default");
    (Cluster::played_by(client, &Timings::default()), sent)
}

fn driver_of<C: Controller>(controller: C, cluster: &Cluster) -> Driver<C> {
    let options = Options {
        scope: Scope::All,
        leader_elect: None,
        lease_namespace: "ns".to_owned(),
        take_over: false,
        identity: "me".to_owned(),
        workers: HashMap::new(),
        dry_run: false,
        metrics_address: "0".to_owned(),
        secure_metrics: None,
        health_address: "0".to_owned(),
        limits: Limits::default(),
    };
    let (clock, timings) = (Arc::new(ManualClock::default()), Timings::default());
    let shared = Manager::new(cluster.clone(), None, options, clock, timings).shared().clone();
    let session = cluster.session(UserAgent::of(C::NAME));
    Driver {
        controller,
        queue: Arc::new(Queue::new(timings.retry)),
        writer: Writer::new(shared.gateway.clone(), session, C::NAME, Leadership::NotNeeded),
        pending_events: PendingEvents::default(),
        shared,
        workers: C::DECLARATION.workers,
        reconciles: AtomicU64::new(0),
    }
}

async fn reconcile(driver: &Driver<Talker>, key: &ObjectKey) {
    let (key, writes) = (key.clone(), SelfWrites::default());
    driver.reconcile(&Claimed { queue: &driver.queue, key, writes }).await;
}

#[tokio::test]
async fn failed_event_does_not_affect_others_and_is_retried() {
    let (driver, sent) = driver(500);
    let key = ObjectKey::new("ns", "a");
    reconcile(&driver, &key).await;
    assert_eq!(*sent.lock(), ["Annotated", "ArchitectureReplaced"]);
    assert_eq!(driver.queue.depth(), 1, "requeued for the first");
    reconcile(&driver, &key).await;
    reconcile(&driver, &key).await;
    assert_eq!(*sent.lock(), ["Annotated", "ArchitectureReplaced", "Annotated"]);
}

#[tokio::test]
async fn invalid_event_is_dropped() {
    let (driver, sent) = driver(422);
    let key = ObjectKey::new("ns", "a");
    reconcile(&driver, &key).await;
    reconcile(&driver, &key).await;
    assert_eq!(*sent.lock(), ["Annotated", "ArchitectureReplaced"]);
}

#[tokio::test]
async fn failed_event_changes_neither_result_nor_earlier_requeue() {
    for own in [Duration::from_millis(300), Duration::from_secs(20)].map(Retry::Again) {
        let (mut driver, _) = driver(500);
        driver.controller.retry = Some(own);
        let ended = driver.stages(&ObjectKey::new("ns", "a"), &driver.writer).await;
        assert_eq!(ended, (ReconcileResult::Changed, Some(own)));
    }
}

#[tokio::test]
async fn permanently_rejected_event_does_not_requeue() {
    for refusal in [404, 422] {
        let (driver, sent) = driver(refusal);
        let key = ObjectKey::new("ns", "a");
        assert_eq!(
            driver.stages(&key, &driver.writer).await,
            (ReconcileResult::Changed, None),
            "{refusal}"
        );
        reconcile(&driver, &key).await;
        assert_eq!(sent.lock().len(), 2, "{refusal}");
    }
}

#[tokio::test]
async fn events_about_nodes_go_to_the_cluster_that_has_the_nodes() {
    for (nodes, expected) in [(true, [0, 2]), (false, [2, 0])] {
        let ((control, own), (target, nodes_own)) = (cluster(201), cluster(201));
        let mut driver = driver_of(Talker { nodes, ..Talker::default() }, &control);
        driver.writer =
            driver.writer.with_target(Some(target.session(UserAgent::of(Talker::NAME))));
        reconcile(&driver, &ObjectKey::new("", "a")).await;
        assert_eq!([own.lock().len(), nodes_own.lock().len()], expected);
    }
}
