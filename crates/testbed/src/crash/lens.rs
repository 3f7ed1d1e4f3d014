use std::sync::Arc;

use super::{CrashPoint, Options, Scenario, point::Write};
use crate::World;
use crate::faults::{ApiRequest, LogEntry, Match, Verb};

#[derive(Debug)]
pub(super) struct Lens<C> {
    scenario: Arc<C>,
    user_agents: String,
    leases: bool,
}

impl<C: Scenario> Lens<C> {
    pub(super) fn new(scenario: Arc<C>, options: &Options) -> Arc<Self> {
        let Options { user_agents, leases, .. } = options;
        Arc::new(Self { scenario, user_agents: user_agents.clone(), leases: *leases })
    }

    pub(super) fn counts(&self, request: &ApiRequest) -> bool {
        let is_point = self.leases || request.resource != "leases";
        request.is_write() && self.is_ours(request) && is_point
    }

    pub(super) fn reads(&self, request: &ApiRequest) -> bool {
        let reads = matches!(request.verb, Verb::Get | Verb::List | Verb::Watch);
        reads && self.is_ours(request) && request.resource != "leases"
    }

    pub(super) fn is_ours(&self, request: &ApiRequest) -> bool {
        // The SDK of a cloud introduces itself by its own name; no other client goes through the proxy to it.
        request.is_query_call() || request.user_agent.starts_with(&self.user_agents)
    }

    fn write(&self, request: &ApiRequest) -> Write {
        Write::of(request, &self.user_agents, &self.scenario.label(request))
    }

    pub(super) fn points(&self, world: &World) -> Vec<CrashPoint> {
        let entries = world.proxy.log().entries();
        let writes: Vec<_> = entries.iter().filter(|entry| self.counts(&entry.request)).collect();
        let points = CrashPoint::in_sequence(writes.iter().map(|entry| self.write(&entry.request)));
        let sure = |(entry, point): (&&LogEntry, CrashPoint)| {
            (point.nth <= self.scenario.at_least(&entry.request)).then_some(point)
        };
        writes.iter().zip(points).filter_map(sure).collect()
    }

    pub(super) fn trace(&self, world: &World) -> String {
        let entries = world.proxy.log().entries();
        let writes = entries.iter().filter(|entry| self.counts(&entry.request));
        writes.map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    /// Fits the same write as the point does, whichever time it is.
    pub(super) fn trap(self: &Arc<Self>, point: &CrashPoint) -> Match {
        let (lens, wanted) = (Arc::clone(self), point.write.clone());
        Match::any().that(move |request| lens.counts(request) && lens.write(request) == wanted)
    }
}
