//! A container of a manifest, started as the kubelet starts it, until its readiness probe succeeds.
//!
//! Only addresses differ: ports are free ones of the loopback interface, and the metadata service of EC2 is a stand-in.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::api::PostParams;
use kube::{Api, Client};
use machinist_control_plane::ControlPlane;
use machinist_testbed::imds::Imds;
use machinist_testbed::process::{Launch, Process};
use machinist_testbed::{http, service_account};
use serde_json::{Value, json};

use super::kustomization::Kustomization;
use crate::processes::support::time::PATIENCE;

const LOGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/image");
const PAUSE: Duration = Duration::from_millis(50);
/// The entry point of the image.
const ENTRY_POINT: &str = "/machinist";
/// What the handler writes to its Node for the stand-in's notice.
const NOTICE: &str = "RebalanceRecommended";

/// A container with the image of machinist.
#[derive(Debug)]
pub(super) struct Pod<'a> {
    /// Folder and workload.
    name: String,
    namespace: &'a str,
    account: &'a str,
    container: &'a Value,
}

impl fmt::Display for Pod<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl<'a> Pod<'a> {
    pub(super) fn all_of(kustomization: &'a Kustomization) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for workload in kustomization.workloads() {
            let name = text(&workload["metadata"]["name"])?;
            let template = &workload["spec"]["template"]["spec"];
            let containers = template["containers"].as_array().context("containers")?;
            for container in containers {
                ensure!(text(&container["image"])?.contains("/machinist:"), "{container}");
                all.push(Self {
                    name: format!("{}-{name}", kustomization.folder.replace('/', "-")),
                    namespace: text(&workload["metadata"]["namespace"])?,
                    account: text(&template["serviceAccountName"])?,
                    container,
                });
            }
        }
        Ok(all)
    }

    /// Starts it, waits until it is ready, and stops it.
    pub(super) async fn runs(
        &self,
        control_plane: &ControlPlane,
        program: &Path,
        metadata_service: &Imds,
    ) -> Result<()> {
        let variables = self.variables()?;
        let mut arguments = self.arguments(&variables)?;
        let verb = arguments.first().context("a verb")?.clone();
        let node = match verb.as_str() {
            "run" => {
                set(&mut arguments, "--metrics-bind-address", "127.0.0.1:0");
                set(&mut arguments, "--health-addr", "127.0.0.1:0");
                None
            }
            "termination-handler" => {
                set(&mut arguments, "--imds-endpoint", &metadata_service.endpoint());
                Some(self.node(control_plane.client()?).await?)
            }
            verb => bail!("how to see that `machinist {verb}` is ready is not known here"),
        };
        let mut launch = Launch::new(program, LOGS, &self.name)?;
        launch.kubeconfig(&self.kubeconfig(control_plane).await?)?;
        launch.command.args(&arguments).envs(&variables);
        let mut process = launch.start()?;
        match node {
            Some(nodes) => self.writes_the_notice(&mut process, &nodes).await?,
            None => self.is_ready(&mut process).await?,
        }
        let (status, _) = process.terminate().await?;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    }

    /// As in a pod: with the token of the account, and its namespace as the default.
    async fn kubeconfig(&self, control_plane: &ControlPlane) -> Result<String> {
        let text = service_account::kubeconfig(control_plane, self.namespace, self.account).await?;
        let mut kubeconfig: Value = serde_json::from_str(&text)?;
        kubeconfig["contexts"][0]["context"]["namespace"] = json!(self.namespace);
        Ok(kubeconfig.to_string())
    }

    fn variables(&self) -> Result<BTreeMap<String, String>> {
        let mut variables = BTreeMap::new();
        for one in self.container["env"].as_array().into_iter().flatten() {
            let field = one["valueFrom"]["fieldRef"]["fieldPath"].as_str();
            let value = match (one["value"].as_str(), field) {
                (Some(value), _) => expand(value, &variables),
                (None, Some("metadata.namespace")) => self.namespace.to_owned(),
                (None, Some("metadata.name" | "spec.nodeName")) => self.name.clone(),
                _ => bail!("what the kubelet would set is not known here: {one}"),
            };
            variables.insert(text(&one["name"])?.to_owned(), value);
        }
        Ok(variables)
    }

    fn arguments(&self, variables: &BTreeMap<String, String>) -> Result<Vec<String>> {
        let command = &self.container["command"];
        ensure!(command.is_null() || *command == json!([ENTRY_POINT]), "{command}");
        let arguments = self.container["args"].as_array().context("arguments")?;
        arguments.iter().map(|one| Ok(expand(text(one)?, variables))).collect()
    }

    /// Both probes of the manifest succeed, and each controller of `--controllers` works with all its rights.
    async fn is_ready(&self, process: &mut Process) -> Result<()> {
        let path = |probe: &str| text(&self.container[probe]["httpGet"]["path"]);
        let (alive, ready) = (path("livenessProbe")?, path("readinessProbe")?);
        until(process, "ready", async |process: &Process| {
            let address = serving(process, alive).await?;
            let (code, details) = http::get(address, ready).await?;
            // Not the bare number, which may be part of a process id in the name of a Lease's holder.
            let is_whole = !details.contains("answered 403") && !details.contains(" waits for ");
            ensure!(code == 200 && is_whole, "{ready} is {code}:\n{details}");
            let controllers = self.controllers()?;
            let lacks = |name: &&str| !details.contains(&format!("controller {name} runs"));
            let missing: Vec<_> = controllers.into_iter().filter(lacks).collect();
            ensure!(missing.is_empty(), "{missing:?} do not run:\n{details}");
            Ok(())
        })
        .await
    }

    fn controllers(&self) -> Result<Vec<&str>> {
        let arguments = self.container["args"].as_array().context("arguments")?;
        let mut arguments = arguments.iter().filter_map(Value::as_str);
        let named = arguments.find_map(|one| one.strip_prefix("--controllers="));
        Ok(named.context("--controllers=…")?.split(',').collect())
    }

    /// The Node that it runs on.
    async fn node(&self, client: Client) -> Result<Api<Node>> {
        let nodes = Api::<Node>::all(client);
        let node: Node = serde_json::from_value(json!({"metadata": {"name": self.name}}))?;
        nodes.create(&PostParams::default(), &node).await?;
        Ok(nodes)
    }

    /// It has no probes: that it works is seen on its Node.
    async fn writes_the_notice(&self, process: &mut Process, nodes: &Api<Node>) -> Result<()> {
        until(process, NOTICE, async |_: &Process| {
            let status = nodes.get(&self.name).await?.status.unwrap_or_default();
            let conditions = status.conditions.unwrap_or_default();
            let is_set = conditions.iter().any(|it| it.type_ == NOTICE && it.status == "True");
            ensure!(is_set, "the Node has {conditions:?}");
            Ok(())
        })
        .await
    }
}

/// The address that answers the liveness probe; another one serves metrics.
async fn serving(process: &Process, alive: &str) -> Result<SocketAddr> {
    let addresses = process.listening()?;
    for address in &addresses {
        if http::get(*address, alive).await.is_ok_and(|(code, _)| code == 200) {
            return Ok(*address);
        }
    }
    bail!("no answer to {alive} from {addresses:?}")
}

/// Waits for something, but not longer than the process lives.
async fn until(
    process: &mut Process,
    what: &str,
    check: impl AsyncFn(&Process) -> Result<()>,
) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        process.ensure_alive().with_context(|| process.log().unwrap_or_default())?;
        match check(process).await {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > end => {
                return Err(error.context(format!("not {what} after {PATIENCE:?}")));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Replaces the value of a flag, unless the manifest switches it off.
fn set(arguments: &mut Vec<String>, flag: &str, value: &str) {
    let given = format!("{flag}=");
    if arguments.iter().any(|one| *one == format!("{flag}=0")) {
        return;
    }
    arguments.retain(|one| !one.starts_with(&given));
    arguments.push(format!("{given}{value}"));
}

/// Replaces `$(NAME)`.
fn expand(text: &str, variables: &BTreeMap<String, String>) -> String {
    variables
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("$({name})"), value))
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().with_context(|| format!("{value} is no text"))
}
