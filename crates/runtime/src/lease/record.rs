//! A Lease in the form of client-go. Other holders may store more in it (labels, owners, newer fields), which stays.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::ANNOTATION_HOLDER;
use machinist_api::resource::LEASES;
use machinist_api::wire::{Metadata, WatchLine};
use machinist_domain::key::ObjectKey;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::ApiError;

/// A Lease. `renewTime` is in `whole` only: it comes from another clock, and only that it changed shows a renewal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// Empty if there is none.
    pub(super) holder: String,
    /// `None` if the holder does not state it.
    duration: Option<Duration>,
    transitions: i64,
    acquired: Option<String>,
    pub(super) version: String,
    whole: Value,
}

#[derive(Deserialize)]
struct Wire {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    holder_identity: Option<String>,
    lease_duration_seconds: Option<i64>,
    lease_transitions: Option<i64>,
    acquire_time: Option<String>,
}

impl Record {
    pub(super) fn parse(json: &[u8]) -> Result<Self, ApiError> {
        let Wire { metadata, spec } = serde_json::from_slice(json)?;
        let whole: Value = serde_json::from_slice(json)?;
        // serde reads a struct from a list, too, in which fields cannot be set.
        if !whole["metadata"].is_object() {
            return Err(ApiError::NotUnderstood(whole.to_string()));
        }
        let seconds = spec.lease_duration_seconds.and_then(|seconds| seconds.try_into().ok());
        Ok(Self {
            holder: spec.holder_identity.unwrap_or_default(),
            duration: seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs),
            transitions: spec.lease_transitions.unwrap_or(0),
            acquired: spec.acquire_time,
            version: metadata.resource_version,
            whole,
        })
    }

    /// The Lease in a watch event; `None` if it was deleted.
    pub(super) fn from_watch(line: &[u8]) -> Result<Option<Self>, ApiError> {
        let line: WatchLine<'_> = serde_json::from_slice(line)?;
        match line.kind {
            "ADDED" | "MODIFIED" => Self::parse(line.object.get().as_bytes()).map(Some),
            "DELETED" => Ok(None),
            _ => Err(ApiError::NotUnderstood(line.object.get().to_owned())),
        }
    }

    /// The duration, or `default` if the holder states none.
    pub(super) fn lasts(&self, default: Duration) -> Duration {
        self.duration.unwrap_or(default)
    }

    pub(super) fn held_by(&self, holder: &str, duration: Duration, now: Timestamp) -> Value {
        let same = self.holder == holder;
        let acquired = self.acquired.clone().filter(|_| same).unwrap_or_else(|| micro(now));
        let transitions = self.transitions.saturating_add(i64::from(!same));
        update(self.whole.clone(), holder, duration, transitions, &acquired, now)
    }

    /// This Lease without a holder, so that the next one need not wait.
    pub(super) fn released(&self, now: Timestamp) -> Value {
        let duration = Duration::from_secs(1);
        update(self.whole.clone(), "", duration, self.transitions, &micro(now), now)
    }
}

pub(super) fn first(key: &ObjectKey, holder: &str, duration: Duration, now: Timestamp) -> Value {
    let lease = json!({
        "apiVersion": LEASES.api_version(),
        "kind": LEASES.kind,
        "metadata": {"namespace": &*key.namespace, "name": &*key.name},
    });
    update(lease, holder, duration, 0, &micro(now), now)
}

fn update(
    mut lease: Value,
    holder: &str,
    duration: Duration,
    transitions: i64,
    acquired: &str,
    now: Timestamp,
) -> Value {
    if !lease["spec"].is_object() {
        lease["spec"] = json!({});
    }
    if !holder.is_empty() {
        if !lease["metadata"]["annotations"].is_object() {
            lease["metadata"]["annotations"] = json!({});
        }
        lease["metadata"]["annotations"][ANNOTATION_HOLDER] = json!(holder);
    }
    let spec = &mut lease["spec"];
    spec["holderIdentity"] = json!(holder);
    // Rounded up: a follower that waits too short is wrong, one that waits too long only slow.
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    spec["leaseDurationSeconds"] = json!(seconds);
    spec["leaseTransitions"] = json!(transitions);
    spec["acquireTime"] = json!(acquired);
    spec["renewTime"] = json!(micro(now));
    lease
}

fn micro(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinist_testbed::fuzz::{done, feed};

    /// Anyone who may write the Lease decides what is in it.
    #[test]
    fn fuzz_leases() -> anyhow::Result<()> {
        let lease = r#"{"metadata": {"name": "x", "namespace": "n", "resourceVersion": "7", "annotations": {"a": "b"}},
            "spec": {"holderIdentity": "go", "leaseDurationSeconds": 137, "leaseTransitions": 3,
            "acquireTime": "2026-01-02T03:04:05.000006Z", "renewTime": "2026-01-02T03:04:05.000006Z"}}"#;
        let event = format!(r#"{{"type": "MODIFIED", "object": {lease}}}"#);
        feed(&[lease, &event], |bytes| {
            let seen = Record::from_watch(bytes).ok().flatten();
            for record in Record::parse(bytes).ok().into_iter().chain(seen) {
                let lasts = record.lasts(Duration::from_secs(15));
                let held = record.held_by("me", lasts, Timestamp::MAX);
                done((held, record.released(Timestamp::MIN)));
            }
        })
    }

    #[test]
    fn any_number_of_transitions_can_be_taken_over() {
        let lease = json!({"metadata": {}, "spec": {"leaseTransitions": i64::MAX}}).to_string();
        let record = Record::parse(lease.as_bytes()).unwrap();
        let mine = record.held_by("me", Duration::from_secs(15), Timestamp::UNIX_EPOCH);
        assert_eq!(mine["spec"]["leaseTransitions"], i64::MAX);
    }

    #[test]
    fn a_list_is_no_lease() {
        assert!(Record::parse(b"[[]]").is_err());
        assert!(Record::parse(br#"{"metadata": []}"#).is_err());
    }

    #[test]
    fn unknown_fields_of_the_lease_stay() {
        let theirs = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": "ns", "name": "x", "resourceVersion": "7", "labels": {"a": "b"}},
            "spec": {"holderIdentity": "go", "leaseDurationSeconds": 137, "leaseTransitions": 3,
                "acquireTime": "2026-01-02T03:04:05.000006Z", "strategy": "OldestEmulationVersion"},
        });
        let record = Record::parse(theirs.to_string().as_bytes()).unwrap();
        assert_eq!(record.lasts(Duration::ZERO), Duration::from_secs(137));
        let now = Timestamp::UNIX_EPOCH;
        let ours = record.held_by("me", Duration::from_millis(1500), now);
        let mut metadata = theirs["metadata"].clone();
        metadata["annotations"] = json!({"machinist.dev/holder": "me"});
        assert_eq!(ours["metadata"], metadata, "the version that it replaces among it");
        let spec = json!({"holderIdentity": "me", "leaseDurationSeconds": 2, "leaseTransitions": 4,
            "acquireTime": "1970-01-01T00:00:00.000000Z", "renewTime": "1970-01-01T00:00:00.000000Z",
            "strategy": "OldestEmulationVersion"});
        assert_eq!(ours["spec"], spec);
        // A renewal is no transition.
        let again = Record::parse(ours.to_string().as_bytes()).unwrap();
        let again = again.held_by("me", Duration::from_secs(2), Timestamp::MAX);
        assert_eq!(again["spec"]["leaseTransitions"], 4);
        assert_eq!(again["spec"]["acquireTime"], ours["spec"]["acquireTime"]);
    }
}
