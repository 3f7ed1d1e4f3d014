//! The freezes that are in force, and whether an effect is permitted.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::effect::{Effect, ObjectRef};
use super::refusal::Refusal;

machinist_api::named_enum! {
    /// Why changes are stopped: the reason of the condition `Frozen`, never renamed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Reason {
        /// A human or a watchdog has asked for it.
        Requested,
    }
}

/// What a freeze covers. The order is that in which freezes are reported: the widest first.
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
    /// The object that asks for it, as messages name it.
    pub source: Arc<str>,
    /// Why, in the words of who asked for it; may be empty.
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
    freezes: BTreeMap<(Scope, Reason), Freeze>,
}

impl Ledger {
    /// Puts a freeze in force. One with the same scope and reason keeps its time. Returns whether anything changed.
    pub fn begin(&mut self, scope: Scope, freeze: Freeze) -> bool {
        let since = match self.freezes.get(&(scope.clone(), freeze.reason)) {
            Some(known) if known.same(&freeze) => return false,
            Some(known) => known.since,
            None => freeze.since,
        };
        self.freezes.insert((scope, freeze.reason), Freeze { since, ..freeze });
        true
    }

    /// Returns whether there was one.
    pub fn end(&mut self, scope: Scope, reason: Reason) -> bool {
        self.freezes.remove(&(scope, reason)).is_some()
    }

    /// Those that cover an object with these owners, the widest first.
    pub fn on<'a>(
        &'a self,
        lineage: &'a [ObjectRef],
    ) -> impl Iterator<Item = (&'a Scope, &'a Freeze)> {
        self.all().filter(move |(scope, _)| scope.covers(lineage))
    }

    pub fn all(&self) -> impl Iterator<Item = (&Scope, &Freeze)> {
        self.freezes.iter().map(|((scope, _), freeze)| (scope, freeze))
    }

    /// Whether owners matter: only a freeze of an object covers what it owns.
    pub fn has_objects(&self) -> bool {
        self.freezes.keys().any(|(scope, _)| matches!(scope, Scope::Object(_)))
    }

    pub fn is_empty(&self) -> bool {
        self.freezes.is_empty()
    }
}

/// Whether the effect may be sent, by the table.
pub fn permit(effect: &Effect, ledger: &Ledger) -> Result<(), Refusal> {
    let mut freezes = ledger.on(&effect.lineage);
    match freezes.find(|(_, freeze)| freeze.reason.stops(effect.kind)) {
        None => Ok(()),
        Some((_, freeze)) => Err(Refusal::new(effect.kind, freeze)),
    }
}

#[cfg(test)]
mod tests;
