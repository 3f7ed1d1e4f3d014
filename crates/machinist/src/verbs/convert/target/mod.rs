//! Our objects. Their order matters when they are applied: Secrets and Machines come before the MachineSets, which
//! would create Machines otherwise, and MachineSets before the MachineDeployments that adopt them.

mod class;
mod health_check;
mod metadata;
mod secret;
mod sets;
mod template;

use std::collections::BTreeMap;

use machinist_api::names::{ANNOTATION_PRESERVE, ANNOTATION_PRESERVED_UNTIL};
use machinist_provider::fields::{Finding, Level};
use serde_json::{Value, json};

use self::class::Translation;
use self::metadata::Selected;
use super::messages;
use super::notes::Notes;
use super::source::{Key, Machine, Metadata, Sourced, Sources};

const VERSION: &str = "machine.openshift.io/v1beta1";

/// The provider specs of the classes, and which classes no object uses.
#[derive(Debug)]
struct Classes {
    translations: BTreeMap<Key, Translation>,
    unused: Vec<Key>,
}

impl Classes {
    /// The class of a machine or template in `namespace`; its absence is a finding about `path`.
    fn find(
        &mut self,
        namespace: Option<&str>,
        name: &str,
        path: &str,
        findings: &mut Vec<Finding>,
    ) -> Option<&Translation> {
        let key = (namespace.map(str::to_owned), name.to_owned());
        self.unused.retain(|unused| *unused != key);
        let found = self.translations.get(&key);
        if found.is_none() {
            let text = if name.is_empty() {
                messages::REQUIRED.to_owned()
            } else {
                messages::no_class(name)
            };
            findings.push(Finding { level: Level::Unsupported, path: path.to_owned(), text });
        }
        found
    }
}

pub(super) fn convert(sources: &Sources, notes: &mut Notes) -> Vec<Value> {
    let (mut classes, mut objects) = class::translate_all(sources, notes);
    let selected = metadata::selected(sources);
    let mut add = |converted: Option<Vec<Value>>| objects.extend(converted.into_iter().flatten());
    for machine in &sources.machines {
        add(collect(machine, &machine.value.metadata, notes, |findings| {
            convert_machine(&machine.value, &mut classes, &selected, findings)
        }));
    }
    for set in &sources.sets {
        add(collect(set, &set.value.metadata, notes, |findings| {
            sets::set(&set.value, &mut classes, &selected, findings)
        }));
    }
    for deployment in &sources.deployments {
        add(collect(deployment, &deployment.value.metadata, notes, |findings| {
            sets::deployment(&deployment.value, &mut classes, &selected, findings)
        }));
    }
    // Health checks last: they act on what is there.
    objects.sort_by_key(|object| object["kind"] == health_check::KIND);
    for key in &classes.unused {
        if let Some(class) = sources.classes.get(key) {
            let text = messages::UNUSED_CLASS.to_owned();
            notes.add(
                &class.origin,
                vec![Finding { level: Level::Note, path: String::new(), text }],
            );
        }
    }
    objects
}

/// An object that is being deleted would not be deleted as a new one, so it is not converted.
fn collect<T>(
    source: &Sourced<T>,
    metadata: &Metadata,
    notes: &mut Notes,
    convert: impl FnOnce(&mut Vec<Finding>) -> Option<Vec<Value>>,
) -> Option<Vec<Value>> {
    let mut findings = Vec::new();
    let converted = if metadata.deleted {
        let (path, text) = ("metadata.deletionTimestamp".to_owned(), messages::DELETED.to_owned());
        findings.push(Finding { level: Level::Unsupported, path, text });
        None
    } else {
        convert(&mut findings)
    };
    notes.add(&source.origin, findings);
    converted
}

fn convert_machine(
    machine: &Machine,
    classes: &mut Classes,
    selected: &Selected<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Vec<Value>> {
    let metadata = &machine.metadata;
    let mut refuse = |path: &str, text: &str| {
        let (path, text) = (path.to_owned(), text.to_owned());
        findings.push(Finding { level: Level::Unsupported, path, text });
        None
    };
    if metadata.stored && machine.spec.provider_id.is_none() {
        return refuse("spec.providerID", messages::UNFINISHED);
    }
    let namespace = metadata.namespace.as_deref();
    let class = classes.find(namespace, &machine.spec.class, "spec.class.name", findings)?;
    let (labels, mut annotations) =
        template::machine_metadata(metadata, &machine.spec, class, "metadata", selected, findings);
    if let Some(until) = machine.preserved_until {
        // What keeps it may be requested on its Node, where machinist does not read it.
        annotations.entry(ANNOTATION_PRESERVE.to_owned()).or_insert_with(|| "now".to_owned());
        annotations.insert(ANNOTATION_PRESERVED_UNTIL.to_owned(), until.to_string());
    }
    let spec = template::machine_spec(&machine.spec, class, "spec", findings);
    let metadata = metadata::of(metadata, labels, annotations);
    Some(vec![object("Machine", &metadata, &serde_json::to_value(spec).ok()?)])
}

fn object(kind: &str, metadata: &Value, spec: &Value) -> Value {
    json!({ "apiVersion": VERSION, "kind": kind, "metadata": metadata, "spec": spec })
}
