//! `machinist orphans` on a cluster of its own, because it reads the Machines in all namespaces: what it lists and why,
//! what it deletes and what it never does.

use std::collections::BTreeSet;
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use kube::ResourceExt as _;
use kube::api::DeleteParams;
use machinist_control_plane::ControlPlane;
use machinist_provider_sim::wire::State;
use machinist_testbed::cluster;
use machinist_testbed::world::reading::node_of;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::fleet::Fleet;
use crate::processes::support::process::{Process, file_with, run_to_end_with};
use crate::processes::support::world::AnnotatorWorld;

const CLUSTER: &str = "--cluster-id=orphans-test";

struct Orphanage {
    control_plane: ControlPlane,
    fleet: Fleet,
    kubeconfig: NamedTempFile,
}

#[derive(Debug)]
struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Answer {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Self { code: output.status.code(), stdout, stderr }
    }

    fn exits(self, code: i32) -> Result<Self> {
        ensure!(self.code == Some(code), "not {code}: {self:?}");
        Ok(self)
    }

    fn says(self, code: i32, text: &str) -> Result<Self> {
        let answer = self.exits(code)?;
        let said = answer.stdout.contains(text) || answer.stderr.contains(text);
        ensure!(said, "not {text:?}: {answer:?}");
        Ok(answer)
    }

    fn json(self, code: i32) -> Result<Value> {
        let answer = self.exits(code)?;
        serde_json::from_str(&answer.stdout).with_context(|| format!("{answer:?}"))
    }
}

impl Orphanage {
    async fn new(name: &str) -> Result<Self> {
        let control_plane = cluster::control_plane().await?;
        let fleet = Fleet::start(AnnotatorWorld::on(&control_plane, name).await?).await?;
        let kubeconfig = file_with(control_plane.kubeconfig_yaml())?;
        Ok(Self { control_plane, fleet, kubeconfig })
    }

    async fn controllers(&self) -> Result<Process> {
        let flags = ["--controllers=machine,nodelink", "--leader-elect=false", "--time-scale=0.05"];
        let flags = [&flags[..], &[CLUSTER]].concat();
        self.fleet.process(self.control_plane.kubeconfig_yaml(), &flags).await
    }

    async fn orphans(&self, arguments: &[&str]) -> Result<Answer> {
        let arguments = [&["orphans", CLUSTER], arguments].concat();
        let kubeconfig = Some(self.kubeconfig.path());
        let variable = Some(self.fleet.variable());
        Ok(Answer::of(&run_to_end_with(kubeconfig, &arguments, variable).await?))
    }

    /// The reasons of the listed orphans by instance.
    async fn reasons(&self, arguments: &[&str]) -> Result<Vec<(String, String)>> {
        let listing = self.orphans(&[&["-o", "json"], arguments].concat()).await?.json(0)?;
        let instances = listing["instances"].as_array().context("instances")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(instances.iter().map(|one| (text(&one["instanceId"]), text(&one["reason"]))).collect())
    }

    /// Removes a Machine without its instance, as a user does who removes the finalizer.
    async fn abandon(&self, machine: &str) -> Result<()> {
        self.fleet.delete_machine(machine).await?;
        self.fleet.patch_machine(machine, json!({"metadata": {"finalizers": null}})).await?;
        self.fleet.until_gone(machine).await
    }

    fn live(&self) -> BTreeSet<String> {
        let instances = self.fleet.cloud().instances().into_iter();
        instances.filter(|one| one.state != State::Terminated).map(|one| one.id).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphan_is_listed_with_its_reason_and_deleted_on_request() -> Result<()> {
    let mut at = Orphanage::new("orphans").await?;
    let mut process = at.controllers().await?;
    for name in ["kept", "lost", "foreign"] {
        at.fleet.create_sim_machine(name, json!({})).await?;
    }
    let running = at.fleet.running(3).await?;
    at.orphans(&[]).await?.says(0, "No orphans with the tags of cluster orphans-test")?;
    let all = at.reasons(&["--all"]).await?;
    let needed = all.iter().filter(|(_, reason)| reason == "BelongsToMachine").count();
    ensure!((all.len(), needed) == (3, 3), "{all:?}");

    process.terminate().await?;
    let instance = |name: &str| {
        let found = running.iter().find(|(machine, _)| machine == name);
        found.map(|(_, node)| node.clone()).context("an instance is called like its Node")
    };
    let (kept, lost, foreign) = (instance("kept")?, instance("lost")?, instance("foreign")?);
    for machine in ["lost", "foreign"] {
        at.abandon(machine).await?;
    }
    ensure!(at.fleet.cloud().remove_tag(&foreign, "machinist.dev/made-by"), "no tag");
    let now = "--grace=0";
    ensure!(at.reasons(&[now]).await? == [(lost.clone(), "HasNode".to_owned())], "the Node");
    at.orphans(&["--delete", "--yes", now]).await?.says(0, "No instance with the tags")?;

    at.fleet.stop_kubelets();
    for node in [&lost, &foreign] {
        at.fleet.nodes().delete(node, &DeleteParams::default()).await?;
    }
    ensure!(at.reasons(&[]).await? == [(lost.clone(), "Young".to_owned())], "the grace period");
    let namespace = ["-n", &*at.fleet.namespace, now];
    let blocked = at.reasons(&namespace).await?;
    ensure!(blocked == [(lost.clone(), "Blocked".to_owned())], "{blocked:?}");
    let wide = at.orphans(&["-o", "wide", now]).await?.says(0, "Collectable")?;
    ensure!(wide.stdout.contains("machinist.dev/cluster=orphans-test"), "{wide:?}");
    ensure!(wide.stdout.contains(&lost) && !wide.stdout.contains(&foreign), "{wide:?}");

    at.orphans(&["--delete", now]).await?.says(2, "stdin is not a terminal; use --yes")?;
    ensure!(at.live().len() == 3, "deleted without confirmation");
    let results = at.orphans(&["--delete", "--yes", now, "-o", "json"]).await?;
    ensure!(results.stderr.contains("delete orphan"), "no audit line: {results:?}");
    let results = results.json(0)?;
    let expected = json!([{"instanceId": lost, "result": "Deleted", "message": null}]);
    ensure!(results["results"] == expected, "{results}");
    ensure!(at.live() == BTreeSet::from([kept, foreign]), "{:?}", at.live());
    let left = at.fleet.cloud().instance(&lost).map(|one| one.volumes).unwrap_or_default();
    ensure!(left.is_empty(), "{left:?}");
    at.orphans(&[now]).await?.says(0, "No orphans")?;
    Ok(())
}

/// The command ends before the instance does, as when it is interrupted. Its volume is deleted after the instance.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_deletion_is_continued_by_the_same_command() -> Result<()> {
    let mut at = Orphanage::new("orphans-again").await?;
    let mut process = at.controllers().await?;
    // It names where to look when the Machine is gone.
    at.fleet.create_sim_set("empty", json!({})).await?;
    at.fleet.create_sim_machine("m", json!({"stopSeconds": 3})).await?;
    let node = at.fleet.running(1).await?.remove(0).1;
    process.terminate().await?;
    at.abandon("m").await?;
    at.fleet.stop_kubelets();
    at.fleet.nodes().delete(&node, &DeleteParams::default()).await?;

    let delete = ["--delete", "--yes", "--grace=0", "-o", "json"];
    let first = at.orphans(&[&delete[..], &["--timeout=0"]].concat()).await?.json(0)?;
    ensure!(first["results"][0]["result"] == "Terminating", "{first}");
    ensure!(at.fleet.cloud().volumes() > 0, "nothing is left to do");
    let second = at.orphans(&delete).await?.json(0)?;
    ensure!(second["results"][0]["result"] == "Deleted", "{second}");
    ensure!((at.live().len(), at.fleet.cloud().volumes()) == (0, 0), "{:?}", at.live());
    Ok(())
}

/// Without a grace period the order of the reads alone protects them: the Machines are read after the list of the
/// cloud.
#[tokio::test(flavor = "multi_thread")]
async fn machines_in_creation_keep_their_instances() -> Result<()> {
    let at = Orphanage::new("orphans-race").await?;
    let _process = at.controllers().await?;
    let names: Vec<_> = (0..8).map(|number| format!("m{number}")).collect();
    let create = async {
        for name in &names {
            at.fleet.create_sim_machine(name, json!({"bootSeconds": 1})).await?;
            tokio::task::yield_now().await;
        }
        at.fleet.running(names.len()).await
    };
    let delete = async {
        let mut passes = 0;
        loop {
            let answer = at.orphans(&["--delete", "--yes", "--grace=0", "-o", "json"]).await?;
            let results = answer.json(0)?;
            ensure!(results["results"] == json!([]), "deleted: {results}");
            passes += 1;
            if passes >= 4 && at.fleet.cloud().created() == names.len() {
                return Ok(());
            }
        }
    };
    let (created, deleted) = tokio::join!(create, delete);
    deleted?;
    let machines = at.fleet.all_machines().await?;
    let nodes: Vec<_> =
        machines.iter().map(|one| (one.name_any(), node_of(one).to_owned())).collect();
    ensure!(created?.len() == nodes.len(), "{nodes:?}");
    ensure!(at.fleet.cloud().created() == names.len(), "an instance was replaced");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_listed_is_unchecked() -> Result<()> {
    let at = Orphanage::new("orphans-unchecked").await?;
    let spec = json!({"credentialsSecret": {"name": "nowhere"}});
    at.fleet.create_sim_machine("m", spec).await?;
    let answer = at.orphans(&[]).await?.says(1, "Unchecked: sim, sim-1, Secret")?;
    ensure!(answer.stdout.contains("nowhere does not exist"), "{answer:?}");
    let listing = at.orphans(&["-o", "json"]).await?.json(1)?;
    ensure!(listing["unchecked"].as_array().is_some_and(|all| all.len() == 1), "{listing}");
    at.fleet
        .patch_machine("m", json!({"spec": {"providerSpec": {"value": {"kind": "X"}}}}))
        .await?;
    at.orphans(&[]).await?.says(1, "no provider supports the provider spec's kind \"X\"")?;
    Ok(())
}
