use std::collections::BTreeMap;

use machinist_api::names::{
    ANNOTATION_DELETE_MACHINE, ANNOTATION_FORCE_DELETION, ANNOTATION_REVISION, LABEL_TEMPLATE_HASH,
};
use machinist_provider::fields::{Finding, Level};
use serde_json::{Map, Value, json};

use crate::verbs::convert::messages;
use crate::verbs::convert::source::Metadata;

pub(super) type Pairs = BTreeMap<String, String>;

/// The domain of machine-controller-manager's own labels and annotations.
const DOMAIN: &str = "machine.sapcloud.io";
const HASH: &str = "machine-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
const PRIORITY: &str = "machinepriority.machine.sapcloud.io";
const FORCE_DELETION: &str = "force-deletion";
/// Of Kubernetes' and machine-controller-manager's tools; they describe the old object.
const OUTDATED: &[&str] = &["kubectl.kubernetes.io/", "deployment.kubernetes.io/"];
/// What machine-controller-manager stores in labels: the Node, a freeze, and requests for a deletion.
const STATE: &[&str] = &["node", "freeze", "force-drain", FORCE_DELETION];

/// Annotations that ask for something that does not go on by itself.
const REQUESTS: &[(&str, &str)] = &[
    ("node.machine.sapcloud.io/preserve", messages::PRESERVE),
    ("node.machine.sapcloud.io/trigger-deletion-by-mcm", messages::TRIGGER_DELETION),
    ("machine.sapcloud.io/awsPlacement", messages::PLACEMENT_ANNOTATION),
];

pub(super) fn of(source: &Metadata, labels: Pairs, annotations: Pairs) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!(source.name));
    if let Some(namespace) = &source.namespace {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    for (name, pairs) in [("labels", labels), ("annotations", annotations)] {
        if !pairs.is_empty() {
            metadata.insert(name.to_owned(), json!(pairs));
        }
    }
    metadata.into()
}

/// Labels of an object or template. The hash of a template keeps MachineSets apart; ours has another name.
pub(super) fn labels(source: &Pairs) -> Pairs {
    let kept =
        source.iter().filter(|(name, _)| !is_foreign(name) && !STATE.contains(&name.as_str()));
    kept.map(|(name, value)| (label(name).to_owned(), value.clone())).collect()
}

pub(super) fn label(name: &str) -> &str {
    if name == HASH { LABEL_TEMPLATE_HASH } else { name }
}

/// Annotations of an object or template; `path` is that of its metadata.
pub(super) fn annotations(source: &Metadata, path: &str, findings: &mut Vec<Finding>) -> Pairs {
    let mut kept = plain_annotations(&source.annotations, path, findings);
    if let Some(revision) = source.annotations.get(REVISION) {
        kept.insert(ANNOTATION_REVISION.to_owned(), revision.clone());
    }
    if source.annotations.get(PRIORITY).is_some_and(|priority| priority == "1") {
        kept.insert(ANNOTATION_DELETE_MACHINE.to_owned(), "true".to_owned());
    }
    if source.labels.get(FORCE_DELETION).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        kept.insert(ANNOTATION_FORCE_DELETION.to_owned(), String::new());
    }
    kept
}

/// Without those that belong to machine-controller-manager.
pub(super) fn plain_annotations(source: &Pairs, path: &str, findings: &mut Vec<Finding>) -> Pairs {
    for (name, text) in REQUESTS.iter().filter(|(name, _)| source.contains_key(*name)) {
        let path = format!("{path}.annotations[{name}]");
        findings.push(Finding { level: Level::Unsupported, path, text: (*text).to_owned() });
    }
    let outdated = |name: &str| OUTDATED.iter().any(|prefix| name.starts_with(prefix));
    let kept = source.iter().filter(|(name, _)| !is_foreign(name) && !outdated(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub(super) fn is_foreign(name: &str) -> bool {
    name.split('/').next().is_some_and(|domain| domain.ends_with(DOMAIN))
}
