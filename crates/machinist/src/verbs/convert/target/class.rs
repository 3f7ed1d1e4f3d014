//! Provider specs from MachineClasses. Those of AWS are translated. Others are kept under the kind `MachineClass`, so
//! that no provider can mistake them for its own.

use std::collections::BTreeMap;

use machinist_api::names::{
    ANNOTATION_CAPACITY_CPU, ANNOTATION_CAPACITY_EPHEMERAL_DISK, ANNOTATION_CAPACITY_GPU_COUNT,
    ANNOTATION_CAPACITY_GPU_TYPE, ANNOTATION_CAPACITY_LABELS, ANNOTATION_CAPACITY_MEMORY,
};
use machinist_aws_spec::{AwsSpecs, mcm};
use machinist_domain::labels::is_label_value;
use machinist_provider::fields::{Finding, Level};
use machinist_provider::spec::SpecHalf;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::metadata::Pairs;
use super::{Classes, secret};
use crate::verbs::convert::messages;
use crate::verbs::convert::notes::Notes;
use crate::verbs::convert::source::{Class, Sources};

/// What the Machines of a class have in common.
#[derive(Debug, Clone)]
pub(super) struct Translation {
    pub(super) spec: Value,
    pub(super) cluster: Option<String>,
    /// Annotations for cluster-autoscaler where the annotator does not know the instance type.
    pub(super) capacity: Pairs,
}

/// Every class, and the Secrets that they need.
pub(super) fn translate_all(sources: &Sources, notes: &mut Notes) -> (Classes, Vec<Value>) {
    let mut translations = BTreeMap::new();
    let mut secrets = BTreeMap::new();
    for (key, class) in &sources.classes {
        let mut findings = Vec::new();
        let translation =
            if mcm::is_aws(class.value.provider.as_deref(), &class.value.provider_spec) {
                aws(&class.value, sources, &mut secrets, &mut findings)
            } else {
                other(&class.value, &mut findings)
            };
        translations.insert(key.clone(), translation);
        notes.add(&class.origin, findings);
    }
    let unused = translations.keys().cloned().collect();
    (Classes { translations, unused }, secrets.into_values().collect())
}

fn aws(
    class: &Class,
    sources: &Sources,
    secrets: &mut secret::Created,
    findings: &mut Vec<Finding>,
) -> Translation {
    let translated = mcm::translate(class.provider_spec.clone(), class.zone.as_deref(), findings);
    let mut spec = translated.spec;
    secret::references(class, sources, &mut spec, secrets, findings);
    let spec = Value::Object(spec);
    let cluster = translated.cluster.filter(|cluster| is_label_value(cluster));
    let mut unsupported = |path: &str, text: String| {
        findings.push(Finding { level: Level::Unsupported, path: path.to_owned(), text });
    };
    if cluster.is_none() {
        unsupported("providerSpec.tags", messages::NO_CLUSTER.to_owned());
    }
    let raw = RawValue::from_string(spec.to_string());
    let problems = raw.map(|raw| AwsSpecs.validate(&raw)).unwrap_or_default();
    for problem in problems {
        unsupported("providerSpec", messages::result(&problem));
    }
    Translation { spec, cluster, capacity: Pairs::new() }
}

fn other(class: &Class, findings: &mut Vec<Finding>) -> Translation {
    let provider = class.provider.as_deref().unwrap_or_default();
    let text = messages::other_provider(provider);
    findings.push(Finding { level: Level::Unsupported, path: "provider".to_owned(), text });
    let mut spec = json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "MachineClass",
        "provider": provider,
        "providerSpec": class.provider_spec,
    });
    let references = [("secretRef", &class.secret), ("credentialsSecretRef", &class.credentials)];
    for (name, reference) in references {
        if let Some(reference) = reference {
            spec[name] = json!({ "name": reference.name, "namespace": reference.namespace });
        }
    }
    Translation { spec, cluster: None, capacity: capacity(class) }
}

/// The resources of a node as cluster-autoscaler reads them from annotations.
fn capacity(class: &Class) -> Pairs {
    let quantity = |name: &str| match class.capacity.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let gpus = ["gpu", "nvidia.com/gpu"].into_iter().find_map(quantity);
    let gpus = gpus.filter(|count| count != "0");
    let labels: Vec<_> =
        class.node_labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let annotations = [
        (ANNOTATION_CAPACITY_CPU, quantity("cpu")),
        (ANNOTATION_CAPACITY_MEMORY, quantity("memory")),
        (ANNOTATION_CAPACITY_EPHEMERAL_DISK, quantity("ephemeral-storage")),
        (ANNOTATION_CAPACITY_GPU_TYPE, gpus.as_ref().map(|_| "nvidia.com/gpu".to_owned())),
        (ANNOTATION_CAPACITY_GPU_COUNT, gpus),
        (ANNOTATION_CAPACITY_LABELS, Some(labels.join(",")).filter(|labels| !labels.is_empty())),
    ];
    let annotations = annotations.into_iter();
    annotations.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
