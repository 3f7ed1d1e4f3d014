//! Names and paths of each kind. Names from the cluster are percent-encoded, so that none leaves its path segment.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: &'static str,
    pub version: &'static str,
    /// The name in paths, plural and lower case.
    pub plural: &'static str,
    pub kind: &'static str,
}

const fn resource(
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    kind: &'static str,
) -> Resource {
    Resource { group, version, plural, kind }
}

const fn core(plural: &'static str, kind: &'static str) -> Resource {
    resource("", "v1", plural, kind)
}

const MACHINE_API: &str = "machine.openshift.io";
pub const MACHINE_SETS: Resource = resource(MACHINE_API, "v1beta1", "machinesets", "MachineSet");
pub const MACHINE_DEPLOYMENTS: Resource =
    resource(MACHINE_API, "v1beta1", "machinedeployments", "MachineDeployment");
pub const MACHINE_HEALTH_CHECKS: Resource =
    resource(MACHINE_API, "v1beta1", "machinehealthchecks", "MachineHealthCheck");
pub const MACHINES: Resource = resource(MACHINE_API, "v1beta1", "machines", "Machine");
pub const INFRASTRUCTURES: Resource =
    resource("config.openshift.io", "v1", "infrastructures", "Infrastructure");
pub const FEATURE_GATES: Resource =
    resource("config.openshift.io", "v1", "featuregates", "FeatureGate");
pub const EVENT_RECYCLERS: Resource =
    resource("kaws.pischarti.dev", "v1beta1", "eventrecyclers", "EventRecycler");

pub const NODES: Resource = core("nodes", "Node");
pub const NAMESPACES: Resource = core("namespaces", "Namespace");
pub const PODS: Resource = core("pods", "Pod");
pub const PERSISTENT_VOLUME_CLAIMS: Resource =
    core("persistentvolumeclaims", "PersistentVolumeClaim");
pub const SECRETS: Resource = core("secrets", "Secret");
pub const CONFIG_MAPS: Resource = core("configmaps", "ConfigMap");
/// Events of the core group: the same objects as [`EVENTS`], with the older fields.
pub const CORE_EVENTS: Resource = core("events", "Event");

pub const DAEMON_SETS: Resource = resource("apps", "v1", "daemonsets", "DaemonSet");
pub const VOLUME_ATTACHMENTS: Resource =
    resource("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment");
pub const CUSTOM_RESOURCE_DEFINITIONS: Resource =
    resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition");
pub const LEASES: Resource = resource("coordination.k8s.io", "v1", "leases", "Lease");
pub const EVENTS: Resource = resource("events.k8s.io", "v1", "events", "Event");

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subresource {
    Status,
    Eviction,
}

impl fmt::Display for Subresource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Status => "status",
            Self::Eviction => "eviction",
        })
    }
}

/// The names of kinds that are only known at run time.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

fn kept(name: &str) -> &'static str {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into());
    names.insert(name);
    name
}

impl Resource {
    /// Stands for a kind that is only known at run time.
    pub const UNNAMED: Self = resource("", "", "", "");

    /// A kind that is only known at run time. Each name is kept for ever, once, so only served kinds may be named.
    pub fn named(group: &str, version: &str, plural: &str, kind: &str) -> Self {
        resource(kept(group), kept(version), kept(plural), kept(kind))
    }

    /// `group/version`, or the bare version for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The name of the CustomResourceDefinition that serves this kind, if it is one.
    pub fn crd_name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// The path of the collection in one namespace, or in all if `namespace` is `None`.
    pub fn collection_path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let mut path = format!("{root}/{}", self.api_version());
        if let Some(namespace) = namespace {
            path.push_str("/namespaces/");
            push_encoded(&mut path, namespace);
        }
        path.push('/');
        path.push_str(self.plural);
        path
    }

    /// The path of one object; `namespace` is empty for cluster-scoped kinds.
    pub fn object_path(&self, namespace: &str, name: &str) -> String {
        let mut path = self.collection_path(Some(namespace).filter(|n| !n.is_empty()));
        path.push('/');
        push_encoded(&mut path, name);
        path
    }

    pub fn subresource_path(&self, namespace: &str, name: &str, part: Subresource) -> String {
        format!("{}/{part}", self.object_path(namespace, name))
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plural)
    }
}

/// Appends a path segment or query value; everything but unreserved characters is escaped.
pub fn push_encoded(out: &mut String, raw: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in raw.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_namespaced_cluster_scoped_and_core_kinds() {
        assert_eq!(
            MACHINE_SETS.object_path("ns", "a"),
            "/apis/machine.openshift.io/v1beta1/namespaces/ns/machinesets/a"
        );
        assert_eq!(
            MACHINE_SETS.collection_path(None),
            "/apis/machine.openshift.io/v1beta1/machinesets"
        );
        assert_eq!(
            CUSTOM_RESOURCE_DEFINITIONS.object_path("", "x"),
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x"
        );
        assert_eq!(NODES.object_path("", "n"), "/api/v1/nodes/n");
        assert_eq!(NODES.api_version(), "v1");
    }

    #[test]
    fn a_kind_that_is_named_twice_is_the_same() {
        let named = || {
            let names = ["g.io", "v1", "fixes", "Fix"].map(str::to_owned);
            Resource::named(&names[0], &names[1], &names[2], &names[3])
        };
        assert_eq!(named(), named());
        assert!(std::ptr::eq(named().kind, named().kind));
        assert_eq!(named().object_path("ns", "a"), "/apis/g.io/v1/namespaces/ns/fixes/a");
    }

    #[test]
    fn paths_of_subresources() {
        assert_eq!(
            PODS.subresource_path("ns", "p", Subresource::Eviction),
            "/api/v1/namespaces/ns/pods/p/eviction"
        );
        assert_eq!(
            MACHINES.subresource_path("ns", "m", Subresource::Status),
            "/apis/machine.openshift.io/v1beta1/namespaces/ns/machines/m/status"
        );
        assert_eq!(NODES.subresource_path("", "n", Subresource::Status), "/api/v1/nodes/n/status");
    }

    #[test]
    fn hostile_name_stays_in_its_segment() {
        assert_eq!(
            MACHINE_SETS.object_path("ns", "../secrets/x?y"),
            "/apis/machine.openshift.io/v1beta1/namespaces/ns/machinesets/..%2Fsecrets%2Fx%3Fy"
        );
    }
}
