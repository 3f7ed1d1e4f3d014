use std::collections::BTreeMap;

use machinist_provider::fields::Fields;
use serde_json::{Map, Value};

use super::Metadata;
use crate::verbs::convert::messages;

#[derive(Debug, Clone, Default)]
pub(crate) struct Class {
    pub(crate) metadata: Metadata,
    pub(crate) provider: Option<String>,
    pub(crate) provider_spec: Map<String, Value>,
    pub(crate) secret: Option<SecretReference>,
    pub(crate) credentials: Option<SecretReference>,
    /// Resources of a node, for scale from zero.
    pub(crate) capacity: BTreeMap<String, Value>,
    pub(crate) zone: Option<String>,
    /// Labels that its nodes get from their kubelets and cloud.
    pub(crate) node_labels: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretReference {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
}

impl Class {
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        let metadata = Metadata::of_object(fields);
        let mut class = Self {
            metadata,
            provider: fields.text("provider"),
            provider_spec: fields.decode("providerSpec", "an object").unwrap_or_default(),
            secret: secret(fields, "secretRef"),
            credentials: secret(fields, "credentialsSecretRef"),
            ..Self::default()
        };
        fields.object("nodeTemplate", |node| {
            class.capacity = node.decode("capacity", "a map of quantities").unwrap_or_default();
            node.refuse("virtualCapacity", messages::VIRTUAL_CAPACITY);
            class.zone = node.text("zone");
            let labels = [
                ("kubernetes.io/arch", node.text("architecture")),
                ("node.kubernetes.io/instance-type", node.text("instanceType")),
                ("topology.kubernetes.io/region", node.text("region")),
                ("topology.kubernetes.io/zone", class.zone.clone()),
            ];
            let labels = labels.into_iter();
            class.node_labels = labels.filter_map(|(name, value)| Some((name, value?))).collect();
        });
        class
    }
}

fn secret(fields: &mut Fields<'_>, name: &str) -> Option<SecretReference> {
    let reference = fields.object(name, |reference| {
        let namespace = reference.text("namespace");
        Some(SecretReference { name: reference.text("name")?, namespace })
    });
    reference.flatten()
}
