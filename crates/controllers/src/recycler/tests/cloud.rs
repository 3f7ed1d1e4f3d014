use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::machine_timings::MachineTimings;
use machinist_provider::Pending;
use machinist_provider::cloud::{CloudError, InstanceState};
use machinist_provider::node_groups::{
    Group, GroupChange, GroupError, GroupName, GroupRef, InstanceFacts, InstanceId,
    InstanceLocation, NodeGroups,
};
use machinist_runtime::cache::Scope;
use machinist_runtime::cache::registry::Caches;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::Cluster;
use machinist_runtime::lease::Leadership;
use machinist_runtime::metrics::Metrics;
use machinist_runtime::tasks::Tasks;
use machinist_runtime::timings::Timings;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::{Gateway, Writer};
use parking_lot::Mutex;

use crate::kinds::Nodes;
use crate::recycler::recycling::Recycling;

/// It never answers.
pub(in crate::recycler) const SILENT: &str = "eu-silent-1";

/// Every instance is in the group `workers`.
#[derive(Debug, Default)]
pub(in crate::recycler) struct FakeCloud {
    groups: Mutex<HashMap<GroupRef, Result<Group, CloudError>>>,
    calls: Mutex<Vec<String>>,
}

impl FakeCloud {
    pub(in crate::recycler) fn put(&self, group: GroupRef, answer: Result<Group, CloudError>) {
        self.groups.lock().insert(group, answer);
    }

    pub(in crate::recycler) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock())
    }
}

impl NodeGroups for FakeCloud {
    fn provider(&self) -> &'static str {
        "fake"
    }

    fn locate(&self, provider_id: &str) -> Option<InstanceLocation> {
        let (region, id) = provider_id.strip_prefix("fake://")?.split_once('/')?;
        Some(InstanceLocation { id: id.into(), region: Some(region.into()) })
    }

    fn instances<'a>(
        &'a self,
        region: &'a str,
        ids: &'a [InstanceId],
    ) -> Pending<'a, Result<Vec<InstanceFacts>, CloudError>> {
        if region == SILENT {
            return Box::pin(std::future::pending());
        }
        let facts = |id: &InstanceId| InstanceFacts {
            id: id.clone(),
            state: InstanceState::Running,
            group: Some(GroupName("workers".into())),
            node_group: None,
            cluster: None,
            instance_type: None,
            zone: None,
        };
        self.calls.lock().push(format!("instances {region} {}", ids.len()));
        Box::pin(std::future::ready(Ok(ids.iter().map(facts).collect())))
    }

    fn describe<'a>(
        &'a self,
        region: &'a str,
        names: &'a [GroupName],
    ) -> Pending<'a, Result<Vec<Group>, CloudError>> {
        if region == SILENT {
            return Box::pin(std::future::pending());
        }
        let groups = self.groups.lock();
        let found = names.iter().filter_map(|name| {
            self.calls.lock().push(format!("describe {region}/{name}"));
            groups.get(&GroupRef::new(region, Arc::clone(&name.0))).cloned()
        });
        Box::pin(std::future::ready(found.collect()))
    }

    fn change<'a>(
        &'a self,
        group: &'a GroupRef,
        change: &'a GroupChange,
    ) -> Pending<'a, Result<(), GroupError>> {
        self.calls.lock().push(format!("{group}: {change}"));
        Box::pin(std::future::ready(Ok(())))
    }
}

/// In a cluster that does not answer.
pub(in crate::recycler) fn recycling(
    cloud: &Arc<FakeCloud>,
    clock: SharedClock,
) -> (Recycling, Writer) {
    let timings = Timings { cloud_call: Duration::from_secs(60), ..Timings::default() };
    let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
    let cluster = Cluster::new(config, &timings).unwrap();
    let session = cluster.session(UserAgent::of("recycler"));
    let metrics = Arc::new(Metrics::default());
    let caches = Caches::new(clock.clone(), timings, Arc::clone(&metrics), Tasks::default());
    let nodes = caches.open(&cluster, Scope::All, Nodes);
    let gateway = Arc::new(Gateway::new(false, timings.cloud_call, metrics));
    let writer = Writer::new(gateway, session.clone(), "test", Leadership::NotNeeded);
    let groups: Arc<dyn NodeGroups> = cloud.clone();
    (
        Recycling::new(
            groups,
            nodes,
            session,
            clock,
            timings.cloud_call,
            MachineTimings::default(),
            None,
        ),
        writer,
    )
}
