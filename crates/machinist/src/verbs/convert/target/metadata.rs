use std::collections::{BTreeMap, BTreeSet};

use machinist_api::names::{
    ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY, ANNOTATION_FORCE_DELETION,
    ANNOTATION_PRESERVE, ANNOTATION_REVISION, LABEL_TEMPLATE_HASH, PRESERVE_AUTO,
};
use machinist_provider::fields::{Finding, Level};
use serde_json::{Map, Value, json};

use crate::verbs::convert::messages;
use crate::verbs::convert::source::{Metadata, Sources};

pub(super) type Pairs = BTreeMap<String, String>;

/// The keys in the selectors of all objects. Labels with them are always kept: what a selector matches, it still
/// matches.
pub(super) type Selected<'a> = BTreeSet<&'a str>;

/// The domain of machine-controller-manager's own labels and annotations.
const DOMAIN: &str = "machine.sapcloud.io";
const HASH: &str = "machine-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
const PRIORITY: &str = "machinepriority.machine.sapcloud.io";
/// On a MachineDeployment, for its new Machines.
pub(super) const EFFECTIVE_TIMEOUT: &str = "node.machine.sapcloud.io/effective-creation-timeout";
/// Annotations that become others.
const CONVERTED: &[&str] = &[PRIORITY, EFFECTIVE_TIMEOUT];
/// On a Machine or Node.
pub(super) const PRESERVE: &str = "node.machine.sapcloud.io/preserve";
const FORCE_DELETION: &str = "force-deletion";
/// Of Kubernetes' and machine-controller-manager's tools; they describe the old object.
const OUTDATED: &[&str] = &["kubectl.kubernetes.io/", "deployment.kubernetes.io/"];
/// What machine-controller-manager stores in labels: the Node, a freeze, and requests for a deletion.
const STATE: &[&str] = &["node", "freeze", "force-drain", FORCE_DELETION];

/// Annotations that ask for something that does not go on by itself.
const REQUESTS: &[(&str, &str)] = &[
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

pub(super) fn selected(sources: &Sources) -> Selected<'_> {
    let sets = sources.sets.iter().map(|set| &set.value.selector);
    let deployments = sources.deployments.iter().map(|deployment| &deployment.value.set.selector);
    let mut selected = Selected::new();
    for selector in sets.chain(deployments) {
        selected.extend(selector.match_labels.iter().flatten().map(|(name, _)| name.as_str()));
        selected.extend(selector.match_expressions.iter().flatten().map(|one| one.key.as_str()));
    }
    selected
}

/// Labels of an object or template; `path` is that of its metadata. The hash of a template keeps MachineSets apart;
/// ours has another name.
pub(super) fn labels(
    source: &Pairs,
    path: &str,
    selected: &Selected<'_>,
    findings: &mut Vec<Finding>,
) -> Pairs {
    let mut kept = Pairs::new();
    for (name, value) in source {
        let is_selected = selected.contains(name.as_str());
        if is_foreign(name) && !is_selected {
            findings.push(left_out(format!("{path}.labels[{name}]")));
        } else if is_selected || !STATE.contains(&name.as_str()) {
            kept.insert(label(name).to_owned(), value.clone());
        }
    }
    kept
}

/// Labels of Nodes. No selector of Machines reads them.
pub(super) fn node_labels(source: &Pairs, path: &str, findings: &mut Vec<Finding>) -> Pairs {
    let (foreign, kept): (Pairs, Pairs) =
        source.clone().into_iter().partition(|(name, _)| is_foreign(name));
    findings.extend(foreign.keys().map(|name| left_out(format!("{path}.labels[{name}]"))));
    kept
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
    let mut kept = Pairs::new();
    for (name, value) in source {
        let path = || format!("{path}.annotations[{name}]");
        if name == PRESERVE {
            match preserve(value) {
                Some(request) => drop(kept.insert(ANNOTATION_PRESERVE.to_owned(), request)),
                None => findings.push(Finding {
                    level: Level::Unsupported,
                    path: path(),
                    text: messages::preserve(value),
                }),
            }
        } else if let Some((_, text)) = REQUESTS.iter().find(|(request, _)| request == name) {
            let text = (*text).to_owned();
            findings.push(Finding { level: Level::Unsupported, path: path(), text });
        } else if is_foreign(name) {
            if !CONVERTED.contains(&name.as_str()) {
                findings.push(left_out(path()));
            }
        } else if !OUTDATED.iter().any(|prefix| name.starts_with(prefix)) {
            kept.insert(name.clone(), value.clone());
        }
    }
    kept
}

fn preserve(request: &str) -> Option<String> {
    match request {
        "now" | "when-failed" | "false" => Some(request.to_owned()),
        "auto-preserved" => Some(PRESERVE_AUTO.to_owned()),
        _ => None,
    }
}

/// In a template, a mark for deletion would be on every Machine.
pub(super) fn leave_out_marks(annotations: &mut Pairs, path: &str, findings: &mut Vec<Finding>) {
    for mark in [ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY] {
        if annotations.remove(mark).is_some() {
            let path = format!("{path}.annotations[{mark}]");
            findings.push(Finding { level: Level::Note, path, text: messages::MARKED.to_owned() });
        }
    }
}

pub(super) fn left_out(path: String) -> Finding {
    Finding { level: Level::Note, path, text: messages::LEFT_OUT.to_owned() }
}

fn is_foreign(name: &str) -> bool {
    let domain = name.split('/').next().unwrap_or_default();
    let above = domain.strip_suffix(DOMAIN);
    above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
}
