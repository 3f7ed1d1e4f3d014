//! A ServiceAccount with rights of its own.

use anyhow::Result;
use machinist_testbed::kubectl::kubectl;
use machinist_testbed::service_account;
use serde_json::{Value, json};

use super::world::Ec2World;

impl Ec2World {
    /// Creates an account in the world's namespace, bound to a ClusterRole with exactly these rules, and returns its
    /// kubeconfig.
    pub(crate) async fn account(&self, name: &str, rules: Value) -> Result<String> {
        let role = format!("{}-{name}", self.namespace);
        let rbac = "rbac.authorization.k8s.io";
        let subject = json!({"kind": "ServiceAccount", "name": name, "namespace": self.namespace});
        let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": name, "namespace": self.namespace},
            },
            {
                "apiVersion": format!("{rbac}/v1"),
                "kind": "ClusterRole",
                "metadata": {"name": role},
                "rules": rules,
            },
            {
                "apiVersion": format!("{rbac}/v1"),
                "kind": "ClusterRoleBinding",
                "metadata": {"name": role},
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
                "subjects": [subject],
            },
        ]});
        let control_plane = self.control_plane();
        kubectl(control_plane, &["apply", "-f", "-"], Some(&objects.to_string())).await?;
        service_account::kubeconfig(control_plane, &self.namespace, name).await
    }
}
