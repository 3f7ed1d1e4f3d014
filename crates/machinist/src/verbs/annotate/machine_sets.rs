//! Finds the MachineSets of a document and computes their annotations.

use machinist_aws_spec::AwsSpecs;
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::capacity_annotations::{self, Assessment, Current, Options};
use machinist_provider::spec::{SpecError, SpecHalf};
use serde_json::value::RawValue;

use super::{Known, messages};
use crate::manifests::node::Node;

const GROUP: &str = "machine.openshift.io/";

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) changes: Vec<(Vec<usize>, AnnotationChange)>,
    pub(super) notes: Vec<(String, String)>,
    pub(super) unknown: usize,
}

/// Annotates every MachineSet of a document, in lists too. An error means that the document is invalid.
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
    if kind == "MachineSet" && version.starts_with(GROUP) {
        return visit_set(object, path, options, known, found);
    }
    let is_list = (kind == "List" && version == "v1")
        || (kind == "MachineSetList" && version.starts_with(GROUP));
    if is_list && let Some(Node::List(items)) = object.get_mut("items") {
        for (index, item) in items.iter_mut().enumerate() {
            path.push(index);
            visit(item, path, options, known, found)?;
            path.pop();
        }
    }
    Ok(())
}

fn visit_set(
    set: &mut Node,
    path: &[usize],
    options: Options,
    known: Known<'_>,
    found: &mut Found,
) -> Result<(), String> {
    let name = name(set);
    let bad = |reason: &str| format!("MachineSet {name}: {reason}");
    let spec = set.at(&["spec", "template", "spec", "providerSpec", "value"]);
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
    let current = current(set.at(&["metadata", "annotations"]));
    let assessment = capacity_annotations::assess(&current, &shape, &capacity, options);
    if !assessment.change.is_empty() {
        apply(set, &assessment.change).ok_or_else(|| bad(messages::NOT_MAPS))?;
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

fn apply(set: &mut Node, change: &AnnotationChange) -> Option<()> {
    let annotations = set.entry("metadata")?.entry("annotations")?;
    for (key, value) in change.iter() {
        match (value, &mut *annotations) {
            (Some(value), annotations) => *annotations.entry(key)? = Node::Text(value.to_owned()),
            (None, Node::Map(entries)) => entries.retain(|entry| entry.0 != key),
            (None, _) => {}
        }
    }
    Some(())
}

fn name(set: &Node) -> String {
    let text = |key| set.at(&["metadata", key]).and_then(Node::text);
    let name = text("name").unwrap_or("without a name");
    text("namespace").map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

fn raw(spec: &Node) -> Result<Box<RawValue>, String> {
    let text = serde_json::to_string(spec).map_err(|error| error.to_string())?;
    RawValue::from_string(text).map_err(|error| error.to_string())
}
