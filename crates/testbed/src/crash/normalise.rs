//! Makes the states of two runs comparable: what differs by nature is dropped or replaced by a stable stand-in. Nothing
//! else changes, so a duplicate, a leftover or a wrong value stays visible.

use std::{collections::HashMap, fmt, sync::Arc};

use serde_json::{Map, Value};

/// Differs between runs with the same result.
const NOISE: [&str; 5] =
    ["resourceVersion", "managedFields", "creationTimestamp", "generation", "selfLink"];

type Rename = Arc<dyn Fn(&Value) -> Option<String> + Send + Sync>;

#[derive(Clone)]
pub struct Normaliser {
    namespace: String,
    rename: Option<Rename>,
}

impl fmt::Debug for Normaliser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Normaliser").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl Normaliser {
    pub fn new(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), rename: None }
    }

    /// For names that depend on the run, but not by `generateName`. Objects that get the same name are numbered.
    #[must_use]
    pub fn rename(
        mut self,
        rename: impl Fn(&Value) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.rename = Some(Arc::new(rename));
        self
    }

    pub fn normalise(&self, objects: Vec<Value>) -> Value {
        let mut objects: Vec<(String, Value)> =
            objects.into_iter().map(|object| (self.stable_name(&object), object)).collect();
        // Among objects of one stable name the content decides about the order, as far as it is stable itself.
        objects.sort_by_cached_key(|(name, object)| {
            let blank = self.substitutes_for(&[object], |_, _| String::new());
            (kind(object).to_owned(), name.clone(), rewrite(object, &blank).to_string())
        });
        let mut numbers = HashMap::new();
        let mut names = Vec::new();
        for (name, object) in &objects {
            let number = numbers.entry((kind(object), name)).or_insert(0_u32);
            *number += 1;
            let fixed = text(object, "/metadata/name") == Some(name.as_str());
            names.push(if fixed { name.clone() } else { format!("{name}#{number}") });
        }
        let plain: Vec<&Value> = objects.iter().map(|(_, object)| object).collect();
        let substitutes = self
            .substitutes_for(&plain, |index, object| format!("{}/{}", kind(object), names[index]));
        Value::Array(plain.into_iter().map(|object| rewrite(object, &substitutes)).collect())
    }

    fn stable_name(&self, object: &Value) -> String {
        let chosen = self.rename.as_ref().and_then(|rename| rename(object));
        chosen
            .or_else(|| text(object, "/metadata/generateName").map(str::to_owned))
            .or_else(|| text(object, "/metadata/name").map(str::to_owned))
            .unwrap_or_default()
    }

    /// Longest first, so that no replacement spoils another. `call` names an object, or nothing if names are unknown.
    fn substitutes_for(
        &self,
        objects: &[&Value],
        call: impl Fn(usize, &Value) -> String,
    ) -> Vec<(String, String)> {
        let mut pairs = vec![(self.namespace.clone(), "<namespace>".to_owned())];
        for (index, object) in objects.iter().enumerate() {
            let called = call(index, object);
            let stable = called.split_once('/').map_or("", |(_, name)| name);
            if let Some(name) = text(object, "/metadata/name")
                && name != stable
                && self.stable_name(object) != name
            {
                pairs.push((name.to_owned(), stable.to_owned()));
            }
            if let Some(uid) = text(object, "/metadata/uid") {
                pairs.push((uid.to_owned(), format!("<uid of {called}>")));
            }
        }
        pairs.retain(|(old, _)| !old.is_empty());
        pairs.sort_by_key(|(old, _)| std::cmp::Reverse(old.len()));
        pairs
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

fn kind(object: &Value) -> &str {
    text(object, "/kind").unwrap_or_default()
}

/// One object, or a part of one. `substitutes` has the longest first.
pub fn one(object: &Value, substitutes: &[(String, String)]) -> Value {
    rewrite(object, substitutes)
}

fn rewrite(object: &Value, substitutes: &[(String, String)]) -> Value {
    let generation = object.pointer("/metadata/generation");
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        let generation = generation.cloned();
        metadata.retain(|key, _| !NOISE.contains(&key.as_str()));
        return walk(&object, substitutes, generation.as_ref());
    }
    walk(&object, substitutes, None)
}

fn walk(value: &Value, substitutes: &[(String, String)], generation: Option<&Value>) -> Value {
    match value {
        Value::String(text) => Value::String(replace(text, substitutes)),
        Value::Array(items) => {
            items.iter().map(|item| walk(item, substitutes, generation)).collect()
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| {
                let value = match (key.as_str(), generation) {
                    ("observedGeneration", Some(generation)) => {
                        let current = value == generation;
                        Value::from(if current { "<current>" } else { "<outdated>" })
                    }
                    _ => walk(value, substitutes, generation),
                };
                (replace(key, substitutes), value)
            };
            Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn replace(text: &str, substitutes: &[(String, String)]) -> String {
    if is_time(text) {
        return "<time>".to_owned();
    }
    let text = without_times(text);
    let replaced =
        substitutes.iter().fold(text, |text, (old, new)| text.replace(old.as_str(), new));
    if is_uid(&replaced) { "<uid>".to_owned() } else { replaced }
}

/// A time that a message names, as `<time>`.
fn without_times(text: &str) -> String {
    if !text.contains('T') || !text.contains(':') {
        return text.to_owned();
    }
    let ends = |c: char| !c.is_ascii_alphanumeric() && !"-:.".contains(c);
    let words = text.split_inclusive(ends);
    let word = |word: &str| match word.strip_suffix(ends) {
        Some(time) if is_time(time) => format!("<time>{}", &word[time.len()..]),
        None if is_time(word) => "<time>".to_owned(),
        _ => word.to_owned(),
    };
    words.map(word).collect()
}

/// `2026-01-02T03:04:05Z` with or without fractions.
fn is_time(text: &str) -> bool {
    text.len() >= 20
        && text.as_bytes().get(10) == Some(&b'T')
        && text.parse::<jiff::Timestamp>().is_ok()
}

/// Eight, four, four, four and twelve hexadecimal digits.
fn is_uid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.concat().bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(namespace: &str, uid: &str, version: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Set",
            "metadata": {
                "name": "web", "namespace": namespace, "uid": uid, "resourceVersion": version,
                "creationTimestamp": "2026-01-02T03:04:05Z", "generation": 3,
            },
            "status": { "observedGeneration": 3, "since": "2026-01-02T03:04:05.123456Z" },
        })
    }

    fn child(namespace: &str, name: &str, owner: &str, uid: &str, slot: u32) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Child",
            "metadata": {
                "name": name, "generateName": "web-", "namespace": namespace, "uid": uid,
                "ownerReferences": [{ "name": "web", "uid": owner }],
            },
            "slot": slot, "path": format!("/{namespace}/{name}"),
        })
    }

    const A: &str = "11111111-2222-3333-4444-555555555555";
    const B: &str = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";
    const C: &str = "99999999-8888-7777-6666-555555555555";

    #[test]
    fn two_good_runs_are_equal_whatever_the_order() {
        let one = Normaliser::new("world-1").normalise(vec![
            set("world-1", A, "7"),
            child("world-1", "web-x1", A, B, 1),
            child("world-1", "web-a2", A, C, 2),
        ]);
        let other = Normaliser::new("world-2").normalise(vec![
            child("world-2", "web-b7", B, A, 2),
            child("world-2", "web-c8", B, C, 1),
            set("world-2", B, "9000"),
        ]);
        assert_eq!(one, other, "{one:#}\n{other:#}");
        assert_eq!(one[0]["metadata"]["name"], "web-#1");
        assert_eq!(one[0]["path"], "/<namespace>/web-#1");
        assert_eq!(one[0]["metadata"]["ownerReferences"][0]["uid"], "<uid of Set/web>");
        assert_eq!(one[2]["status"], json!({"observedGeneration": "<current>", "since": "<time>"}));
    }

    #[test]
    fn a_duplicate_and_a_wrong_owner_stay_visible() {
        let good = Normaliser::new("world-1")
            .normalise(vec![set("world-1", A, "1"), child("world-1", "web-1", A, B, 1)]);
        let twice = Normaliser::new("world-1").normalise(vec![
            set("world-1", A, "1"),
            child("world-1", "web-1", A, B, 1),
            child("world-1", "web-2", A, C, 1),
        ]);
        let orphan = Normaliser::new("world-1")
            .normalise(vec![set("world-1", A, "1"), child("world-1", "web-1", C, B, 1)]);
        assert_ne!(good, twice);
        assert_ne!(good, orphan);
        assert_eq!(orphan[0]["metadata"]["ownerReferences"][0]["uid"], "<uid>");
    }

    #[test]
    fn an_outdated_generation_is_not_current() {
        let mut object = set("world-1", A, "1");
        object["status"]["observedGeneration"] = 2.into();
        let state = Normaliser::new("world-1").normalise(vec![object]);
        assert_eq!(state[0]["status"]["observedGeneration"], "<outdated>");
    }

    #[test]
    fn times_in_messages_are_replaced() {
        for (text, expected) in [
            ("Kept until 2026-01-02T03:04:05Z", "Kept until <time>"),
            ("until 2026-01-02T03:04:05Z; 1 pod left", "until <time>; 1 pod left"),
            ("a (until 2026-01-02T03:04:05.5Z), b", "a (until <time>), b"),
            ("To: m2026-01-02T03:04:05Z", "To: m2026-01-02T03:04:05Z"),
        ] {
            assert_eq!(replace(text, &[]), expected);
        }
    }

    #[test]
    fn names_that_depend_on_the_run_can_be_renamed() {
        let normaliser = |namespace| {
            Normaliser::new(namespace)
                .rename(|object| object.get("slot").map(|slot| format!("slot-{slot}")))
        };
        let one = normaliser("world-1").normalise(vec![child("world-1", "web-1f", A, B, 1)]);
        let other = normaliser("world-2").normalise(vec![child("world-2", "web-2e", C, A, 1)]);
        assert_eq!(one, other);
        assert_eq!(one[0]["metadata"]["name"], "slot-1#1");
    }
}
