//! `machinist rollout` beside a running controller: what it prints, what it changes, and its exit codes.

use std::process::Output;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use machinist_api::names::{
    ANNOTATION_CHANGE_CAUSE, ANNOTATION_RESTARTED_AT, ANNOTATION_REVISION, LABEL_CLUSTER,
};
use machinist_testbed::service_account;
use machinist_testbed::world::reading::condition;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::fleet::{Fleet, machine_spec};
use crate::processes::support::process::{file_with, run_to_end};
use crate::processes::support::world::{AnnotatorWorld, control_plane};

const FLAGS: [&str; 3] = [
    "--controllers=machine,machineset,machinedeployment,nodelink",
    "--leader-elect=false",
    "--time-scale=0.05",
];

/// A fleet and the kubeconfig of its user.
struct Rollouts {
    fleet: Fleet,
    kubeconfig: NamedTempFile,
}

impl Rollouts {
    async fn new(name: &str) -> Result<Self> {
        let fleet = Fleet::start(AnnotatorWorld::new(name).await?).await?;
        let kubeconfig = file_with(control_plane().await?.kubeconfig_yaml())?;
        Ok(Self { fleet, kubeconfig })
    }

    /// Runs `machinist rollout` in the namespace of the fleet.
    async fn rollout(&self, arguments: &[&str]) -> Result<Answer> {
        self.rollout_as(&self.kubeconfig, arguments).await
    }

    async fn rollout_as(&self, user: &NamedTempFile, arguments: &[&str]) -> Result<Answer> {
        let kubeconfig = user.path().to_string_lossy();
        let common = ["-n", &self.fleet.namespace, "--kubeconfig", &kubeconfig];
        let output = run_to_end(None, &[&["rollout"], arguments, &common].concat()).await?;
        Answer::of(&output)
    }

    async fn create(&self, name: &str, replicas: u32) -> Result<()> {
        let template = json!({
            "metadata": {"labels": {"app": name, LABEL_CLUSTER: "c"}},
            "spec": machine_spec(&json!({"instanceType": "sim.small"})),
        });
        let selector = json!({"matchLabels": {"app": name}});
        let spec = json!({"replicas": replicas, "selector": selector, "template": template});
        let metadata = json!({"annotations": {ANNOTATION_CHANGE_CAUSE: "first"}});
        self.fleet.create_machine_deployment(name, metadata, spec).await?;
        Ok(())
    }

    /// Another type of instances, as `kubectl edit` changes it.
    async fn resize(&self, name: &str, instance_type: &str, cause: &str) -> Result<()> {
        let machine = json!({"providerSpec": {"value": {"instanceType": instance_type}}});
        let metadata = json!({"annotations": {ANNOTATION_CHANGE_CAUSE: cause}});
        let spec = json!({"template": {"spec": machine}});
        self.fleet.patch_deployment(name, json!({"metadata": metadata, "spec": spec})).await
    }

    async fn deployment(&self, name: &str) -> Result<DynamicObject> {
        Ok(self.fleet.deployments().get(name).await?)
    }

    async fn instance_type(&self, name: &str) -> Result<Value> {
        let deployment = self.deployment(name).await?;
        let path = "/spec/template/spec/providerSpec/value/instanceType";
        deployment.data.pointer(path).cloned().context("no type")
    }
}

#[derive(Debug)]
struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Answer {
    fn of(output: &Output) -> Result<Self> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec());
        let (stdout, stderr) = (text(&output.stdout)?, text(&output.stderr)?);
        Ok(Self { code: output.status.code(), stdout, stderr })
    }

    /// The exit code, and this text on stdout.
    fn says(self, code: i32, text: &str) -> Result<Self> {
        ensure!(self.code == Some(code) && self.stdout.contains(text), "not {text:?}: {self:?}");
        Ok(self)
    }

    /// Exit 1, and this text on stderr.
    fn fails(self, text: &str) -> Result<Self> {
        ensure!(self.code == Some(1) && self.stderr.contains(text), "not {text:?}: {self:?}");
        Ok(self)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_is_watched_undone_and_restarted() -> Result<()> {
    let at = Rollouts::new("rollout").await?;
    let kubeconfig = control_plane().await?.kubeconfig_yaml();
    let namespace = at.fleet.namespace.clone();
    let flags = [&FLAGS[..], &["--namespace", &namespace]].concat();
    let mut process = at.fleet.process(kubeconfig, &flags).await?;
    at.create("web", 2).await?;
    let status = at.rollout(&["status", "machinedeployment/web", "--timeout=90s"]).await?;
    status.says(0, "machinedeployment \"web\" successfully rolled out\n")?;
    let first = at.fleet.running(2).await?;

    at.resize("web", "sim.medium", "bigger").await?;
    let status = at.rollout(&["status", "md/web", "--timeout=90s"]).await?;
    let status = status.says(0, "successfully rolled out")?;
    ensure!(status.stdout.contains("Waiting for machinedeployment"), "{status:?}");
    at.rollout(&["status", "web", "--revision=2"]).await?.says(0, "successfully rolled out")?;
    at.rollout(&["status", "web", "--revision=1"]).await?.fails("is 2, and not 1")?;
    let second = at.fleet.running(2).await?;

    let history = at.rollout(&["history", "web"]).await?.says(0, "CHANGE-CAUSE")?;
    let rows: Vec<_> = history.stdout.lines().skip(2).collect();
    ensure!(rows.len() == 2 && rows[0].starts_with("1 ") && rows[0].contains("first"), "{rows:?}");
    ensure!(rows[1].starts_with("2 *") && rows[1].contains("bigger"), "{rows:?}");
    ensure!(rows[1].contains("instanceType: sim.small → sim.medium"), "{rows:?}");
    let details = at.rollout(&["history", "md/web", "--revision=2"]).await?;
    details.says(0, "+ spec.template.spec.providerSpec.value.instanceType: sim.medium")?;
    let json = at.rollout(&["history", "web", "--revision=1", "-o", "json"]).await?.says(0, "{")?;
    let json: Value = serde_json::from_str(&json.stdout)?;
    let value = &json["template"]["spec"]["providerSpec"]["value"];
    ensure!(json["changeCause"] == "first" && value["instanceType"] == "sim.small", "{json}");
    at.rollout(&["history", "web", "--revision=7"]).await?.fails("there are revisions 1, 2")?;

    // Back, and what was planned first is not done.
    let dry = at.rollout(&["undo", "web", "--dry-run"]).await?;
    dry.says(0, "would be rolled back to revision 1 (dry run)")?;
    let checked = at.rollout(&["undo", "md", "web", "--dry-run=server"]).await?;
    checked.says(0, "would be rolled back to revision 1 (server dry run)")?;
    ensure!(at.instance_type("web").await? == "sim.medium", "a dry run wrote");
    let undone = at.rollout(&["undo", "web"]).await?;
    undone.says(0, "machinedeployment.machine.openshift.io/web rolled back to revision 1\n")?;
    ensure!(at.instance_type("web").await? == "sim.small", "the template");
    let web = at.rollout(&["status", "web", "--timeout=90s"]).await;
    web?.says(0, "successfully rolled out")?;
    let web = at.deployment("web").await?;
    let annotations = web.metadata.annotations.unwrap_or_default();
    ensure!(annotations[ANNOTATION_REVISION] == "3", "{annotations:?}");
    ensure!(annotations[ANNOTATION_CHANGE_CAUSE] == "first", "{annotations:?}");
    let third = at.fleet.running(2).await?;
    let new = |old: &[(String, String)]| third.iter().all(|machine| !old.contains(machine));
    ensure!(new(&first) && new(&second), "{first:?} {second:?} {third:?}");
    let again = at.rollout(&["undo", "web", "--to-revision=3"]).await?;
    again.says(0, "skipped rollback (current template already matches revision 3)")?;
    at.rollout(&["undo", "web", "--to-revision=1"]).await?.fails("there are revisions 2, 3")?;
    at.rollout(&["undo", "web", "--to-revision=2"]).await?.says(0, "rolled back to revision 2")?;
    at.rollout(&["status", "web", "--timeout=90s"]).await?.says(0, "successfully")?;
    ensure!(at.instance_type("web").await? == "sim.medium", "the second template");

    let before = at.fleet.running(2).await?;
    at.rollout(&["restart", "web"]).await?.says(0, "/web restarted\n")?;
    at.rollout(&["status", "web", "--timeout=90s"]).await?.says(0, "successfully")?;
    let after = at.fleet.running(2).await?;
    ensure!(after.iter().all(|machine| !before.contains(machine)), "{before:?} {after:?}");
    let stamp = format!("template.metadata.annotations[{ANNOTATION_RESTARTED_AT}]");
    let details = at.rollout(&["history", "web", "--revision=5"]).await?;
    details.says(0, &stamp)?;
    process.ensure_alive()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_rollout_waits_and_is_not_undone() -> Result<()> {
    let at = Rollouts::new("rollout-paused").await?;
    let kubeconfig = control_plane().await?.kubeconfig_yaml();
    let namespace = at.fleet.namespace.clone();
    let flags = [&FLAGS[..], &["--namespace", &namespace]].concat();
    let _process = at.fleet.process(kubeconfig, &flags).await?;
    at.create("web", 1).await?;
    at.rollout(&["status", "web", "--timeout=90s"]).await?.says(0, "successfully")?;
    at.rollout(&["resume", "web"]).await?.fails("is not paused")?;
    at.rollout(&["undo", "web"]).await?.fails("no earlier revision; there is only revision 1")?;
    at.rollout(&["pause", "web"]).await?.says(0, "/web paused\n")?;
    at.rollout(&["pause", "web"]).await?.fails("is already paused")?;
    at.resize("web", "sim.medium", "bigger").await?;
    let held = |web: &DynamicObject| {
        condition(web, "Progressing") == "Unknown/DeploymentPaused"
            && web.data["status"]["observedGeneration"].as_i64() == web.metadata.generation
    };
    at.fleet.until_deployment("web", "the pause", held).await?;
    let waiting = at.rollout(&["status", "web", "--watch=false"]).await?;
    waiting.says(0, "0 out of 1 new Machines")?;
    let waited = at.rollout(&["status", "web", "--timeout=5s"]).await?;
    waited.fails("timed out after 5s: Waiting for machinedeployment \"web\"")?;
    let undo = at.rollout(&["undo", "web", "--to-revision=1"]).await?;
    undo.fails("run machinist rollout resume web first (there is only revision 1)")?;
    at.rollout(&["restart", "web"]).await?.fails("cannot restart paused")?;
    at.rollout(&["resume", "web"]).await?.says(0, "/web resumed\n")?;
    at.rollout(&["status", "web", "--timeout=90s"]).await?.says(0, "successfully")?;

    // New Machines that fail stop it until it is resumed or undone.
    let broken = json!({"spec": {"providerSpec": {"value": {"bootSeconds": "soon"}}}});
    let strategy = json!({"rollingUpdate": {"abort": {}}});
    let spec = json!({"strategy": strategy, "template": broken});
    at.fleet.patch_deployment("web", json!({"spec": spec})).await?;
    let aborted = at.rollout(&["status", "web", "--timeout=90s"]).await?;
    aborted.fails("is not rolled out. Rollout aborted: 1 new Machine failed")?;
    at.rollout(&["resume", "web"]).await?.says(0, "/web resumed\n")?;
    let goes_on = |web: &DynamicObject| condition(web, "Progressing").starts_with("True");
    at.fleet.until_deployment("web", "the rollout goes on", goes_on).await?;
    at.rollout(&["undo", "web"]).await?.says(0, "rolled back")?;
    at.rollout(&["status", "web", "--timeout=90s"]).await?.says(0, "successfully")?;

    // A spec that is refused is a failure, and so is a deployment that does not exist.
    at.fleet
        .patch_deployment("web", json!({"spec": {"selector": {"matchLabels": {"a": "b"}}}}))
        .await?;
    at.rollout(&["status", "web"]).await?.fails("does not match the labels")?;
    at.rollout(&["status", "none"]).await?.fails("\"none\" not found in namespace")?;
    let unknown = at.rollout(&["status", "deployment/web"]).await?;
    ensure!(unknown.code == Some(2) && unknown.stderr.contains("md/NAME"), "{unknown:?}");
    Ok(())
}

/// The rights that the docs list are enough, and each is needed.
#[tokio::test(flavor = "multi_thread")]
async fn the_rights_in_the_docs_are_enough() -> Result<()> {
    let at = Rollouts::new("rollout-rights").await?;
    at.create("web", 1).await?;
    let reader = user(&at, "reader", &["get", "list", "watch"], &["list"]).await?;
    let status = at.rollout_as(&reader, &["status", "web", "--watch=false"]).await?;
    status.says(0, "spec update to be observed")?;
    let status = at.rollout_as(&reader, &["status", "web", "--timeout=1s"]).await?;
    status.fails("timed out after 1s")?;
    at.rollout_as(&reader, &["history", "web"]).await?.says(0, "no rollout history found")?;
    at.rollout_as(&reader, &["pause", "web"]).await?.fails("403 Forbidden")?;
    let writer = user(&at, "writer", &["get", "patch"], &["list"]).await?;
    at.rollout_as(&writer, &["restart", "web"]).await?.says(0, "restarted")?;
    at.rollout_as(&writer, &["pause", "web"]).await?.says(0, "paused")?;
    at.rollout_as(&writer, &["undo", "web"]).await?.fails("there are no revisions")?;
    at.rollout_as(&writer, &["resume", "web"]).await?.says(0, "resumed")?;
    at.rollout_as(&writer, &["status", "web"]).await?.fails("cannot watch MachineDeployments")?;
    Ok(())
}

/// The kubeconfig of a ServiceAccount with these rights on machinedeployments and machinesets.
async fn user(at: &Rollouts, name: &str, own: &[&str], sets: &[&str]) -> Result<NamedTempFile> {
    let group = "machine.openshift.io";
    let allow = |plural: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [plural], "verbs": verbs});
    let (fleet, namespace) = (&at.fleet, &at.fleet.namespace);
    let create = PostParams::default();
    let accounts: Api<ServiceAccount> = fleet.api();
    let account = json!({"metadata": {"name": name}});
    accounts.create(&create, &serde_json::from_value(account)?).await?;
    let roles: Api<Role> = fleet.api();
    let allowed = [allow("machinedeployments", own), allow("machinesets", sets)];
    let definition = json!({"metadata": {"name": name}, "rules": allowed});
    roles.create(&create, &serde_json::from_value(definition)?).await?;
    let bindings: Api<RoleBinding> = fleet.api();
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    });
    bindings.create(&create, &serde_json::from_value(binding)?).await?;
    let control_plane = control_plane().await?;
    file_with(&service_account::kubeconfig(control_plane, namespace, name).await?)
}
