//! Finds the MachineSets in a document and says what their annotations should be.

use machinist_aws_spec::AwsSpecs;
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::capacity_annotations::{self, Assessment, Current, Options};
use machinist_provider::spec::{SpecError, SpecHalf};
use serde_json::value::RawValue;

use super::Known;
use crate::manifests::node::Node;

const GROUP: &str = "machine.openshift.io/";

/// What was found in a document.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What is to change, by the indexes that lead to the set through the items of lists.
    pub(super) changes: Vec<(Vec<usize>, AnnotationChange)>,
    /// What people should hear of a set.
    pub(super) notes: Vec<(String, String)>,
    /// How many sets are of a type that nobody knows.
    pub(super) unknown: usize,
}

/// Annotates every MachineSet in a document, alone or in lists. An error means that the document is bad.
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
            found.notes.push((name, format!("left as it is: {error}")));
            return Ok(());
        }
        Err(error) => return Err(bad(&error.to_string())),
    };
    let Some(capacity) = known(&shape) else {
        found.unknown += 1;
        let note = format!("instance type {:?} is unknown, left as it was", shape.instance_type);
        found.notes.push((name, note));
        return Ok(());
    };
    let current = current(set.at(&["metadata", "annotations"]));
    let assessment = capacity_annotations::assess(&current, &shape, &capacity, options);
    if !assessment.change.is_empty() {
        apply(set, &assessment.change)
            .ok_or_else(|| bad("metadata and its annotations must be maps"))?;
        found.changes.push((path.to_vec(), assessment.change.clone()));
    }
    tell(&assessment, &name, found);
    Ok(())
}

/// A value that is no text is none that Kubernetes would take, and none of ours.
fn current(annotations: Option<&Node>) -> Current {
    Current::read(|name| Some(annotations?.get(name)?.text().unwrap_or("")))
}

fn tell(assessment: &Assessment, name: &str, found: &mut Found) {
    for key in &assessment.kept {
        let note = format!("{key} was set by hand and stays; --overwrite replaces it");
        found.notes.push((name.to_owned(), note));
    }
    if let Some(architecture) = &assessment.contradicted_architecture {
        let note = format!("architecture {architecture:?} in the labels is wrong and replaced");
        found.notes.push((name.to_owned(), note));
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
