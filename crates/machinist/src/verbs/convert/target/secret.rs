//! The Secrets of a class: user data under the same name and key, credentials in a new Secret with our keys.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinist_provider::fields::{Finding, Level};
use serde_json::{Map, Value, json};

use crate::verbs::convert::messages;
use crate::verbs::convert::source::{Class, Key, Secret, SecretReference, Sources};

/// New Secrets by namespace and name.
pub(super) type Created = BTreeMap<Key, Value>;

const USER_DATA: &str = "userData";
const KEY_IDS: [&str; 2] = ["providerAccessKeyId", "accessKeyID"];
const KEYS: [&str; 2] = ["providerSecretAccessKey", "secretAccessKey"];
/// Machine-controller-manager replaces them, also where they are URL-encoded.
const PLACEHOLDERS: [(&str, &str); 4] = [
    ("<<BOOTSTRAP_TOKEN>>", messages::BOOTSTRAP_TOKEN),
    ("%3C%3CBOOTSTRAP_TOKEN%3E%3E", messages::BOOTSTRAP_TOKEN),
    ("<<MACHINE_NAME>>", messages::MACHINE_NAME),
    ("%3C%3CMACHINE_NAME%3E%3E", messages::MACHINE_NAME),
];

struct Context<'a> {
    namespace: Option<&'a str>,
    sources: &'a Sources,
    findings: &'a mut Vec<Finding>,
}

pub(super) fn references(
    class: &Class,
    sources: &Sources,
    spec: &mut Map<String, Value>,
    created: &mut Created,
    findings: &mut Vec<Finding>,
) {
    let namespace = class.metadata.namespace.as_deref();
    let mut context = Context { namespace, sources, findings };
    match &class.secret {
        Some(secret) => context.user_data(secret, spec),
        None => context.add(Level::Unsupported, "secretRef", messages::NO_SECRET.to_owned()),
    }
    let (path, credentials) = match &class.credentials {
        Some(credentials) => ("credentialsSecretRef", Some(credentials)),
        None => ("secretRef", class.secret.as_ref()),
    };
    if let Some(credentials) = credentials {
        context.credentials(path, credentials, spec, created);
    }
}

impl Context<'_> {
    fn add(&mut self, level: Level, path: &str, text: String) {
        self.findings.push(Finding { level, path: path.to_owned(), text });
    }

    fn find(&self, reference: &SecretReference) -> Option<&Secret> {
        let namespace = reference.namespace.as_deref().or(self.namespace);
        let key = (namespace.map(str::to_owned), reference.name.clone());
        self.sources.secrets.get(&key).map(|secret| &secret.value)
    }

    fn user_data(&mut self, reference: &SecretReference, spec: &mut Map<String, Value>) {
        let name = &reference.name;
        spec.insert("userDataSecret".to_owned(), json!({ "name": name }));
        let elsewhere =
            reference.namespace.as_deref().filter(|place| Some(*place) != self.namespace);
        if let Some(elsewhere) = elsewhere.filter(|_| self.namespace.is_some()) {
            let text = messages::other_namespace(name, elsewhere);
            self.add(Level::Unsupported, "secretRef.namespace", text);
        }
        let data = match self.find(reference) {
            None => {
                self.add(Level::Unsupported, "secretRef", messages::unseen_user_data(name));
                return;
            }
            Some(secret) => {
                secret.get(USER_DATA).map(|data| String::from_utf8_lossy(data).into_owned())
            }
        };
        let Some(data) = data else {
            self.add(Level::Unsupported, "secretRef", messages::no_user_data(name));
            return;
        };
        let mut texts: Vec<_> = PLACEHOLDERS
            .iter()
            .filter(|(placeholder, _)| data.contains(placeholder))
            .map(|(_, text)| *text)
            .collect();
        texts.dedup();
        for text in texts {
            self.add(Level::Unsupported, "secretRef", messages::in_user_data(name, text));
        }
    }

    fn credentials(
        &mut self,
        path: &str,
        reference: &SecretReference,
        spec: &mut Map<String, Value>,
        created: &mut Created,
    ) {
        let name = format!("{}-aws", reference.name);
        let seen = self.find(reference).map(|secret| {
            let value = |names: [&str; 2]| names.into_iter().find_map(|name| secret.get(name));
            Some(body(&name, self.namespace, value(KEY_IDS)?, value(KEYS)?))
        });
        match seen {
            Some(Some(secret)) => {
                created.insert((self.namespace.map(str::to_owned), name.clone()), secret);
            }
            Some(None) => {
                let text = messages::no_keys(&reference.name);
                self.add(Level::Unsupported, path, text);
                return;
            }
            None => {
                let text = messages::unseen_credentials(&reference.name, &name);
                self.add(Level::Unsupported, path, text);
            }
        }
        spec.insert("credentialsSecret".to_owned(), json!({ "name": name }));
    }
}

fn body(name: &str, namespace: Option<&str>, id: &[u8], key: &[u8]) -> Value {
    let mut metadata = json!({ "name": name });
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    // Line ends of a shell are no part of a key.
    let data = |value: &[u8]| STANDARD.encode(value.trim_ascii());
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "data": { "aws_access_key_id": data(id), "aws_secret_access_key": data(key) },
    })
}
