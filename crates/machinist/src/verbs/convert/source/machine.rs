use std::collections::BTreeMap;

use jiff::Timestamp;
use machinist_api::parts::Taint;
use machinist_provider::fields::Fields;
use serde_json::Value;

use super::{Configuration, Metadata};
use crate::verbs::convert::messages;

#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    pub(crate) metadata: Metadata,
    pub(crate) spec: MachineSpec,
    /// When it is not kept for debugging any more, if it is.
    pub(crate) preserved_until: Option<Timestamp>,
}

/// Of a MachineSet or MachineDeployment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Template {
    pub(crate) metadata: Metadata,
    pub(crate) spec: MachineSpec,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct MachineSpec {
    pub(crate) class: String,
    pub(crate) provider_id: Option<String>,
    pub(crate) node_labels: BTreeMap<String, String>,
    pub(crate) node_annotations: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) configuration: Configuration,
}

impl Machine {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        let metadata = Metadata::of_object(fields);
        let status = fields.value("status").unwrap_or_default();
        let until = status.pointer("/currentStatus/preserveExpiryTime").and_then(Value::as_str);
        Self {
            metadata,
            spec: fields.object("spec", MachineSpec::read).unwrap_or_default(),
            preserved_until: until.and_then(|time| time.parse().ok()),
        }
    }
}

impl Template {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        let metadata = Metadata::of_template(fields);
        Self { metadata, spec: fields.object("spec", MachineSpec::read).unwrap_or_default() }
    }
}

impl MachineSpec {
    fn read(fields: &mut Fields<'_>) -> Self {
        let class = fields.object("class", |class| {
            class.ignore(&["apiGroup"]);
            if let Some(kind) = class.text("kind").filter(|kind| kind != "MachineClass") {
                class.unsupported("kind", messages::class_kind(&kind));
            }
            class.text("name")
        });
        let mut spec = Self {
            class: class.flatten().unwrap_or_default(),
            provider_id: fields.text("providerID"),
            configuration: Configuration::read(fields),
            ..Self::default()
        };
        fields.object("nodeTemplate", |node| spec.read_node(node));
        spec
    }

    fn read_node(&mut self, fields: &mut Fields<'_>) {
        let metadata = Metadata::of_template(fields);
        self.node_labels = metadata.labels;
        self.node_annotations = metadata.annotations;
        fields.object("spec", |spec| {
            self.taints = spec.decode("taints", "a list of taints").unwrap_or_default();
            for name in ["podCIDR", "podCIDRs", "providerID", "unschedulable", "externalID"] {
                spec.refuse(name, messages::NODE_SPEC);
            }
        });
    }
}
