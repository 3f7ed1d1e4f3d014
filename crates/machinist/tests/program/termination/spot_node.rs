//! A Node of its own for each test, the metadata service of its instance, and the handler that runs there.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use machinist_testbed::faults::{LogEntry, Match, Options, Proxy};
use machinist_testbed::imds::{INSTANCE_ACTION, Imds};
use machinist_testbed::poll::eventually;
use machinist_testbed::process::{Launch, Process};
use serde_json::{Value, json};

use crate::termination::installation::installation;

/// For what has no bound of its own: far more than it takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How long the handler may take to end: half of what an unanswered request may take, and far more than it takes.
pub(crate) const A_STOP: Duration = Duration::from_secs(15);

/// How often the metadata service is asked here.
const POLL: &str = "100ms";

const LOGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/termination");

/// A spot node.
pub(crate) struct SpotNode {
    name: &'static str,
    nodes: Api<Node>,
    pub(crate) imds: Imds,
    /// Between the handler and the API server.
    pub(crate) proxy: Proxy,
    /// With the rights of the DaemonSet's account.
    kubeconfig: String,
}

impl SpotNode {
    /// A Node as its kubelet registers it.
    pub(crate) async fn new(name: &'static str) -> Self {
        let node = Self::unregistered(name).await;
        node.register().await;
        node
    }

    /// A node whose kubelet has not written its status yet.
    pub(crate) async fn unregistered(name: &'static str) -> Self {
        let installed = installation().await;
        let client: Client = installed.control_plane.client().unwrap();
        let options = Options { pass_credentials: true };
        let proxy = Proxy::start_with(&installed.control_plane.kube_config(), options).await;
        let proxy = proxy.unwrap();
        let kubeconfig = proxy.kubeconfig_with_token(&installed.token().await.unwrap());
        let imds = Imds::start().await.unwrap();
        Self { name, nodes: Api::all(client), imds, proxy, kubeconfig }
    }

    pub(crate) async fn register(&self) {
        let label = "machine.openshift.io/interruptible-instance";
        let node = json!({"metadata": {"name": self.name, "labels": {label: ""}}});
        let node = serde_json::from_value(node).unwrap();
        self.nodes.create(&PostParams::default(), &node).await.unwrap();
        self.set_condition("Ready", "True").await;
        self.set_condition("MemoryPressure", "False").await;
    }

    pub(crate) async fn unregister(&self) {
        self.nodes.delete(self.name, &DeleteParams::default()).await.unwrap();
    }

    /// Another client sets a condition.
    pub(crate) async fn set_condition(&self, kind: &str, status: &str) {
        let condition = json!({"type": kind, "status": status, "reason": "OtherClient",
            "message": "said so", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
        self.nodes.patch_status(self.name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// The Node as it is.
    pub(crate) async fn read(&self) -> Result<Value> {
        Ok(serde_json::to_value(self.nodes.get(self.name).await?)?)
    }

    /// The condition, if the Node has it.
    pub(crate) async fn condition(&self, kind: &str) -> Result<Option<Value>> {
        let mut node = self.read().await?;
        let conditions = node["status"]["conditions"].as_array_mut().context("conditions")?;
        Ok(conditions.iter_mut().find(|one| one["type"] == kind).map(Value::take))
    }

    /// Waits until the condition is True.
    pub(crate) async fn becomes(&self, kind: &str) -> Value {
        let becomes = eventually(PATIENCE, kind, || async {
            let condition = self.condition(kind).await?.context("no such condition")?;
            ensure!(condition["status"] == "True", "{condition}");
            Ok(condition)
        });
        becomes.await.unwrap()
    }

    /// Waits until the handler has asked `path` so many times more, whatever the answers.
    pub(crate) async fn asked_again(&self, path: &str, times: usize) {
        let count = || self.imds.asked().iter().filter(|asked| asked.path == path).count();
        let enough = count() + times;
        let asked = eventually(PATIENCE, "more questions", || async {
            ensure!(count() >= enough, "{} of {enough}", count());
            Ok(())
        });
        asked.await.unwrap();
    }

    /// Waits until the handler has polled this many times in full.
    pub(crate) async fn polls(&self, times: usize) {
        self.asked_again(INSTANCE_ACTION, times + 1).await;
    }

    /// Everything that the handler wanted of the API server.
    pub(crate) fn requests(&self) -> Vec<LogEntry> {
        self.proxy.log().entries()
    }

    /// How often it wrote, or tried to.
    pub(crate) fn writes(&self) -> usize {
        self.proxy.log().matching(&Match::writes()).len()
    }

    /// Starts the handler as the kubelet would.
    pub(crate) fn start(&self, arguments: &[&str]) -> Process {
        let mut launch = Launch::new(env!("CARGO_BIN_EXE_machinist"), LOGS, self.name).unwrap();
        launch.kubeconfig(&self.kubeconfig).unwrap();
        launch
            .command
            .args(arguments)
            .args(["--imds-endpoint", &self.imds.endpoint(), "--poll-interval", POLL])
            .env("NODE_NAME", self.name);
        launch.start().unwrap()
    }

    /// Starts the handler as the DaemonSet does, and waits until it has polled for the first time.
    pub(crate) async fn handler(&self) -> Process {
        let handler = self.start(&installation().await.arguments());
        self.asked_again(INSTANCE_ACTION, 1).await;
        handler
    }
}
