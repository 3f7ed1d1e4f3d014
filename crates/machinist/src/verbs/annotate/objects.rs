//! Finds the MachineSets and MachineDeployments of a document and computes their annotations.

use machinist_api::resource::{MACHINE_DEPLOYMENTS, MACHINE_SETS};
use machinist_aws_spec::AwsSpecs;
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::capacity_annotations::{self, Assessment, Current, Options};
use machinist_provider::spec::{SpecError, SpecHalf};
use serde_json::value::RawValue;

use super::{Known, messages};
use crate::manifests::node::Node;

const GROUP: &str = "machine.openshift.io/";
const MACHINE_SET: &str = MACHINE_SETS.kind;
const MACHINE_DEPLOYMENT: &str = MACHINE_DEPLOYMENTS.kind;

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) changes: Vec<(Vec<usize>, AnnotationChange)>,
    /// Each with the kind and the name of its object.
    pub(super) notes: Vec<(String, String)>,
    pub(super) unknown: usize,
}

/// Annotates every object of a document, in lists too. An error means that the document is invalid.
pub(super) fn annotate(
    document: &mut Node,
    options: Options,
    known: Known<'_>,
) -> Result<Found, String> {
    let mut found = Found::default();
    visit(document, &mut Vec::new(), options, known, &mut found)?;
    Ok(found)
}

fn visit(
    object: &mut Node,
    path: &mut Vec<usize>,
    options: Options,
    known: Known<'_>,
    found: &mut Found,
) -> Result<(), String> {
    let text = |key| object.get(key).and_then(Node::text).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let ours = |kind| {
        let mut all = [MACHINE_SET, MACHINE_DEPLOYMENT].into_iter();
        all.find(|known| *known == kind && version.starts_with(GROUP))
    };
    if let Some(kind) = ours(kind) {
        return visit_one(kind, object, path, options, known, found);
    }
    let is_list = (kind == "List" && version == "v1")
        || kind.strip_suffix("List").is_some_and(|kind| ours(kind).is_some());
    if is_list && let Some(Node::List(items)) = object.get_mut("items") {
        for (index, item) in items.iter_mut().enumerate() {
            path.push(index);
            visit(item, path, options, known, found)?;
            path.pop();
        }
    }
    Ok(())
}

fn visit_one(
    kind: &str,
    object: &mut Node,
    path: &[usize],
    options: Options,
    known: Known<'_>,
    found: &mut Found,
) -> Result<(), String> {
    let name = format!("{kind} {}", name(object));
    let bad = |reason: &str| format!("{name}: {reason}");
    if is_of_deployment(object) {
        found.notes.push((name, messages::OF_DEPLOYMENT.to_owned()));
        return Ok(());
    }
    let spec = object.at(&["spec", "template", "spec", "providerSpec", "value"]);
    let spec = spec.filter(|spec| !matches!(spec, Node::Null));
    let shape = match spec.map(raw) {
        None => Err(SpecError::Missing),
        Some(Err(reason)) => return Err(bad(&reason)),
        Some(Ok(raw)) => AwsSpecs.shape(&raw),
    };
    let shape = match shape {
        Ok(shape) => shape,
        Err(error @ SpecError::ForeignKind { .. }) => {
            found.notes.push((name, messages::foreign_spec(&error)));
            return Ok(());
        }
        Err(error) => return Err(bad(&error.to_string())),
    };
    let Some(capacity) = known(&shape) else {
        found.unknown += 1;
        found.notes.push((name, messages::unknown_type(&shape.instance_type)));
        return Ok(());
    };
    let current = current(object.at(&["metadata", "annotations"]));
    let assessment = capacity_annotations::assess(&current, &shape, &capacity, options);
    if !assessment.change.is_empty() {
        apply(object, &assessment.change).ok_or_else(|| bad(messages::NOT_MAPS))?;
        found.changes.push((path.to_vec(), assessment.change.clone()));
    }
    add_notes(&assessment, &name, found);
    Ok(())
}

/// A value that is not a string is invalid in Kubernetes and never machinist's.
fn current(annotations: Option<&Node>) -> Current {
    Current::read(|name| Some(annotations?.get(name)?.text().unwrap_or("")))
}

fn add_notes(assessment: &Assessment, name: &str, found: &mut Found) {
    for key in &assessment.kept {
        found.notes.push((name.to_owned(), messages::kept(key)));
    }
    if let Some(architecture) = &assessment.contradicted_architecture {
        found.notes.push((name.to_owned(), messages::wrong_architecture(architecture)));
    }
}

fn apply(object: &mut Node, change: &AnnotationChange) -> Option<()> {
    let annotations = object.entry("metadata")?.entry("annotations")?;
    for (key, value) in change.iter() {
        match (value, &mut *annotations) {
            (Some(value), annotations) => *annotations.entry(key)? = Node::Text(value.to_owned()),
            (None, Node::Map(entries)) => entries.retain(|entry| entry.0 != key),
            (None, _) => {}
        }
    }
    Some(())
}

/// The rule of the annotator.
fn is_of_deployment(object: &Node) -> bool {
    let Some(Node::List(owners)) = object.at(&["metadata", "ownerReferences"]) else {
        return false;
    };
    let kind = |owner: &Node| owner.get("kind").and_then(Node::text) == Some(MACHINE_DEPLOYMENT);
    owners.iter().any(kind)
}

fn name(object: &Node) -> String {
    let text = |key| object.at(&["metadata", key]).and_then(Node::text);
    let name = text("name").unwrap_or("without a name");
    text("namespace").map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

fn raw(spec: &Node) -> Result<Box<RawValue>, String> {
    let text = serde_json::to_string(spec).map_err(|error| error.to_string())?;
    RawValue::from_string(text).map_err(|error| error.to_string())
}
