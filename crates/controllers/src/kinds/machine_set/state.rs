//! What the MachineSet controller reads of a MachineSet: spec, ordinal window and status.
//!
//! An invalid value (a selector that matches everything, an unknown delete policy) is stored as an error, for the
//! controller to report.

use std::sync::Arc;
use std::time::Duration;

use machinist_api::names::{
    ANNOTATION_ORDINALS, DELETE_POLICY_NEWEST, DELETE_POLICY_OLDEST, DELETE_POLICY_RANDOM,
};
use machinist_api::wire;
use machinist_domain::conditions::{self, Condition};
use machinist_domain::machine::MachineAuthority;
use machinist_domain::ordinals::{Window, WindowError};
use machinist_domain::pairs::Pairs;
use machinist_domain::selector::{Selector, SelectorError};

use super::super::interner::Interner;

/// What a cache stores of a MachineSet beyond what every controller reads.
pub trait State: Send + Sync + 'static {
    /// Takes it from the object.
    fn read(wire: wire::MachineSet, names: &Interner<str>) -> Self;
}

/// Nothing: enough for the annotator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoState;

/// Spec, ordinal window and status: what the MachineSet controller reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSetState {
    /// `metadata.generation`.
    pub generation: i64,
    /// The desired state.
    pub spec: MachineSetSpec,
    /// The annotation `machinist.dev/ordinals`: ordinals whose Machines may be in creation.
    pub window: Result<Window, WindowError>,
    /// The observed state.
    pub status: MachineSetStatus,
}

/// The desired state of a MachineSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSetSpec {
    /// The number of Machines, if it is set.
    pub replicas: Option<i32>,
    /// Which Machines belong to the set.
    pub selector: Result<Selector, SelectorError>,
    /// What Machines are created from.
    pub template: Template,
    /// How long a Machine must be ready to count as available.
    pub min_ready: Duration,
    /// Which Machines are deleted first.
    pub delete_policy: Result<DeletePolicy, UnknownDeletePolicy>,
    /// Which machine API shall manage the set.
    pub authority: MachineAuthority,
}

/// What Machines are created from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Labels of the Machines.
    pub labels: Pairs,
    /// Annotations of the Machines.
    pub annotations: Pairs,
    /// `spec` of the Machines as raw JSON, so that fields unknown to us are copied, too.
    pub spec: Option<Arc<str>>,
}

/// Which Machines are deleted first on scale-down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletePolicy {
    /// No preference.
    Random,
    /// The youngest.
    Newest,
    /// The oldest.
    Oldest,
}

/// A delete policy that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("spec.deletePolicy must be Random, Newest or Oldest (got {0:?})")]
pub struct UnknownDeletePolicy(String);

/// The observed state of a MachineSet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineSetStatus {
    /// Number of Machines.
    pub replicas: Option<i32>,
    /// Number of Machines that have all labels of the template.
    pub fully_labeled: Option<i32>,
    /// Number of Machines whose Node is ready.
    pub ready: Option<i32>,
    /// Number of Machines whose Node has been ready for `minReadySeconds`.
    pub available: Option<i32>,
    /// The last generation that was reconciled completely.
    pub observed_generation: Option<i64>,
    /// The selector as a string, for the scale subresource.
    pub label_selector: Option<Arc<str>>,
    /// The reason of a terminal error.
    pub error_reason: Option<Arc<str>>,
    /// The message of a terminal error.
    pub error_message: Option<Arc<str>>,
    /// All conditions, also those of other controllers.
    pub conditions: Box<[Condition]>,
    /// Which machine API manages the set.
    pub authority: MachineAuthority,
}

impl State for NoState {
    fn read(_: wire::MachineSet, _: &Interner<str>) -> Self {
        Self
    }
}

impl State for Arc<MachineSetState> {
    fn read(wire: wire::MachineSet, names: &Interner<str>) -> Self {
        let wire::MachineSet { metadata, spec, status } = wire;
        let window = metadata.annotations.get(ANNOTATION_ORDINALS);
        let pairs = |map| Pairs::shared(map, |name| names.name(name));
        let name = |text: Option<String>| {
            text.filter(|text| !text.is_empty()).map(|text| names.name(text))
        };
        Self::new(MachineSetState {
            generation: metadata.generation,
            spec: MachineSetSpec {
                replicas: spec.replicas,
                selector: Selector::read(&spec.selector),
                template: Template {
                    labels: pairs(spec.template.metadata.labels),
                    annotations: pairs(spec.template.metadata.annotations),
                    // Sets are often copies of each other, and each update repeats the last one's template.
                    spec: spec.template.spec.raw.map(|raw| names.text(raw.get())),
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
                label_selector: name(status.label_selector),
                error_reason: name(status.error_reason),
                error_message: name(status.error_message),
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
