//! What writes touched: the fields that a patch names, and those that are different afterwards. Every write of every
//! party is in the log with the object that came of it, so an object's versions, in order, are its history.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::fields::{differences, fields, is_pairs};
use crate::audit::AuditEntry;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touch {
    /// As in `machinesets.machine.openshift.io/status`.
    pub resource: String,
    pub verb: String,
    /// Empty for a deletion and for a request that has no object, such as an eviction.
    pub path: String,
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.verb, self.resource, self.path)
    }
}

/// `entries` are all of the log.
pub fn touches(entries: &[AuditEntry], is_ours: impl Fn(&AuditEntry) -> bool) -> BTreeSet<Touch> {
    let before = histories(entries);
    let others = entries.iter().filter(|entry| !is_ours(entry)).filter_map(object);
    // Versions that were made by another write than the one that is looked at.
    let mut known: BTreeSet<_> = others.filter_map(identity).collect();
    let mut found = BTreeSet::new();
    for entry in entries.iter().filter(|entry| entry.is_write() && is_ours(entry)) {
        let mut paths = BTreeSet::new();
        if entry.verb == "patch" {
            paths.extend(named(entry));
        }
        // A write that changes nothing is answered with an earlier version; so is the last one of an object that goes.
        let made = object(entry).and_then(identity).filter(|made| known.insert(made.clone()));
        if let Some((uid, version)) = made {
            let versions = before.get(&uid).into_iter().flat_map(|all| all.range(..version));
            let former = versions.last().map_or(&Value::Null, |(_, object)| *object);
            paths.extend(differences(former, object(entry).unwrap_or(&Value::Null)));
        }
        // An eviction is answered with a Status: that it was asked for is all there is to see.
        let asked = entry.verb == "create" && !entry.subresource.is_empty();
        if asked || entry.verb.starts_with("delete") {
            paths = BTreeSet::from([String::new()]);
        }
        let resource = resource(entry);
        found.extend(paths.into_iter().map(|path| Touch {
            resource: resource.clone(),
            verb: entry.verb.clone(),
            path,
        }));
    }
    found
}

/// Whether they were different or not.
fn named(entry: &AuditEntry) -> Vec<String> {
    let Some(patch) = &entry.request else { return Vec::new() };
    if let Value::Array(steps) = patch {
        let pointers = steps.iter().filter_map(|step| step["path"].as_str());
        return pointers.map(|path| path.trim_start_matches('/').replace('/', ".")).collect();
    }
    fields(patch).into_keys().filter(|path| !is_pairs(path)).collect()
}

type Uid = String;
type History<'a> = BTreeMap<u64, &'a Value>;

fn histories(entries: &[AuditEntry]) -> BTreeMap<Uid, History<'_>> {
    let mut histories = BTreeMap::<Uid, History<'_>>::new();
    for object in entries.iter().filter_map(object) {
        if let Some((uid, version)) = identity(object) {
            histories.entry(uid).or_default().entry(version).or_insert(object);
        }
    }
    histories
}

fn object(entry: &AuditEntry) -> Option<&Value> {
    entry.response.as_ref().filter(|_| entry.is_write() && entry.code < 300)
}

fn identity(object: &Value) -> Option<(Uid, u64)> {
    let metadata = &object["metadata"];
    let version = metadata["resourceVersion"].as_str()?.parse().ok()?;
    Some((metadata["uid"].as_str()?.to_owned(), version))
}

fn resource(entry: &AuditEntry) -> String {
    let AuditEntry { group, resource, subresource, .. } = entry;
    let dot = if group.is_empty() { "" } else { "." };
    let slash = if subresource.is_empty() { "" } else { "/" };
    format!("{resource}{dot}{group}{slash}{subresource}")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn entry(agent: &str, verb: &str, request: &Value, response: Option<Value>) -> AuditEntry {
        AuditEntry {
            audit_id: String::new(),
            received: Timestamp::UNIX_EPOCH,
            completed: Timestamp::UNIX_EPOCH,
            user: String::new(),
            user_agent: agent.to_owned(),
            verb: verb.to_owned(),
            group: "x.io".to_owned(),
            resource: "things".to_owned(),
            subresource: String::new(),
            namespace: "ns".to_owned(),
            name: "thing".to_owned(),
            code: if response.is_some() { 200 } else { 409 },
            request_uri: String::new(),
            request: Some(request.clone()),
            response,
        }
    }

    fn thing(version: u32, spec: &Value) -> Value {
        json!({"metadata": {"uid": "u", "resourceVersion": version.to_string()}, "spec": spec})
    }

    fn paths(entries: &[AuditEntry]) -> Vec<String> {
        let touched = touches(entries, |entry| entry.user_agent == "us");
        touched.into_iter().map(|touch| touch.to_string()).collect()
    }

    #[test]
    fn what_others_changed_in_between_is_not_ours() {
        let empty = json!({});
        let log = [
            entry("user", "create", &empty, Some(thing(1, &json!({"a": 1, "b": 1})))),
            // In the order in which they ended, not in which they happened.
            entry("us", "update", &empty, Some(thing(3, &json!({"a": 2, "b": 2})))),
            entry("user", "update", &empty, Some(thing(2, &json!({"a": 2, "b": 1})))),
        ];
        assert_eq!(paths(&log), ["update things.x.io spec.b"]);
    }

    #[test]
    fn what_a_patch_names_counts_also_if_it_is_refused_or_changes_nothing() {
        let patch =
            json!({"metadata": {"uid": "u", "resourceVersion": "1"}, "spec": {"a": 1, "c": null}});
        let same = thing(1, &json!({"a": 1}));
        let log = [entry("us", "patch", &patch, Some(same)), entry("us", "patch", &patch, None)];
        assert_eq!(paths(&log), ["patch things.x.io spec.a", "patch things.x.io spec.c"]);
        let steps = json!([{"op": "add", "path": "/spec/d"}]);
        assert_eq!(paths(&[entry("us", "patch", &steps, None)]), ["patch things.x.io spec.d"]);
    }

    #[test]
    fn a_write_that_changes_nothing_does_not_answer_for_the_one_before_it() {
        let (empty, user) = (json!({}), Some(thing(2, &json!({"a": 2}))));
        let log = [
            entry("user", "create", &empty, Some(thing(1, &json!({"a": 1})))),
            entry("user", "update", &empty, user.clone()),
            entry("us", "update", &empty, user),
        ];
        assert_eq!(paths(&log), [""; 0]);
    }

    #[test]
    fn the_last_write_of_an_object_that_goes_does_not_answer_for_the_one_before_it() {
        let (empty, last) = (json!({}), Some(thing(2, &json!({"a": 2}))));
        let release = json!({"metadata": {"finalizers": []}});
        let log = [
            entry("us", "create", &empty, Some(thing(1, &json!({"a": 1})))),
            entry("us", "update", &empty, last.clone()),
            entry("us", "patch", &release, last),
        ];
        let expected = [
            "create things.x.io spec.a",
            "patch things.x.io metadata.finalizers",
            "update things.x.io spec.a",
        ];
        assert_eq!(paths(&log), expected);
    }

    #[test]
    fn a_deletion_is_a_touch_without_a_field() {
        let log = [entry("us", "delete", &json!({}), Some(thing(5, &json!({"a": 1}))))];
        assert_eq!(paths(&log), ["delete things.x.io "]);
    }

    #[test]
    fn what_has_no_object_is_a_touch_without_a_field() {
        let mut eviction = entry("us", "create", &json!({}), Some(json!({"kind": "Status"})));
        eviction.subresource = "eviction".to_owned();
        assert_eq!(paths(&[eviction]), ["create things.x.io/eviction "]);
    }
}
