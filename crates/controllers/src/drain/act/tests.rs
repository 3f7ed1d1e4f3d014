use std::sync::Arc;
use std::time::Duration;

use machinist_domain::machine_timings::MachineTimings;
use machinist_runtime::cache::Scope;
use machinist_runtime::cache::registry::Caches;
use machinist_runtime::clock::{Clock as _, ManualClock};
use machinist_runtime::cluster::Cluster;
use machinist_runtime::lease::Leadership;
use machinist_runtime::metrics::Metrics;
use machinist_runtime::tasks::Tasks;
use machinist_runtime::timings::Timings;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::Gateway;

use super::*;
use crate::drain::Step;
use crate::drain::decide::tests::{pod, view};
use crate::kinds::Nodes;

/// Such as that of a Node whose instance was terminated meanwhile.
#[tokio::test]
async fn what_is_remembered_of_a_drain_that_is_not_continued_is_released() {
    let (clock, timings) = (Arc::<ManualClock>::default(), Timings::default());
    let (cluster, metrics) = (Cluster::absent(&timings).unwrap(), Arc::<Metrics>::default());
    let caches = Caches::new(clock.clone(), timings, Arc::clone(&metrics), Tasks::default());
    let nodes = caches.open(&cluster, Scope::All, Nodes);
    let session = cluster.session(UserAgent::of("test"));
    let gateway = Arc::new(Gateway::new(true, timings.cloud_call, metrics));
    let writer = Writer::new(gateway, session.clone(), "test", Leadership::NotNeeded);
    let drainer = Drainer::new(nodes, session, clock.clone(), MachineTimings::default());
    let mut most = 0;
    for number in 0..500 {
        let mut view = view(vec![pod("a")]);
        view.subject.uid = Uid(format!("machine-{number}").into());
        let plan = Plan::at(Step::WaitingForPods, Some(Duration::from_secs(5)));
        drainer.act(&view, &plan, &writer).await;
        clock.advance(Duration::from_secs(60));
        most = most.max(drainer.attempts.lock().live(clock.uptime()).count());
    }
    assert_eq!(most, 59, "those of the last hour");
}
