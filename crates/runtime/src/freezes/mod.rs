//! The freezes of the process: what is in force ([`Ledger`]), and where it comes from.
//!
//! The ConfigMap `machinist-freeze` and the annotation of Namespaces are watched once per process ([`Freezes::watch`]);
//! annotations of objects come from the caches of their controllers ([`Freezes::follow`]). The ledger changes under the
//! lock of a cache, before other readers see the object; queues are notified after it. Freezes that machinist finds by
//! counting are in [`monitors`].

#[cfg(test)]
mod exploration;
mod kinds;
pub mod monitors;
mod sources;
mod unreachable;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use machinist_domain::key::ObjectKey;
use machinist_domain::safety::{
    Effect, EffectKind, Freeze, Initiator, Ledger, Limits, ObjectRef, Reason, Refusal, Scope,
    permit,
};
use parking_lot::RwLock;

use self::monitors::Monitors;
pub use self::sources::Freezable;
use self::sources::Sources;
use self::unreachable::ApiServers;
use crate::clock::SharedClock;
use crate::messages;
use crate::metrics::Metrics;
use crate::readiness::Mark;
use crate::timings::FreezeTimings;

/// The longest chain of owners: Machine, MachineSet, MachineDeployment.
const OWNERS: usize = 2;

/// Finds the controller owner of an object.
type Parent = Box<dyn Fn(&ObjectKey) -> Option<ObjectRef> + Send + Sync>;
type Listener = Box<dyn Fn(&Scope) + Send + Sync>;

pub struct Freezes {
    ledger: RwLock<Ledger>,
    /// By kind.
    parents: RwLock<HashMap<&'static str, Parent>>,
    listeners: RwLock<Vec<Listener>>,
    sources: OnceLock<Sources>,
    monitors: Monitors,
    api_servers: ApiServers,
    clock: SharedClock,
    metrics: Arc<Metrics>,
}

impl std::fmt::Debug for Freezes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Freezes").field("ledger", &*self.ledger.read()).finish_non_exhaustive()
    }
}

impl Freezes {
    /// Without a source: nothing is frozen.
    pub fn new(
        clock: SharedClock,
        metrics: Arc<Metrics>,
        limits: Limits,
        timings: FreezeTimings,
    ) -> Self {
        Self {
            ledger: RwLock::default(),
            parents: RwLock::default(),
            listeners: RwLock::default(),
            sources: OnceLock::new(),
            monitors: Monitors::new(limits, timings),
            api_servers: ApiServers::default(),
            clock,
            metrics,
        }
    }

    /// Whether a change on behalf of this object may be sent now.
    pub(crate) fn permit(
        &self,
        kind: EffectKind,
        initiator: Initiator,
        object: &ObjectRef,
    ) -> Result<(), Refusal> {
        self.check_api_servers();
        if initiator == Initiator::Controller {
            // What has changed a moment ago may not be counted yet.
            self.count_now();
        }
        self.permit_as_counted(kind, initiator, object)
    }

    /// The same without counting again, which takes time for each Node: for what is shown.
    pub(crate) fn permit_as_counted(
        &self,
        kind: EffectKind,
        initiator: Initiator,
        object: &ObjectRef,
    ) -> Result<(), Refusal> {
        if self.ledger.read().is_empty() {
            return Ok(());
        }
        let effect = Effect { kind, initiator, lineage: self.lineage(object) };
        permit(&effect, &self.ledger.read())
    }

    /// The freeze that covers the object and stops most, of those that are to be shown.
    pub(crate) fn of(&self, object: &ObjectRef) -> Option<Freeze> {
        if self.ledger.read().is_empty() {
            return None;
        }
        let lineage = self.lineage(object);
        let shows_outage = self.api_servers.is_shown();
        let is_shown = |freeze: &&Freeze| freeze.reason != Reason::ApiUnreachable || shows_outage;
        let ledger = self.ledger.read();
        ledger.on(&lineage).map(|(_, freeze)| freeze).find(is_shown).cloned()
    }

    /// The object and its owners. Reads caches, so the ledger must not be locked.
    fn lineage(&self, object: &ObjectRef) -> Vec<ObjectRef> {
        let mut lineage = vec![object.clone()];
        if !self.ledger.read().has_objects() {
            return lineage;
        }
        let parents = self.parents.read();
        for at in 0..OWNERS {
            let find = |one: &ObjectRef| parents.get(one.kind)?(&one.key);
            match lineage.get(at).and_then(find) {
                Some(parent) => lineage.push(parent),
                None => break,
            }
        }
        lineage
    }

    /// Calls `listener` with the scope of each freeze that begins, changes or ends. It must not block.
    pub(crate) fn subscribe(&self, listener: impl Fn(&Scope) + Send + Sync + 'static) {
        self.listeners.write().push(Box::new(listener));
    }

    fn notify(&self, scope: &Scope) {
        for listener in &*self.listeners.read() {
            listener(scope);
        }
    }

    /// Puts a freeze with this source and text in force, or ends it. Under the lock of a cache: it must not read one.
    fn put(&self, scope: &Scope, reason: Reason, asked: Option<(Arc<str>, Arc<str>)>) {
        let level = scope.level();
        let mut ledger = self.ledger.write();
        let (changed, ends) = match asked {
            None => (ledger.end(scope.clone(), reason), true),
            Some((source, text)) => {
                let freeze = Freeze { reason, since: self.clock.now(), source, text };
                (ledger.begin(scope.clone(), freeze), false)
            }
        };
        if !changed {
            return;
        }
        let same = |scope: &Scope, one: &Freeze| scope.level() == level && one.reason == reason;
        let count = ledger.all().filter(|(scope, one)| same(scope, one)).count();
        drop(ledger);
        self.metrics.frozen(reason.as_str(), level, count);
        if ends {
            tracing::info!(?scope, reason = reason.as_str(), "freeze ended");
        } else {
            tracing::warn!(?scope, reason = reason.as_str(), "frozen");
        }
    }

    #[cfg(test)]
    pub(crate) fn for_tests(clock: SharedClock, metrics: &Arc<Metrics>) -> Self {
        Self::new(clock, Arc::clone(metrics), Limits::default(), FreezeTimings::default())
    }

    #[cfg(test)]
    pub(crate) fn begin_for_tests(&self, text: &str) {
        self.put(&Scope::Cluster, Reason::Requested, Some(("ConfigMap".into(), text.into())));
    }

    /// Whether it is known what is frozen, and the line of `/readyz`; `None` in a process whose controllers no freeze
    /// stops.
    pub(crate) fn describe(&self) -> Option<(bool, Mark, String)> {
        let sources = self.sources.get()?;
        if let Some((mark, text)) = sources.unread() {
            return Some((false, mark, text));
        }
        let ledger = self.ledger.read();
        let mut all = ledger.all();
        Some(match all.next() {
            None => (true, Mark::Passed, messages::NOT_FROZEN.to_owned()),
            // It is what users want, so the process stays ready.
            Some((_, first)) => (true, Mark::NeedsAction, messages::frozen(first, all.count())),
        })
    }
}

#[cfg(test)]
mod tests;
