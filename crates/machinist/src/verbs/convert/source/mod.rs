//! The objects of machine-controller-manager, one file per kind. Reading keeps what has a counterpart; the rest is
//! reported.

mod class;
mod configuration;
mod deployment;
mod machine;
mod metadata;
mod secret;
mod set;

use std::collections::BTreeMap;

use machinist_provider::fields::{Fields, Finding, Level};
use serde_json::Value;

pub(super) use self::class::{Class, SecretReference};
pub(super) use self::configuration::{Configuration, read_timeout};
pub(super) use self::deployment::{Deployment, Strategy, StrategyKind};
pub(super) use self::machine::{Machine, MachineSpec, Template};
pub(super) use self::metadata::Metadata;
pub(super) use self::secret::Secret;
pub(super) use self::set::Set;
use super::documents::Object;
use super::messages;
use super::notes::{Notes, Origin};

const GROUP: &str = "machine.sapcloud.io/";
const VERSION: &str = "machine.sapcloud.io/v1alpha1";

/// Namespace and name.
pub(super) type Key = (Option<String>, String);

/// An object, and where it comes from.
#[derive(Debug)]
pub(super) struct Sourced<T> {
    pub(super) origin: Origin,
    pub(super) value: T,
}

#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) classes: BTreeMap<Key, Sourced<Class>>,
    pub(super) secrets: BTreeMap<Key, Sourced<Secret>>,
    pub(super) machines: Vec<Sourced<Machine>>,
    pub(super) sets: Vec<Sourced<Set>>,
    pub(super) deployments: Vec<Sourced<Deployment>>,
    /// Where each object is, by kind.
    places: BTreeMap<(&'static str, Key), String>,
}

impl Sources {
    pub(super) fn add(&mut self, object: Object, notes: &mut Notes) {
        match (&*object.api_version, &*object.kind) {
            (VERSION, "MachineClass") => {
                let class = self.read("MachineClass", object, notes, Class::read);
                self.classes.insert(key(&class.origin), class);
            }
            (VERSION, "Machine") => {
                let machine = self.read("Machine", object, notes, Machine::read);
                self.machines.push(machine);
            }
            (VERSION, "MachineSet") => {
                let set = self.read("MachineSet", object, notes, Set::read);
                self.sets.push(set);
            }
            (VERSION, "MachineDeployment") => {
                let deployment = self.read("MachineDeployment", object, notes, Deployment::read);
                self.deployments.push(deployment);
            }
            ("v1", "Secret") => {
                let secret = self.read("Secret", object, notes, Secret::read);
                self.secrets.insert(key(&secret.origin), secret);
            }
            (version, kind) => {
                let level =
                    if version.starts_with(GROUP) { Level::Unsupported } else { Level::Note };
                let text = match level {
                    Level::Note => messages::other_kind(version, kind),
                    _ => messages::unknown_kind(version, kind),
                };
                let finding = Finding { level, path: String::new(), text };
                notes.add(&origin("object", &object), vec![finding]);
            }
        }
    }

    /// Of two objects with the same name, the later one counts, as with `kubectl apply`.
    fn read<T>(
        &mut self,
        kind: &'static str,
        object: Object,
        notes: &mut Notes,
        read: impl FnOnce(&mut Fields<'_>) -> T,
    ) -> Sourced<T> {
        let origin = origin(kind, &object);
        let mut findings = Vec::new();
        if let Some(earlier) = self.places.insert((kind, key(&origin)), origin.place.clone()) {
            let (level, path) = (Level::Unsupported, String::new());
            findings.push(Finding { level, path, text: messages::duplicate(&earlier) });
        }
        let value = Fields::read("", object.fields, &mut findings, |fields| {
            fields.ignore(&["apiVersion", "kind"]);
            let value = read(fields);
            fields.ignore(&["status"]);
            value
        });
        notes.add(&origin, findings);
        Sourced { origin, value }
    }
}

fn key(origin: &Origin) -> Key {
    (origin.namespace.clone(), origin.name.clone())
}

fn origin(kind: &'static str, object: &Object) -> Origin {
    let metadata = object.fields.get("metadata");
    let text = |name: &str| Some(metadata?.get(name)?.as_str()?.to_owned());
    Origin {
        place: object.place.clone(),
        kind,
        name: text("name").unwrap_or_default(),
        namespace: text("namespace"),
    }
}

/// A number or a percentage. Other systems accept `"3"` as a number.
fn int_or_percent(fields: &mut Fields<'_>, name: &str) -> Option<Value> {
    let value = fields.value(name)?;
    let number = match &value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => match text.strip_suffix('%') {
            Some(digits) if digits.parse::<u16>().is_ok() => return Some(value),
            _ => text.parse().ok(),
        },
        _ => None,
    };
    match number.map(i32::try_from) {
        Some(Ok(number)) if number >= 0 => Some(number.into()),
        _ => {
            fields.add(Level::Invalid, name, messages::NOT_A_LIMIT);
            None
        }
    }
}
