//! Machines as the caches store them: what the controllers read, and little else.
//!
//! The Machines of a set have the same provider spec, so each distinct spec is stored and parsed once, with its shape
//! or its error. Owners, labels, hooks, conditions and names repeat as well and are interned. The provider status
//! stays raw.

mod specs;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::{FINALIZER_MACHINE, LABEL_CLUSTER, LABEL_CLUSTER_LEGACY};
use machinist_api::resource::{MACHINES, Resource};
use machinist_api::wire;
use machinist_domain::conditions::{self, Condition};
use machinist_domain::key::Uid;
use machinist_domain::machine::{MachineAuthority, Phase};
use machinist_domain::meta::Meta;
use machinist_domain::pairs::{Pair, Pairs};
use machinist_domain::shape::Shape;
use machinist_domain::taint::Taint;
use machinist_provider::cloud::{Address, AddressKind};
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::{Kind, Stored};
use serde_json::value::RawValue;

pub use self::specs::ProviderSpec;
use self::specs::Specs;
use super::interner::Interner;

/// A Machine in a cache.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Identity and version.
    pub meta: Meta,
    /// When it was created.
    pub created: Timestamp,
    /// Its deletionTimestamp.
    pub deletion_requested: Option<Timestamp>,
    /// `metadata.generation`.
    pub generation: i64,
    /// All labels.
    pub labels: Pairs,
    /// All annotations.
    pub annotations: Pairs,
    /// All finalizers.
    pub finalizers: Box<[Arc<str>]>,
    /// Its controller owner.
    pub owner: Option<Arc<Owner>>,
    /// The other owners, unchanged: a patch of owner references replaces the whole list.
    pub other_owners: Box<[wire::OwnerReference]>,
    /// `spec.providerID`, in the same form as the Node's.
    pub provider_id: Option<Arc<str>>,
    /// Labels for its Node.
    pub node_labels: Pairs,
    /// Annotations for its Node.
    pub node_annotations: Pairs,
    /// Taints for its Node.
    pub node_taints: Box<[Taint]>,
    /// Its lifecycle hooks.
    pub hooks: Arc<Hooks>,
    /// Which machine API shall manage it.
    pub wanted_authority: MachineAuthority,
    /// The provider spec, if there is one.
    pub provider_spec: Option<Arc<ProviderSpec>>,
    /// The observed state.
    pub status: MachineStatus,
}

/// The controller owner of a Machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Group and version of its kind.
    pub api_version: Arc<str>,
    /// Its kind.
    pub kind: Arc<str>,
    /// Its name, in the Machine's namespace.
    pub name: Arc<str>,
    /// Its uid, which tells it from another object of the same name.
    pub uid: Uid,
}

/// The lifecycle hooks of a Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Hooks {
    /// They block the drain of its Node.
    pub pre_drain: Box<[Hook]>,
    /// They block the deletion of its instance.
    pub pre_terminate: Box<[Hook]>,
}

/// A lifecycle hook.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hook {
    /// Its name.
    pub name: Arc<str>,
    /// Its owner.
    pub owner: Arc<str>,
}

/// The observed state of a Machine.
#[derive(Debug, Clone, Default)]
pub struct MachineStatus {
    /// Its phase; `None` before the first reconcile.
    pub phase: Option<Phase>,
    /// Its Node.
    pub node_ref: Option<NodeRef>,
    /// Addresses of its instance.
    pub addresses: Box<[Address]>,
    /// All conditions.
    pub conditions: Arc<[Condition]>,
    /// The reason of a terminal error.
    pub error_reason: Option<Arc<str>>,
    /// The message of a terminal error.
    pub error_message: Option<Arc<str>>,
    /// The same as `error_reason`, where the served schema has it.
    pub failure_reason: Option<Arc<str>>,
    /// The same as `error_message`, where the served schema has it.
    pub failure_message: Option<Arc<str>>,
    /// When the status last changed.
    pub last_updated: Option<Timestamp>,
    /// The provider's own state.
    pub provider_status: Option<Arc<RawValue>>,
    /// Which machine API manages it.
    pub authority: MachineAuthority,
}

/// A Machine's reference to its Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRef {
    /// Its name.
    pub name: Arc<str>,
    /// Its uid; empty if the writer of the reference left it out.
    pub uid: Uid,
}

impl Machine {
    /// The shape of its provider spec.
    pub fn shape(&self) -> Result<&Shape, SpecError> {
        match &self.provider_spec {
            None => Err(SpecError::Missing),
            Some(spec) => spec.shape.as_ref().map_err(SpecError::clone),
        }
    }

    /// Whether it has our finalizer.
    pub fn has_finalizer(&self) -> bool {
        self.finalizers.iter().any(|finalizer| &**finalizer == FINALIZER_MACHINE)
    }

    /// The cluster in its label.
    pub fn cluster_label(&self) -> Option<&str> {
        let label = self.labels.get(LABEL_CLUSTER);
        let label = label.or_else(|| self.labels.get(LABEL_CLUSTER_LEGACY));
        label.filter(|label| !label.is_empty())
    }

    /// The condition of this type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        conditions::find(&self.status.conditions, kind)
    }
}

impl Stored for Machine {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

/// Parses Machines with the providers' spec halves.
#[derive(Clone)]
pub struct Machines {
    specs: Arc<Specs>,
    names: Arc<Interner<str>>,
    repeated: Arc<Repeated>,
}

/// Values that many Machines share.
#[derive(Default)]
struct Repeated {
    pairs: Interner<[Pair]>,
    owners: Interner<Owner>,
    hooks: Interner<Hooks>,
    conditions: Interner<[Condition]>,
}

impl std::fmt::Debug for Machines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Machines")
    }
}

impl Machines {
    /// Machines whose provider specs `specs` parses.
    pub fn new(specs: Arc<dyn SpecHalf>) -> Self {
        let specs = Arc::new(Specs::new(specs));
        Self { specs, names: Interner::shared(), repeated: Arc::default() }
    }

    fn pairs(&self, map: BTreeMap<String, String>) -> Pairs {
        let pairs = Pairs::shared(map, |name| self.names.name(name));
        pairs.stored_once(|pairs| self.repeated.pairs.intern(pairs))
    }

    fn hooks(&self, wire: wire::LifecycleHooks) -> Arc<Hooks> {
        let hook = |wire: wire::LifecycleHook| Hook {
            name: self.names.name(wire.name),
            owner: self.names.name(wire.owner),
        };
        let all = |list: Vec<_>| list.into_iter().map(hook).collect();
        self.repeated.hooks.intern(Arc::new(Hooks {
            pre_drain: all(wire.pre_drain),
            pre_terminate: all(wire.pre_terminate),
        }))
    }

    fn owners(
        &self,
        wire: &[wire::OwnerReference],
    ) -> (Option<Arc<Owner>>, Box<[wire::OwnerReference]>) {
        let owner = wire.iter().find(|owner| owner.controller).map(|owner| {
            self.repeated.owners.intern(Arc::new(Owner {
                api_version: self.names.name(&owner.api_version),
                kind: self.names.name(&owner.kind),
                name: self.names.name(&owner.name),
                uid: Uid(owner.uid.as_str().into()),
            }))
        });
        let others = wire.iter().filter(|owner| !owner.controller);
        (owner, others.cloned().collect())
    }

    /// Addresses of unknown types are dropped: no controller reads them.
    fn address(&self, wire: wire::Address) -> Option<Address> {
        let kinds = [
            AddressKind::InternalDns,
            AddressKind::InternalIp,
            AddressKind::ExternalDns,
            AddressKind::ExternalIp,
            AddressKind::Hostname,
        ];
        let kind = kinds.into_iter().find(|kind| kind.as_str() == wire.kind)?;
        Some(Address { kind, address: self.names.name(wire.address) })
    }

    fn status(&self, wire: wire::MachineStatus) -> MachineStatus {
        let share = |text: Option<String>| {
            text.filter(|text| !text.is_empty()).map(|text| self.names.name(text))
        };
        let node_ref = wire
            .node_ref
            .filter(|node| !node.name.is_empty())
            .map(|node| NodeRef { name: self.names.name(node.name), uid: Uid(node.uid.into()) });
        let conditions = conditions::read(&wire.conditions);
        let addresses = wire.addresses.into_iter().filter_map(|one| self.address(one));
        MachineStatus {
            phase: wire.phase.as_deref().and_then(Phase::read),
            node_ref,
            addresses: addresses.collect(),
            conditions: self.repeated.conditions.intern(conditions.into()),
            error_reason: share(wire.error_reason),
            error_message: share(wire.error_message),
            failure_reason: share(wire.failure_reason),
            failure_message: share(wire.failure_message),
            last_updated: wire.last_updated,
            provider_status: wire.provider_status.map(Arc::from),
            authority: MachineAuthority::read(wire.authoritative_api.as_deref()),
        }
    }
}

impl Kind for Machines {
    type Wire = wire::Machine;
    type Stored = Machine;
    const RESOURCE: Resource = MACHINES;

    fn project(&self, wire: wire::Machine) -> Machine {
        let wire::Machine { metadata, spec, status } = wire;
        let share = |name: String| self.names.name(name);
        let mut meta = Meta::of(&metadata);
        meta.key.namespace = self.names.name(&meta.key.namespace);
        meta.key.name = self.names.name(&meta.key.name);
        let created = metadata.creation_timestamp.unwrap_or(Timestamp::UNIX_EPOCH);
        let deletion_requested = metadata.deletion_timestamp.as_deref();
        let (owner, other_owners) = self.owners(&metadata.owner_references);
        Machine {
            meta,
            created,
            // An unparsable timestamp still means that the Machine is being deleted.
            deletion_requested: deletion_requested.map(|text| text.parse().unwrap_or(created)),
            generation: metadata.generation,
            labels: self.pairs(metadata.labels),
            annotations: self.pairs(metadata.annotations),
            finalizers: metadata.finalizers.iter().map(|name| self.names.name(name)).collect(),
            owner,
            other_owners,
            provider_id: spec.provider_id.filter(|id| !id.is_empty()).map(share),
            node_labels: self.pairs(spec.metadata.labels),
            node_annotations: self.pairs(spec.metadata.annotations),
            node_taints: spec.taints.into_iter().map(|one| Taint::shared(one, share)).collect(),
            hooks: self.hooks(spec.lifecycle_hooks),
            wanted_authority: MachineAuthority::read(spec.authoritative_api.as_deref()),
            provider_spec: spec.provider_spec.value.map(|raw| self.specs.intern(raw)),
            status: self.status(status),
        }
    }
}

#[cfg(test)]
mod tests;
