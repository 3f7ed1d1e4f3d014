//! The freezes of the process: what is in force ([`Ledger`]), and where it comes from.
//!
//! The ConfigMap `machinist-freeze` and the annotation of Namespaces are watched once per process ([`Freezes::watch`]);
//! annotations of objects come from the caches of their controllers ([`Freezes::follow`]). The ledger changes under the
//! lock of a cache, before other readers see the object; queues are notified after it.

#[cfg(test)]
mod exploration;
mod kinds;
mod sources;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use machinist_domain::key::ObjectKey;
use machinist_domain::safety::{
    Effect, EffectKind, Freeze, Ledger, ObjectRef, Reason, Refusal, Scope, permit,
};
use parking_lot::RwLock;

pub use self::sources::Freezable;
use self::sources::Sources;
use crate::clock::SharedClock;
use crate::messages;
use crate::metrics::Metrics;
use crate::readiness::Mark;

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
    pub fn new(clock: SharedClock, metrics: Arc<Metrics>) -> Self {
        Self {
            ledger: RwLock::default(),
            parents: RwLock::default(),
            listeners: RwLock::default(),
            sources: OnceLock::new(),
            clock,
            metrics,
        }
    }

    /// Whether a change on behalf of this object may be sent now.
    pub(crate) fn permit(&self, kind: EffectKind, object: &ObjectRef) -> Result<(), Refusal> {
        if self.ledger.read().is_empty() {
            return Ok(());
        }
        let effect = Effect { kind, lineage: self.lineage(object) };
        permit(&effect, &self.ledger.read())
    }

    /// The widest freeze that covers the object.
    pub(crate) fn of(&self, object: &ObjectRef) -> Option<Freeze> {
        if self.ledger.read().is_empty() {
            return None;
        }
        let lineage = self.lineage(object);
        self.ledger.read().on(&lineage).next().map(|(_, freeze)| freeze.clone())
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

    /// Under the lock of a cache: it must not read one.
    fn put(&self, scope: &Scope, asked: Option<(Arc<str>, Arc<str>)>) {
        let (reason, level) = (Reason::Requested, scope.level());
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
        let count = ledger.all().filter(|(scope, _)| scope.level() == level).count();
        drop(ledger);
        self.metrics.frozen(reason.as_str(), level, count);
        if ends {
            tracing::info!(?scope, reason = reason.as_str(), "freeze ended");
        } else {
            tracing::warn!(?scope, reason = reason.as_str(), "frozen");
        }
    }

    #[cfg(test)]
    pub(crate) fn begin_for_tests(&self, text: &str) {
        self.put(&Scope::Cluster, Some(("ConfigMap".into(), text.into())));
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
