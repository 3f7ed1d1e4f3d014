//! MachineDeployments as the caches store them. There are few; their templates are stored as raw JSON, as those of
//! MachineSets are.

use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::{ANNOTATION_CHANGE_CAUSE, ANNOTATION_FREEZE, ANNOTATION_REVISION};
use machinist_api::resource::{MACHINE_DEPLOYMENTS, Resource};
use machinist_api::wire;
use machinist_domain::conditions::{self, Condition};
use machinist_domain::meta::Meta;
use machinist_domain::pairs::Pairs;
use machinist_provider::spec::SpecHalf;
use machinist_runtime::cache::kind::Kind;

use super::Template;
use super::interner::{name, text};
use super::scalable::{AsScalable, Reader, Scalable};
use crate::machine_set::selector::{Selector, SelectorError};

#[derive(Debug, Clone)]
pub struct MachineDeployment {
    pub meta: Meta,
    pub created: Timestamp,
    pub generation: i64,
    pub scalable: Scalable,
    /// The annotation with the revision.
    pub revision: Option<Arc<str>>,
    pub change_cause: Option<Arc<str>>,
    /// The annotation `machinist.dev/freeze`.
    pub freeze: Option<Arc<str>>,
    pub spec: MachineDeploymentSpec,
    pub status: MachineDeploymentStatus,
}

#[derive(Debug, Clone)]
pub struct MachineDeploymentSpec {
    pub replicas: Option<i32>,
    pub selector: Result<Selector, SelectorError>,
    /// The same as it was read, for the selectors of its sets.
    pub raw_selector: wire::LabelSelector,
    pub template: Template,
    /// The fields of the template's provider spec that its provider changes on living instances.
    pub hot_fields: &'static [&'static str],
    /// Those that may change when a Machine is updated in place.
    pub in_place_fields: &'static [&'static str],
    pub min_ready_seconds: i32,
    pub paused: bool,
    pub history_limit: Option<i32>,
    pub progress_deadline: Option<i32>,
    /// How many failed Machines are preserved at the same time.
    pub preserve_failed: Option<i32>,
    pub strategy: wire::DeploymentStrategy,
    pub remediation: wire::Remediation,
}

#[derive(Debug, Clone, Default)]
pub struct MachineDeploymentStatus {
    pub replicas: Option<i32>,
    pub updated: Option<i32>,
    pub ready: Option<i32>,
    pub available: Option<i32>,
    pub unavailable: Option<i32>,
    pub preserved: Option<i32>,
    pub collisions: Option<i32>,
    pub observed_generation: Option<i64>,
    pub label_selector: Option<String>,
    pub conditions: Box<[Condition]>,
}

#[derive(Debug, Clone)]
pub struct MachineDeployments {
    reader: Reader,
}

impl MachineDeployments {
    pub fn new(specs: Arc<dyn SpecHalf>) -> Self {
        Self { reader: Reader::new(specs) }
    }
}

impl AsScalable for MachineDeployment {
    fn scalable(&self) -> &Scalable {
        &self.scalable
    }
}

impl Kind for MachineDeployments {
    type Wire = wire::MachineDeployment;
    type Stored = MachineDeployment;
    const RESOURCE: Resource = MACHINE_DEPLOYMENTS;

    fn project(&self, wire: wire::MachineDeployment) -> MachineDeployment {
        let wire::MachineDeployment { metadata, spec, status } = wire;
        let pairs = |map| Pairs::shared(map, name);
        let hot_fields = self.reader.hot_fields(&spec.template);
        let in_place_fields = self.reader.in_place_fields(&spec.template);
        MachineDeployment {
            meta: Meta::of(&metadata),
            created: metadata.creation_timestamp.unwrap_or(Timestamp::UNIX_EPOCH),
            generation: metadata.generation,
            scalable: self.reader.read(&metadata, &spec.template),
            revision: metadata.annotations.get(ANNOTATION_REVISION).map(name),
            change_cause: metadata.annotations.get(ANNOTATION_CHANGE_CAUSE).map(name),
            freeze: metadata.annotations.get(ANNOTATION_FREEZE).map(name),
            spec: MachineDeploymentSpec {
                replicas: spec.replicas,
                selector: Selector::read(&spec.selector),
                raw_selector: spec.selector,
                hot_fields,
                in_place_fields,
                template: Template {
                    labels: pairs(spec.template.metadata.labels),
                    annotations: pairs(spec.template.metadata.annotations),
                    spec: spec.template.spec.raw.map(|raw| text(raw.get())),
                },
                min_ready_seconds: spec.min_ready_seconds,
                paused: spec.paused,
                history_limit: spec.revision_history_limit,
                progress_deadline: spec.progress_deadline_seconds,
                preserve_failed: spec.auto_preserve_failed_machine_max,
                strategy: spec.strategy,
                remediation: spec.remediation,
            },
            status: MachineDeploymentStatus {
                replicas: status.replicas,
                updated: status.updated_replicas,
                ready: status.ready_replicas,
                available: status.available_replicas,
                unavailable: status.unavailable_replicas,
                preserved: status.preserved_replicas,
                collisions: status.collision_count,
                observed_generation: status.observed_generation,
                label_selector: status.label_selector,
                conditions: conditions::read(&status.conditions).into(),
            },
        }
    }
}
