//! What `deploy/` installs, rendered by kustomize and taken by a real API server; and the command line that its
//! Deployment says.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use kube::Client;
use machinist_control_plane::ControlPlane;
use machinist_testbed::kubectl::kubectl;
use machinist_testbed::service_account;
use serde_json::Value;

/// A variant of `deploy/`, installed.
#[derive(Debug)]
pub(crate) struct Installation {
    /// Where it was installed.
    pub(crate) namespace: String,
    /// Its ServiceAccount.
    pub(crate) account: String,
    container: Value,
    documents: Vec<Value>,
}

impl Installation {
    /// Installs a folder of `deploy/` as `kubectl apply -k` does.
    pub(crate) async fn apply(control_plane: &ControlPlane, folder: &str) -> Result<Self> {
        let manifests = kubectl(control_plane, &["kustomize", &path(folder)], None).await?;
        kubectl(control_plane, &["apply", "-f", "-"], Some(&manifests)).await?;
        let documents: Vec<Value> = serde_saphyr::from_multiple(&manifests)?;
        let deployment = documents.iter().find(|document| document["kind"] == "Deployment");
        let deployment = deployment.context("a Deployment")?;
        let pod = &deployment["spec"]["template"]["spec"];
        let namespace = text(&deployment["metadata"]["namespace"])?;
        let account = text(&pod["serviceAccountName"])?;
        let container = pod["containers"][0].clone();
        Ok(Self { namespace, account, container, documents })
    }

    /// What the kubelet would put after `machinist run`.
    pub(crate) fn flags(&self) -> Result<Vec<String>> {
        let field = &self.container["env"][0];
        ensure!(field["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.namespace", "{field}");
        let variable = format!("$({})", text(&field["name"])?);
        let arguments = self.container["args"].as_array().context("arguments")?;
        let arguments = arguments.iter().map(text).collect::<Result<Vec<_>>>()?;
        let (verb, flags) = arguments.split_first().context("a verb")?;
        ensure!(verb == "run", "{verb}");
        Ok(flags.iter().map(|flag| flag.replace(&variable, &self.namespace)).collect())
    }

    /// Everything that its roles allow, as `verb resource.group/subresource`, whatever the names that it is restricted
    /// to.
    pub(crate) fn rights(&self) -> BTreeSet<String> {
        let is_role = |one: &&Value| one["kind"] == "Role" || one["kind"] == "ClusterRole";
        let roles = self.documents.iter().filter(is_role);
        let mut rights = BTreeSet::new();
        for rule in roles.filter_map(|role| role["rules"].as_array()).flatten() {
            for resource in words(&rule["resources"]) {
                for (group, verb) in product(&rule["apiGroups"], &rule["verbs"]) {
                    rights.insert(format!("{verb} {}", right_on(group, resource)));
                }
            }
        }
        rights
    }

    /// A client with the rights of its account.
    pub(crate) async fn client(&self, control_plane: &ControlPlane) -> Result<Client> {
        service_account::client(control_plane, &self.namespace, &self.account).await
    }

    /// A kubeconfig with the rights of its account.
    pub(crate) async fn kubeconfig(&self, control_plane: &ControlPlane) -> Result<String> {
        service_account::kubeconfig(control_plane, &self.namespace, &self.account).await
    }

    /// The user as the API server knows it.
    pub(crate) fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.account)
    }
}

/// A resource with its group and subresource, as in `machines.machine.openshift.io/status`.
pub(crate) fn right_on(group: &str, resource: &str) -> String {
    let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let dot = if group.is_empty() { "" } else { "." };
    let slash = if subresource.is_empty() { "" } else { "/" };
    format!("{plural}{dot}{group}{slash}{subresource}")
}

fn words(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn product<'a>(one: &'a Value, two: &'a Value) -> impl Iterator<Item = (&'a str, &'a str)> {
    words(one).flat_map(move |first| words(two).map(move |second| (first, second)))
}

/// Applies a single file of `deploy/`.
pub(crate) async fn apply_file(control_plane: &ControlPlane, file: &str) -> Result<()> {
    kubectl(control_plane, &["apply", "-f", &path(file)], None).await?;
    Ok(())
}

fn path(below_deploy: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(below_deploy);
    folder.to_string_lossy().into_owned()
}

fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().with_context(|| format!("{value} is no text"))?.to_owned())
}
