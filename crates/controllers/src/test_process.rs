//! What unit tests of controllers share: a process that is not started, in a cluster that a test plays, and a failure.

use std::collections::HashMap;
use std::sync::Arc;

use machinist_domain::retry::{Category, Failure, Retry};
use machinist_domain::safety::Limits;
use machinist_runtime::cache::Scope;
use machinist_runtime::clock::ManualClock;
use machinist_runtime::cluster::Cluster;
use machinist_runtime::controller::start::Shared;
use machinist_runtime::lease::Leadership;
use machinist_runtime::manager::{Manager, Options};
use machinist_runtime::timings::Timings;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::Writer;
use machinist_testbed::stub::StubApi;

/// Without an API server nothing answers.
pub(crate) fn shared(api: Option<&StubApi>, clock: &Arc<ManualClock>) -> Arc<Shared> {
    let timings = Timings::default();
    let cluster = match api {
        Some(api) => Cluster::new(api.config().unwrap(), &timings),
        None => Cluster::absent(&timings),
    };
    let options = Options {
        scope: Scope::All,
        leader_elect: Some(false),
        lease_namespace: "ns".to_owned(),
        take_over: false,
        identity: "test".to_owned(),
        workers: HashMap::new(),
        dry_run: false,
        metrics_address: "0".to_owned(),
        secure_metrics: None,
        health_address: "0".to_owned(),
        limits: Limits::default(),
    };
    let manager = Manager::new(cluster.unwrap(), None, options, clock.clone(), timings);
    Arc::clone(manager.shared())
}

pub(crate) fn writer(shared: &Shared) -> Writer {
    let session = shared.control.session(UserAgent::of("test"));
    Writer::new(Arc::clone(&shared.gateway), session, "test", Leadership::NotNeeded)
}

/// The failure of a call that was not answered.
pub(crate) fn unanswered() -> Failure {
    let message = "no answer".to_owned();
    Failure { category: Category::Unavailable, retry: Retry::Backoff, message }
}
