//! What the MachineSet controller reads of a MachineSet. An invalid value (a selector that matches everything, an
//! unknown delete policy) is stored as an error, for the controller to report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_CANARY_PASSED, ANNOTATION_CHANGE_CAUSE, ANNOTATION_FAILED_MACHINES,
    ANNOTATION_FREEZE, ANNOTATION_HOLD, ANNOTATION_HOT_FIELDS, ANNOTATION_ORDINALS,
    ANNOTATION_PENDING_CHANGES, ANNOTATION_REVISION, ANNOTATION_ROLLOUT_ABORTED,
    ANNOTATION_ROLLOUT_STARTED, DELETE_POLICY_NEWEST, DELETE_POLICY_OLDEST, DELETE_POLICY_RANDOM,
};
use machinist_api::resource::MACHINE_DEPLOYMENTS;
use machinist_api::wire;
use machinist_domain::conditions::{self, Condition};
use machinist_domain::key::Uid;
use machinist_domain::machine::MachineAuthority;
use machinist_domain::pairs::Pairs;

use super::super::interner::{name, text};
use super::super::machine::Owner;
use crate::machine_set::ordinals::{Window, WindowError};
use crate::machine_set::selector::{Selector, SelectorError};

/// What a cache stores of a MachineSet beyond what every controller reads.
pub trait State: Clone + Send + Sync + 'static {
    fn read(wire: wire::MachineSet) -> Self;
}

/// Nothing: enough for the annotator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoState;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSetState {
    pub created: Timestamp,
    pub generation: i64,
    pub labels: Pairs,
    /// The controller owner: its MachineDeployment, if it has one.
    pub owner: Option<Arc<Owner>>,
    /// The other owners, unchanged: a patch of owner references replaces the whole list.
    pub other_owners: Box<[wire::OwnerReference]>,
    /// The revision of its MachineDeployment.
    pub revision: Option<i64>,
    /// Why that revision was made.
    pub change_cause: Option<Arc<str>>,
    /// The fields of the provider spec that the hash of its template leaves out.
    pub hot_fields: Option<Arc<str>>,
    /// The fields of the template that changed and that its Machines may not have yet.
    pub pending_changes: Option<Arc<str>>,
    pub guard: GuardMarks,
    /// The annotation `machinist.dev/hold`.
    pub hold: Option<Arc<str>>,
    /// The annotation `machinist.dev/freeze`.
    pub freeze: Option<Arc<str>>,
    pub spec: MachineSetSpec,
    /// The annotation `machinist.dev/ordinals`: ordinals whose Machines may be in creation.
    pub window: Result<Window, WindowError>,
    pub status: MachineSetStatus,
}

/// What is stored of a guarded rollout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuardMarks {
    pub canary_passed: bool,
    /// The Machines that failed, as stored.
    pub failed: Option<Arc<str>>,
    /// As stored; see [`MachineSetState::is_aborted`].
    pub aborted: bool,
    /// Machines that were created before are not of this rollout.
    pub started: Option<Timestamp>,
}

impl GuardMarks {
    fn read(annotations: &BTreeMap<String, String>) -> Self {
        let started = annotations.get(ANNOTATION_ROLLOUT_STARTED);
        Self {
            canary_passed: annotations.contains_key(ANNOTATION_CANARY_PASSED),
            failed: annotations.get(ANNOTATION_FAILED_MACHINES).map(name),
            aborted: annotations.contains_key(ANNOTATION_ROLLOUT_ABORTED),
            started: started.and_then(|text| text.strip_prefix("v1 ")?.parse().ok()),
        }
    }
}

impl MachineSetState {
    /// Whether its owner is a MachineDeployment. What a deployment has stored has no effect without one.
    pub(crate) fn is_of_deployment(&self) -> bool {
        let owner = self.owner.as_ref();
        owner.is_some_and(|owner| *owner.kind == *MACHINE_DEPLOYMENTS.kind)
    }

    /// Whether the rollout of its template is aborted, so that it creates no Machines.
    pub(crate) fn is_aborted(&self) -> bool {
        self.guard.aborted && self.is_of_deployment()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSetSpec {
    pub replicas: Option<i32>,
    pub selector: Result<Selector, SelectorError>,
    pub template: Template,
    pub min_ready: Duration,
    pub delete_policy: Result<DeletePolicy, UnknownDeletePolicy>,
    pub authority: MachineAuthority,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub labels: Pairs,
    pub annotations: Pairs,
    /// `spec` of the Machines as raw JSON, so that fields unknown to us are copied, too.
    pub spec: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletePolicy {
    Random,
    Newest,
    Oldest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownDeletePolicy(pub String);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineSetStatus {
    pub replicas: Option<i32>,
    pub fully_labeled: Option<i32>,
    pub ready: Option<i32>,
    pub available: Option<i32>,
    pub observed_generation: Option<i64>,
    pub label_selector: Option<Arc<str>>,
    pub error_reason: Option<Arc<str>>,
    pub error_message: Option<Arc<str>>,
    pub conditions: Box<[Condition]>,
    pub authority: MachineAuthority,
}

impl State for NoState {
    fn read(_: wire::MachineSet) -> Self {
        Self
    }
}

impl State for Arc<MachineSetState> {
    fn read(wire: wire::MachineSet) -> Self {
        let wire::MachineSet { metadata, spec, status } = wire;
        let window = metadata.annotations.get(ANNOTATION_ORDINALS);
        let revision = metadata.annotations.get(ANNOTATION_REVISION);
        let (owners, others): (Vec<_>, Vec<_>) =
            metadata.owner_references.iter().partition(|owner| owner.controller);
        let owner = owners.first().map(|owner| {
            Arc::new(Owner {
                api_version: name(&owner.api_version),
                kind: name(&owner.kind),
                name: name(&owner.name),
                uid: Uid(owner.uid.as_str().into()),
            })
        });
        let pairs = |map| Pairs::shared(map, name);
        let share = |text: Option<String>| text.filter(|text| !text.is_empty()).map(name);
        Self::new(MachineSetState {
            created: metadata.creation_timestamp.unwrap_or(Timestamp::UNIX_EPOCH),
            generation: metadata.generation,
            labels: pairs(metadata.labels),
            owner,
            other_owners: others.into_iter().cloned().collect(),
            revision: revision.and_then(|text| text.parse().ok()),
            change_cause: metadata.annotations.get(ANNOTATION_CHANGE_CAUSE).map(name),
            hot_fields: metadata.annotations.get(ANNOTATION_HOT_FIELDS).map(name),
            pending_changes: metadata.annotations.get(ANNOTATION_PENDING_CHANGES).map(name),
            guard: GuardMarks::read(&metadata.annotations),
            hold: metadata.annotations.get(ANNOTATION_HOLD).map(name),
            freeze: metadata.annotations.get(ANNOTATION_FREEZE).map(name),
            spec: MachineSetSpec {
                replicas: spec.replicas,
                selector: Selector::read(&spec.selector),
                template: Template {
                    labels: pairs(spec.template.metadata.labels),
                    annotations: pairs(spec.template.metadata.annotations),
                    // Sets are often copies of each other, and each update repeats the last one's template.
                    spec: spec.template.spec.raw.map(|raw| text(raw.get())),
                },
                min_ready: Duration::from_secs(u64::try_from(spec.min_ready_seconds).unwrap_or(0)),
                delete_policy: DeletePolicy::read(spec.delete_policy.as_deref()),
                authority: MachineAuthority::read(spec.authoritative_api.as_deref()),
            },
            window: window.map_or(Ok(Window::default()), |text| text.parse()),
            status: MachineSetStatus {
                replicas: status.replicas,
                fully_labeled: status.fully_labeled_replicas,
                ready: status.ready_replicas,
                available: status.available_replicas,
                observed_generation: status.observed_generation,
                label_selector: share(status.label_selector),
                error_reason: share(status.error_reason),
                error_message: share(status.error_message),
                conditions: conditions::read(&status.conditions).into(),
                authority: MachineAuthority::read(status.authoritative_api.as_deref()),
            },
        })
    }
}

impl DeletePolicy {
    fn read(text: Option<&str>) -> Result<Self, UnknownDeletePolicy> {
        match text {
            None | Some("" | DELETE_POLICY_RANDOM) => Ok(Self::Random),
            Some(DELETE_POLICY_NEWEST) => Ok(Self::Newest),
            Some(DELETE_POLICY_OLDEST) => Ok(Self::Oldest),
            Some(other) => Err(UnknownDeletePolicy(other.to_owned())),
        }
    }
}
