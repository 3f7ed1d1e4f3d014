//! Machines as the caches store them. The Machines of a set have the same provider spec, so each distinct spec is
//! stored and parsed once. Owners, labels, hooks, conditions and names repeat, too, and are interned.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
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
use machinist_provider::cloud::{Address, AddressKind};
use machinist_provider::spec::{SpecError, SpecHalf};
use machinist_runtime::cache::kind::Kind;
use serde_json::value::RawValue;

use super::interner::{Interner, name};
use super::taint::Taint;

#[derive(Debug, Clone)]
pub struct Machine {
    pub meta: Meta,
    pub created: Timestamp,
    pub labels: Pairs,
    pub annotations: Pairs,
    pub finalizers: Box<[Arc<str>]>,
    pub owner: Option<Arc<Owner>>,
    /// The other owners, unchanged: a patch of owner references replaces the whole list.
    pub other_owners: Box<[wire::OwnerReference]>,
    /// `spec.providerID`, in the same form as the Node's.
    pub provider_id: Option<Arc<str>>,
    pub node_labels: Pairs,
    pub node_annotations: Pairs,
    pub node_taints: Box<[Taint]>,
    pub hooks: Arc<Hooks>,
    pub wanted_authority: MachineAuthority,
    pub provider_spec: Option<Arc<ProviderSpec>>,
    pub status: MachineStatus,
}

/// A provider spec. Equal ones have the same text.
#[derive(Debug)]
pub struct ProviderSpec {
    pub raw: Arc<RawValue>,
    pub shape: Result<Shape, SpecError>,
}

impl PartialEq for ProviderSpec {
    fn eq(&self, other: &Self) -> bool {
        self.raw.get() == other.raw.get()
    }
}

impl Eq for ProviderSpec {}

impl Hash for ProviderSpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.raw.get().hash(state);
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    pub name: Arc<str>,
    pub uid: Uid,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Hooks {
    pub pre_drain: Box<[Hook]>,
    pub pre_terminate: Box<[Hook]>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hook {
    pub name: Arc<str>,
    pub owner: Arc<str>,
}

#[derive(Debug, Clone, Default)]
pub struct MachineStatus {
    /// Its phase; `None` before the first reconcile.
    pub phase: Option<Phase>,
    pub node_ref: Option<NodeRef>,
    pub addresses: Box<[Address]>,
    pub conditions: Arc<[Condition]>,
    pub error_reason: Option<Arc<str>>,
    pub error_message: Option<Arc<str>>,
    /// The same as the error fields, where the served schema has them.
    pub failure_reason: Option<Arc<str>>,
    pub failure_message: Option<Arc<str>>,
    pub last_updated: Option<Timestamp>,
    pub provider_status: Option<Arc<RawValue>>,
    pub authority: MachineAuthority,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRef {
    pub name: Arc<str>,
    /// Its uid; empty if the writer of the reference left it out.
    pub uid: Uid,
}

impl Machine {
    pub fn shape(&self) -> Result<&Shape, SpecError> {
        match &self.provider_spec {
            None => Err(SpecError::Missing),
            Some(spec) => spec.shape.as_ref().map_err(SpecError::clone),
        }
    }

    pub fn has_finalizer(&self) -> bool {
        self.finalizers.iter().any(|finalizer| &**finalizer == FINALIZER_MACHINE)
    }

    pub fn cluster_label(&self) -> Option<&str> {
        let label = self.labels.get(LABEL_CLUSTER);
        let label = label.or_else(|| self.labels.get(LABEL_CLUSTER_LEGACY));
        label.filter(|label| !label.is_empty())
    }

    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        conditions::find(&self.status.conditions, kind)
    }
}

#[derive(Debug, Clone)]
pub struct Machines {
    specs: Arc<dyn SpecHalf>,
    repeated: Arc<Repeated>,
}

#[derive(Debug, Default)]
struct Repeated {
    specs: Interner<ProviderSpec>,
    pairs: Interner<[Pair]>,
    owners: Interner<Owner>,
    hooks: Interner<Hooks>,
    conditions: Interner<[Condition]>,
}

impl Machines {
    pub fn new(specs: Arc<dyn SpecHalf>) -> Self {
        Self { specs, repeated: Arc::default() }
    }

    fn provider_spec(&self, raw: Box<RawValue>) -> Arc<ProviderSpec> {
        let raw = Arc::from(raw);
        let unparsed = ProviderSpec { raw: Arc::clone(&raw), shape: Err(SpecError::Missing) };
        self.repeated.specs.intern_with(&unparsed, || {
            Arc::new(ProviderSpec { shape: self.specs.shape(&raw), raw })
        })
    }

    fn pairs(&self, map: BTreeMap<String, String>) -> Pairs {
        Pairs::shared(map, name).stored_once(|pairs| self.repeated.pairs.intern(pairs))
    }

    fn hooks(&self, wire: wire::LifecycleHooks) -> Arc<Hooks> {
        let hook =
            |wire: wire::LifecycleHook| Hook { name: name(wire.name), owner: name(wire.owner) };
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
                api_version: name(&owner.api_version),
                kind: name(&owner.kind),
                name: name(&owner.name),
                uid: Uid(owner.uid.as_str().into()),
            }))
        });
        let others = wire.iter().filter(|owner| !owner.controller);
        (owner, others.cloned().collect())
    }

    /// Addresses of unknown types are dropped: no controller reads them.
    fn address(wire: wire::Address) -> Option<Address> {
        let kinds = [
            AddressKind::InternalDns,
            AddressKind::InternalIp,
            AddressKind::ExternalDns,
            AddressKind::ExternalIp,
            AddressKind::Hostname,
        ];
        let kind = kinds.into_iter().find(|kind| kind.as_str() == wire.kind)?;
        Some(Address { kind, address: name(wire.address) })
    }

    fn status(&self, wire: wire::MachineStatus) -> MachineStatus {
        let share = |text: Option<String>| text.filter(|text| !text.is_empty()).map(name);
        let node_ref = wire
            .node_ref
            .filter(|node| !node.name.is_empty())
            .map(|node| NodeRef { name: name(node.name), uid: Uid(node.uid.into()) });
        let conditions = conditions::read(&wire.conditions);
        let addresses = wire.addresses.into_iter().filter_map(Self::address);
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
        let mut meta = Meta::of(&metadata);
        meta.key.namespace = name(&meta.key.namespace);
        meta.key.name = name(&meta.key.name);
        let (owner, other_owners) = self.owners(&metadata.owner_references);
        Machine {
            meta,
            created: metadata.creation_timestamp.unwrap_or(Timestamp::UNIX_EPOCH),
            labels: self.pairs(metadata.labels),
            annotations: self.pairs(metadata.annotations),
            finalizers: metadata.finalizers.iter().map(name).collect(),
            owner,
            other_owners,
            provider_id: spec.provider_id.filter(|id| !id.is_empty()).map(name),
            node_labels: self.pairs(spec.metadata.labels),
            node_annotations: self.pairs(spec.metadata.annotations),
            node_taints: spec.taints.into_iter().map(|one| Taint::shared(one, name)).collect(),
            hooks: self.hooks(spec.lifecycle_hooks),
            wanted_authority: MachineAuthority::read(spec.authoritative_api.as_deref()),
            provider_spec: spec.provider_spec.value.map(|raw| self.provider_spec(raw)),
            status: self.status(status),
        }
    }
}

#[cfg(test)]
mod tests;
