//! The freezes that are in force, and whether an effect is permitted.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::effect::{Effect, ObjectRef};
use super::refusal::Refusal;

machinist_api::named_enum! {
    /// Why changes are stopped: the reason of the condition `Frozen`, never renamed. The order is that in which freezes
    /// are reported: those that stop most come first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Reason {
        /// A human or a watchdog has asked for it.
        Requested,
        /// An API server cannot be reached, or what is watched was not listed since.
        ApiUnreachable,
        /// Most Nodes are not ready at once.
        NodesNotReady,
    }
}

/// What a freeze covers. Of the same reason, the widest is reported first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    Cluster,
    Namespace(Arc<str>),
    /// The object, and what it owns.
    Object(ObjectRef),
}

impl Scope {
    /// Whether it covers an object with these owners.
    fn covers(&self, lineage: &[ObjectRef]) -> bool {
        match self {
            Self::Cluster => true,
            Self::Namespace(name) => lineage.first().is_some_and(|one| one.key.namespace == *name),
            Self::Object(object) => lineage.contains(object),
        }
    }

    /// Whether objects of this namespace may be covered.
    pub fn reaches(&self, namespace: &str) -> bool {
        match self {
            Self::Cluster => true,
            Self::Namespace(name) => **name == *namespace,
            Self::Object(object) => *object.key.namespace == *namespace,
        }
    }

    /// The label of the metric.
    pub fn level(&self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Namespace(_) => "namespace",
            Self::Object(_) => "object",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freeze {
    pub reason: Reason,
    /// When this process has seen it first.
    pub since: Timestamp,
    /// The object that asks for it, as messages name it; empty if no object does.
    pub source: Arc<str>,
    /// Why: in the words of who asked for it, which may be empty, or what was found when it began.
    pub text: Arc<str>,
}

impl Freeze {
    /// Whether messages are the same.
    fn same(&self, other: &Self) -> bool {
        (&self.source, &self.text) == (&other.source, &other.text)
    }
}

/// The freezes that are in force. One never hides another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    freezes: BTreeMap<(Reason, Scope), Freeze>,
}

impl Ledger {
    /// Puts a freeze in force. One with the same scope and reason keeps its time. Returns whether anything changed.
    pub fn begin(&mut self, scope: Scope, freeze: Freeze) -> bool {
        let since = match self.freezes.get(&(freeze.reason, scope.clone())) {
            Some(known) if known.same(&freeze) => return false,
            Some(known) => known.since,
            None => freeze.since,
        };
        self.freezes.insert((freeze.reason, scope), Freeze { since, ..freeze });
        true
    }

    /// Returns whether there was one.
    pub fn end(&mut self, scope: Scope, reason: Reason) -> bool {
        self.freezes.remove(&(reason, scope)).is_some()
    }

    /// Those that cover an object with these owners, in the order in which they are reported.
    pub fn on<'a>(
        &'a self,
        lineage: &'a [ObjectRef],
    ) -> impl Iterator<Item = (&'a Scope, &'a Freeze)> {
        self.all().filter(move |(scope, _)| scope.covers(lineage))
    }

    pub fn all(&self) -> impl Iterator<Item = (&Scope, &Freeze)> {
        self.freezes.iter().map(|((_, scope), freeze)| (scope, freeze))
    }

    /// Whether owners matter: only a freeze of an object covers what it owns.
    pub fn has_objects(&self) -> bool {
        self.freezes.keys().any(|(_, scope)| matches!(scope, Scope::Object(_)))
    }

    pub fn is_empty(&self) -> bool {
        self.freezes.is_empty()
    }
}

/// Whether the effect may be sent, by the table.
pub fn permit(effect: &Effect, ledger: &Ledger) -> Result<(), Refusal> {
    let mut freezes = ledger.on(&effect.lineage);
    match freezes.find(|(_, freeze)| freeze.reason.stops(effect.kind, effect.initiator)) {
        None => Ok(()),
        Some((_, freeze)) => Err(Refusal::new(effect.kind, freeze)),
    }
}

#[cfg(test)]
mod tests;
