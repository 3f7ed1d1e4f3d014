//! The manifests of `deploy/recycler` give every right that is needed, and no more: two processes recycle a group as
//! their ServiceAccount, nothing that they ask for is forbidden, and a right that they did not use is one of which we
//! know when they would. They write exactly the fields that the recycler declares.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use machinist_controllers::recycler;
use machinist_testbed::audit::{AuditEntry, AuditLog};
use machinist_testbed::kubectl::kubectl;
use machinist_testbed::ownership;
use machinist_testbed::poll;
use machinist_testbed::process::Process;
use machinist_testbed::service_account;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::process;
use super::world::{PATIENCE, RecyclerWorld, audited};

pub(super) const NAMESPACE: &str = "kube-system";
pub(super) const ACCOUNT: &str = "kaws-operator";
const SIZES: [u32; 3] = [1, 3, 2];

/// Rights that this recycle may get by without, and when they are needed.
const RARE: [&str; 7] = [
    // Read live where the cache and a later list do not agree.
    "get events",
    "get pods",
    // Where its kind exists: on OpenShift.
    "get infrastructures.config.openshift.io",
    "list infrastructures.config.openshift.io",
    "watch infrastructures.config.openshift.io",
    // Where a pod is on the node that a DaemonSet owns.
    "list daemonsets.apps",
    // Where volumes are attached to the node while pods stay that have claims.
    "list persistentvolumeclaims",
];

#[test]
fn a_group_is_recycled_with_the_rights_of_the_manifests_and_no_more() -> Result<()> {
    audited(async |world| {
        let documents = install(world).await?;
        let deployment = documents.iter().find(|one| one["kind"] == "Deployment");
        let deployment = deployment.context("a Deployment")?;
        let names = [&deployment["metadata"]["name"], &deployment["metadata"]["namespace"]];
        assert_eq!(names, [ACCOUNT, NAMESPACE]);
        assert_eq!(deployment["spec"]["replicas"], 3);
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(
            container["args"],
            json!(["run", "--controllers=recycler", "--log-format=json"])
        );

        let folder = TempDir::new()?;
        let kubeconfig = folder.path().join("kubeconfig");
        let config = service_account::kubeconfig(&world.control_plane, NAMESPACE, ACCOUNT).await?;
        std::fs::write(&kubeconfig, config)?;
        let start = || {
            let flags = ["--time-scale=0.2"];
            process::start(&kubeconfig, &world.cloud, world.estate.region(), &flags)
        };
        let mut leader = start()?;
        led_by(world, &leader).await?;
        let mut follower = start()?;
        let old = world.group("workers", SIZES).await?;
        world.pod("on-workers", &old[0]).await?;
        world.create("workers", json!({})).await?;
        world.complain("workers", &old[0]).await?;
        world.at_step("workers", "Replacing").await?;
        leader.terminate().await?;
        led_by(world, &follower).await?;
        let past = world.ended("workers").await?;
        assert_eq!(past.status.as_deref(), Some("Succeeded"), "{past:?}");
        world.is_renewed("workers", SIZES, &old).await?;
        follower.terminate().await?;

        let rights = rights(&documents);
        let requests = requests(world, &rights).await?;
        let forbidden: Vec<_> = requests.iter().filter(|entry| entry.code == 403).collect();
        assert!(forbidden.is_empty(), "{forbidden:#?}");
        Ok(())
    })
}

/// What the folder has, taken by the API server.
pub(super) async fn install(world: &RecyclerWorld) -> Result<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/recycler");
    let folder = folder.to_string_lossy();
    let manifests = kubectl(&world.control_plane, &["kustomize", &folder], None).await?;
    kubectl(&world.control_plane, &["apply", "-f", "-"], Some(&manifests)).await?;
    Ok(serde_saphyr::from_multiple(&manifests)?)
}

async fn led_by(world: &RecyclerWorld, process: &Process) -> Result<()> {
    poll::eventually(PATIENCE, "the process to lead", || async {
        let holder = world.leader().await?;
        ensure!(process.is_called(&holder), "{holder:?} does");
        Ok(())
    })
    .await
}

/// What the account asked for, once every right but the rare ones was used and its writes match the declaration. The
/// log comes a moment after the answer, and that of a watch after its end.
async fn requests(world: &RecyclerWorld, rights: &BTreeSet<String>) -> Result<Vec<AuditEntry>> {
    let account = format!("system:serviceaccount:{NAMESPACE}:{ACCOUNT}");
    poll::eventually(PATIENCE, "every right to be used", || async {
        let mut all = AuditLog::of(&world.control_plane).read_new()?;
        let written = ownership::touches(&all, |entry| entry.user == account);
        ownership::compare(&ownership::claims(&recycler::DECLARATION), &written)?;
        all.retain(|entry| entry.user == account);
        for resource in ["events", "pods", "nodes", "eventrecyclers", "leases"] {
            let ended = |entry: &AuditEntry| entry.verb == "watch" && entry.resource == resource;
            ensure!(all.iter().any(ended), "no watch of {resource} has ended yet");
        }
        let exercised: BTreeSet<_> = all.iter().map(right).collect();
        let is_idle =
            |right: &&String| !exercised.contains(*right) && !RARE.contains(&right.as_str());
        let idle: Vec<_> = rights.iter().filter(is_idle).collect();
        ensure!(idle.is_empty(), "these rights were not used: {idle:?}");
        Ok(all)
    })
    .await
}

/// The right that a request needs.
fn right(entry: &AuditEntry) -> String {
    let AuditEntry { verb, group, resource, subresource, .. } = entry;
    let slash = if subresource.is_empty() { "" } else { "/" };
    named(verb, group, &format!("{resource}{slash}{subresource}"))
}

/// Everything that the roles allow, whatever the names that it is restricted to.
fn rights(documents: &[Value]) -> BTreeSet<String> {
    let words = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let is_role = |one: &&Value| one["kind"] == "Role" || one["kind"] == "ClusterRole";
    let rules = documents.iter().filter(is_role).filter_map(|role| role["rules"].as_array());
    let mut rights = BTreeSet::new();
    for rule in rules.flatten() {
        for (group, resource) in words(&rule["apiGroups"]).iter().flat_map(|group| {
            words(&rule["resources"]).into_iter().map(move |resource| (group.clone(), resource))
        }) {
            for verb in words(&rule["verbs"]) {
                rights.insert(named(&verb, &group, &resource));
            }
        }
    }
    rights
}

fn named(verb: &str, group: &str, resource: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("{verb} {resource}{dot}{group}")
}
