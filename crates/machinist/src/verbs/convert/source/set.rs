use machinist_api::parts::LabelSelector;
use machinist_provider::fields::{Fields, Level};

use super::{Metadata, Template};
use crate::verbs::convert::messages;

#[derive(Debug, Clone, Default)]
pub(crate) struct Set {
    pub(crate) metadata: Metadata,
    pub(crate) replicas: i32,
    pub(crate) selector: LabelSelector,
    pub(crate) template: Template,
    pub(crate) min_ready_seconds: Option<i32>,
    pub(crate) auto_preserve_max: Option<i32>,
}

impl Set {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        let metadata = Metadata::of_object(fields);
        let spec = fields.object("spec", Self::read_spec).unwrap_or_default();
        Self { metadata, ..spec }
    }

    /// The fields that a MachineDeployment has, too.
    pub(super) fn read_spec(spec: &mut Fields<'_>) -> Self {
        // Nothing reads it.
        spec.ignore(&["machineClass"]);
        let selector = spec.decode("selector", "a label selector");
        if selector.is_none() {
            spec.add(Level::Invalid, "selector", messages::REQUIRED);
        }
        Self {
            metadata: Metadata::default(),
            // Go leaves out 0.
            replicas: spec.count("replicas").unwrap_or(0),
            selector: selector.unwrap_or_default(),
            template: spec.object("template", Template::read).unwrap_or_default(),
            min_ready_seconds: spec.count("minReadySeconds").filter(|seconds| *seconds > 0),
            auto_preserve_max: spec.count("autoPreserveFailedMachineMax").filter(|max| *max > 0),
        }
    }
}
