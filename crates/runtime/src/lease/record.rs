//! A Lease as it stands in the cluster.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::resource::LEASES;
use machinist_api::wire::Metadata;
use machinist_domain::key::ObjectKey;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a Lease says. `renewTime` is not here: it is somebody else's clock, and nothing is decided by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// Who holds it; empty if nobody does.
    pub(super) holder: String,
    /// How long it lasts without being renewed.
    pub(super) duration: Duration,
    /// How often it changed hands.
    pub(super) transitions: i64,
    /// When the holder got it, as the holder wrote it.
    pub(super) acquired: Option<String>,
    /// The version, for comparing and replacing.
    pub(super) version: String,
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
    pub(super) fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        let Wire { metadata, spec } = serde_json::from_slice(json)?;
        let seconds = spec.lease_duration_seconds.and_then(|s| u64::try_from(s).ok());
        Ok(Self {
            holder: spec.holder_identity.unwrap_or_default(),
            duration: Duration::from_secs(seconds.unwrap_or(0).max(1)),
            transitions: spec.lease_transitions.unwrap_or(0),
            acquired: spec.acquire_time,
            version: metadata.resource_version,
        })
    }

    /// The Lease in the hands of `holder`, as it is to be written over this one.
    pub(super) fn held_by(&self, holder: &str, duration: Duration, now: Timestamp) -> Spoken {
        let same = self.holder == holder;
        Spoken {
            holder: holder.to_owned(),
            duration,
            transitions: if same { self.transitions } else { self.transitions + 1 },
            acquired: self.acquired.clone().filter(|_| same).unwrap_or_else(|| micro(now)),
            renewed: micro(now),
            version: Some(self.version.clone()),
        }
    }

    /// The Lease in nobody's hands: whoever comes next need not wait.
    pub(super) fn released(&self, now: Timestamp) -> Spoken {
        Spoken {
            holder: String::new(),
            duration: Duration::from_secs(1),
            transitions: self.transitions,
            acquired: micro(now),
            renewed: micro(now),
            version: Some(self.version.clone()),
        }
    }
}

/// A Lease as we write it.
#[derive(Debug)]
pub(super) struct Spoken {
    holder: String,
    duration: Duration,
    transitions: i64,
    acquired: String,
    renewed: String,
    /// The version that it replaces; `None` where it is created.
    version: Option<String>,
}

impl Spoken {
    /// A Lease that nobody has created yet.
    pub(super) fn first(holder: &str, duration: Duration, now: Timestamp) -> Self {
        let now = micro(now);
        Self {
            holder: holder.to_owned(),
            duration,
            transitions: 0,
            acquired: now.clone(),
            renewed: now,
            version: None,
        }
    }

    pub(super) fn to_json(&self, key: &ObjectKey) -> Value {
        let mut metadata = json!({"namespace": &*key.namespace, "name": &*key.name});
        if let Some(version) = &self.version {
            metadata["resourceVersion"] = json!(version);
        }
        json!({
            "apiVersion": LEASES.api_version(),
            "kind": LEASES.kind,
            "metadata": metadata,
            "spec": {
                "holderIdentity": self.holder,
                // Rounded up: a follower that waits longer is slow, one that waits shorter is wrong.
                "leaseDurationSeconds": self.duration.as_secs() + u64::from(self.duration.subsec_nanos() > 0),
                "leaseTransitions": self.transitions,
                "acquireTime": self.acquired,
                "renewTime": self.renewed,
            },
        })
    }
}

fn micro(time: Timestamp) -> String {
    format!("{time:.6}")
}
