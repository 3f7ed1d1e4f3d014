use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::ANNOTATION_MIRROR_POD;
use machinist_api::wire;

use machinist_domain::key::{ObjectKey, Uid};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    pub key: ObjectKey,
    pub uid: Uid,
    /// Whether it is the mirror of a static pod.
    pub mirror: bool,
    pub daemon_set: Option<ObjectKey>,
    /// Whether its phase is Succeeded or Failed.
    pub finished: bool,
    pub priority: i32,
    pub termination: Option<Termination>,
    pub claims: Box<[Arc<str>]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Termination {
    /// The end of its grace period; `None` if the timestamp is invalid.
    pub ends: Option<Timestamp>,
    pub grace: Option<i64>,
}

impl Pod {
    pub(crate) fn of(wire: &wire::Pod) -> Self {
        let metadata = &wire.metadata;
        let owner = metadata.controller().filter(|owner| owner.kind == "DaemonSet");
        let claims = wire.spec.volumes.iter().filter_map(|volume| {
            if volume.ephemeral {
                return Some(format!("{}-{}", metadata.name, volume.name).into());
            }
            volume.persistent_volume_claim.as_ref().map(|claim| claim.claim_name.as_str().into())
        });
        Self {
            key: ObjectKey::new(metadata.namespace.as_str(), metadata.name.as_str()),
            uid: Uid(metadata.uid.as_str().into()),
            mirror: metadata.annotations.contains_key(ANNOTATION_MIRROR_POD),
            daemon_set: owner
                .map(|owner| ObjectKey::new(metadata.namespace.as_str(), owner.name.as_str())),
            finished: matches!(wire.status.phase.as_str(), "Succeeded" | "Failed"),
            priority: wire.spec.priority.unwrap_or(0),
            termination: metadata.deletion_timestamp.as_deref().map(|text| Termination {
                ends: text.parse().ok(),
                grace: metadata.deletion_grace_period_seconds,
            }),
            claims: claims.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn projects_a_pod() {
        let wire = serde_json::from_value(json!({
            "metadata": {
                "namespace": "ns", "name": "p", "uid": "u", "deletionTimestamp": "2026-01-02T03:04:05Z",
                "deletionGracePeriodSeconds": 30, "annotations": {"kubernetes.io/config.mirror": "x"},
                "ownerReferences": [{"kind": "DaemonSet", "name": "d", "controller": true}],
            },
            "spec": {"priority": 7, "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "claim"}},
                {"name": "own", "ephemeral": {"volumeClaimTemplate": {}}},
                {"name": "scratch", "emptyDir": {}},
            ]},
            "status": {"phase": "Failed"},
        }));
        let pod = Pod::of(&wire.unwrap());
        assert_eq!(pod.key.to_string(), "ns/p");
        assert!(pod.mirror && pod.finished);
        assert_eq!(pod.daemon_set, Some(ObjectKey::new("ns", "d")));
        assert_eq!(pod.priority, 7);
        assert_eq!(pod.claims, ["claim".into(), "p-own".into()].into());
        let ends = "2026-01-02T03:04:05Z".parse().ok();
        assert_eq!(pod.termination, Some(Termination { ends, grace: Some(30) }));
    }

    #[test]
    fn ignores_owners_that_are_not_the_controller() {
        let wire = serde_json::from_value(json!({"metadata": {
            "name": "p", "ownerReferences": [{"kind": "DaemonSet", "name": "d"}],
        }}));
        assert_eq!(Pod::of(&wire.unwrap()).daemon_set, None);
    }
}
