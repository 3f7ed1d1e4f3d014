//! `deploy/termination-handler`, rendered by kustomize and taken by a real API server, once for all tests.

use std::path::Path;

use anyhow::{Context, Result};
use machinist_control_plane::ControlPlane;
use machinist_testbed::kubectl::kubectl;
use machinist_testbed::service_account;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// The cluster, and the manifests.
pub(crate) struct Installation {
    pub(crate) control_plane: ControlPlane,
    /// The DaemonSet as the API server keeps it.
    daemon_set: Value,
    roles: Vec<Value>,
}

/// Started and installed by the first who asks.
pub(crate) async fn installation() -> &'static Installation {
    static SHARED: OnceCell<Installation> = OnceCell::const_new();
    SHARED.get_or_try_init(Installation::new).await.unwrap()
}

impl Installation {
    async fn new() -> Result<Self> {
        let control_plane = ControlPlane::start().await?;
        let manifests = render(&control_plane, "termination-handler").await?;
        let applied = ["apply", "-o", "json", "-f", "-"];
        let applied = kubectl(&control_plane, &applied, Some(&manifests)).await?;
        let applied: Value = serde_json::from_str(&applied)?;
        let objects = applied["items"].as_array().context("a list")?;
        let daemon_set = objects.iter().find(|one| one["kind"] == "DaemonSet");
        let daemon_set = daemon_set.context("a DaemonSet")?.clone();
        let is_role = |one: &&Value| one["kind"] == "ClusterRole" || one["kind"] == "Role";
        let roles = objects.iter().filter(is_role).cloned().collect();
        Ok(Self { control_plane, daemon_set, roles })
    }

    /// The pod that it makes.
    pub(crate) fn pod(&self) -> &Value {
        &self.daemon_set["spec"]["template"]["spec"]
    }

    /// What the kubelet would start.
    pub(crate) fn arguments(&self) -> Vec<&str> {
        let arguments = self.pod()["containers"][0]["args"].as_array().unwrap();
        arguments.iter().map(|argument| argument.as_str().unwrap()).collect()
    }

    /// A token of its account.
    pub(crate) async fn token(&self) -> Result<String> {
        let namespace = self.daemon_set["metadata"]["namespace"].as_str().context("a namespace")?;
        let account = self.pod()["serviceAccountName"].as_str().context("an account")?;
        service_account::token(&self.control_plane, namespace, account).await
    }
}

async fn render(control_plane: &ControlPlane, folder: &str) -> Result<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(folder);
    kubectl(control_plane, &["kustomize", &folder.to_string_lossy()], None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn it_runs_on_interruptible_nodes_in_the_network_of_the_host_and_without_other_privileges() {
    let installed = installation().await;
    let pod = installed.pod();
    let selector = &pod["nodeSelector"];
    assert_eq!(selector["machine.openshift.io/interruptible-instance"], "");
    assert_eq!(selector["kubernetes.io/os"], "linux");
    assert_eq!(pod["hostNetwork"], true);
    for other in ["hostPID", "hostIPC", "volumes"] {
        assert!(pod[other].is_null(), "{other}");
    }
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let container = &pod["containers"][0]["securityContext"];
    assert_eq!(container["capabilities"], json!({"drop": ["ALL"]}));
    assert_eq!(container["allowPrivilegeEscalation"], false);
    assert_eq!(container["readOnlyRootFilesystem"], true);
    let node_name = &pod["containers"][0]["env"][0];
    assert_eq!(node_name["name"], "NODE_NAME");
    assert_eq!(node_name["valueFrom"]["fieldRef"]["fieldPath"], "spec.nodeName");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_may_read_nodes_and_patch_their_status_and_nothing_else() {
    let roles = &installation().await.roles;
    let granted: Vec<_> = roles.iter().flat_map(|role| role["rules"].as_array().unwrap()).collect();
    assert_eq!(
        granted,
        [
            &json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}),
            &json!({"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]}),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn on_openshift_the_account_is_allowed_the_network_of_the_host_and_no_user_is_demanded() {
    let control_plane = &installation().await.control_plane;
    let manifests = render(control_plane, "overlays/openshift-termination-handler").await.unwrap();
    let objects: Vec<Value> = serde_saphyr::from_multiple(&manifests).unwrap();
    let find = |kind: &str| objects.iter().find(|one| one["kind"] == kind).unwrap();
    let template = &find("DaemonSet")["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"]["openshift.io/required-scc"], "hostnetwork-v2");
    assert!(template["spec"]["securityContext"]["runAsUser"].is_null());
    assert_eq!(template["spec"]["securityContext"]["runAsNonRoot"], true);
    // An empty selector of the namespace is used instead of the cluster's, which may leave spot nodes out.
    let namespace = find("Namespace");
    assert_eq!(namespace["metadata"]["annotations"]["openshift.io/node-selector"], "");
    assert_eq!(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "privileged");
    assert_eq!(find("RoleBinding")["roleRef"]["name"], "system:openshift:scc:hostnetwork-v2");
}
