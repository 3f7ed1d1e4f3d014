//! The manifests of the controllers of machines give every right that is needed, and no more: real processes go
//! through a whole life as their ServiceAccount, nothing that they ask for is forbidden, and a right that they did not
//! use is one of which we know when they would.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use kube::Client;
use machinist_api::names::LEASE_MACHINE;
use machinist_control_plane::{ControlPlane, Options};
use machinist_testbed::audit::{AuditEntry, AuditLog};
use machinist_testbed::cluster;
use machinist_testbed::kubectl::kubectl;
use machinist_testbed::poll;
use serde_json::json;

use super::fleet::Fleet;
use super::life;
use super::rolls;
use crate::processes::rights::leases_come_first;
use crate::processes::support::access::{
    Attempt, answer, may_look_at, may_not_look_at, may_only_get,
};
use crate::processes::support::installation::{Installation, apply_file, right_on};
use crate::processes::support::time::PATIENCE;
use crate::processes::support::world::AnnotatorWorld;

/// On top of the Deployment's: things happen sooner.
pub(super) const SOONER: [&str; 2] = ["--leader-elect-lease-duration=3s", "--time-scale=0.05"];

/// The same, and machines may be Cluster API's.
pub(super) const FASTER: [&str; 3] =
    [SOONER[0], SOONER[1], "--feature-gates=MachineAPIMigration=true"];

/// Rights that this life may get by without, and when they are needed.
const RARE: [&str; 10] = [
    // A health check is read live when a write of its status was not answered.
    "get machinehealthchecks.machine.openshift.io",
    // A machine is read live when a write of it was not answered, or its name is taken.
    "get machines.machine.openshift.io",
    // A drain reads a Node live that its cache does not have, although the machine names it.
    "get nodes",
    // Watched where its kind exists: on OpenShift, and without the flag.
    "get featuregates.config.openshift.io",
    "list featuregates.config.openshift.io",
    "watch featuregates.config.openshift.io",
    // Watched where its kind exists: on OpenShift.
    "list infrastructures.config.openshift.io",
    // The API server looks whether it is there, when an owner reference blocks the deletion of the owner; no client
    // requests it.
    "update machinedeployments.machine.openshift.io/finalizers",
    "update machinesets.machine.openshift.io/finalizers",
    "watch infrastructures.config.openshift.io",
];

/// A control plane that is as strict about owner references as OpenShift's.
pub(super) async fn strict() -> Result<ControlPlane> {
    let flag = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";
    let options = Options { api_server_flags: vec![flag.to_owned()], ..Options::default() };
    let control_plane = ControlPlane::start_with(options).await?;
    cluster::install_crds(&control_plane).await?;
    Ok(control_plane)
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_live_and_die_with_the_rights_of_the_manifests_and_no_more() -> Result<()> {
    let control_plane = strict().await?;
    let world = AnnotatorWorld::called(&control_plane, "my-machines".to_owned()).await?;
    let fleet = Fleet::start(world).await?;
    let installation = Installation::apply(&control_plane, "machines").await?;
    apply_file(&control_plane, "examples/role-credentials.yaml").await?;
    apply_file(&control_plane, "examples/role-user-data.yaml").await?;
    show_a_token(&control_plane, &fleet).await?;

    let kubeconfig = installation.kubeconfig(&control_plane).await?;
    let flags = installation.flags()?;
    let flags: Vec<_> = flags.iter().map(String::as_str).chain(FASTER).collect();
    let mut leader = fleet.process(&kubeconfig, &flags).await?;
    leader.wait_metric(LEADS, |value| value > 0.5).await?;
    let mut follower = fleet.process(&kubeconfig, &flags).await?;
    follower.wait_ready_with("so controller machine follows").await?;

    let provider = json!({"credentialsSecret": {"name": "my-aws-credentials"}});
    life::grow(&fleet, provider).await?;
    leader.kill().await?;
    life::shrink(&fleet).await?;
    life::remediate(&fleet).await?;
    life::vanish(&fleet).await?;
    life::adopt(&fleet).await?;
    rolls::roll(&fleet).await?;
    life::fail(&fleet).await?;
    follower.terminate().await?;

    let rights = installation.rights();
    let requests = requests_of(&control_plane, &installation, &rights).await?;
    let forbidden: Vec<_> = requests.iter().filter(|entry| entry.code == 403).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    assert!(RARE.iter().all(|right| rights.contains(*right)), "not all of {RARE:?} are given");

    let account = installation.client(&control_plane).await?;
    let (world, lease) = (&fleet, LEASE_MACHINE);
    leases_come_first(world, &account, &installation, lease, life::SET).await?;
    nothing_else_is_allowed(&account).await?;
    // The annotator fits beside them, by itself and all in one; neither takes rights from the other.
    for folder in ["base", "all"] {
        Installation::apply(&control_plane, folder).await?;
        leases_come_first(world, &account, &installation, lease, life::SET).await?;
    }
    Ok(())
}

/// The series that shows whether a process leads the machines.
const LEADS: &str = r#"machinist_leader{controller="machine"}"#;

/// The cloud wants to see what is in a Secret.
async fn show_a_token(control_plane: &ControlPlane, fleet: &Fleet) -> Result<()> {
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "my-aws-credentials", "namespace": fleet.namespace},
        "stringData": {"token": "t"},
    });
    kubectl(control_plane, &["apply", "-f", "-"], Some(&secret.to_string())).await?;
    Ok(())
}

/// What the account asked for, once every right but the rare ones was used. The log comes a moment after the answer,
/// and that of a watch after its end.
async fn requests_of(
    control_plane: &ControlPlane,
    installation: &Installation,
    rights: &BTreeSet<String>,
) -> Result<Vec<AuditEntry>> {
    let account = installation.user();
    poll::eventually(PATIENCE, "every right to be used", || async {
        let mut requests = AuditLog::of(control_plane).read_new()?;
        requests.retain(|entry| entry.user == account);
        let watched = |entry: &AuditEntry| entry.verb == "watch" && entry.resource == "machines";
        ensure!(requests.iter().any(watched), "no watch of machines has ended yet");
        let exercised: BTreeSet<_> = requests.iter().map(right).collect();
        let is_idle =
            |right: &&String| !exercised.contains(*right) && !RARE.contains(&right.as_str());
        let idle: Vec<_> = rights.iter().filter(is_idle).collect();
        ensure!(idle.is_empty(), "these rights were not used: {idle:?}");
        Ok(requests)
    })
    .await
}

/// The right that a request needs.
fn right(entry: &AuditEntry) -> String {
    let AuditEntry { verb, group, resource, subresource, .. } = entry;
    let slash = if subresource.is_empty() { "" } else { "/" };
    format!("{verb} {}", right_on(group, &format!("{resource}{slash}{subresource}")))
}

async fn nothing_else_is_allowed(account: &Client) -> Result<()> {
    let secrets = "/api/v1/namespaces/my-machines/secrets";
    may_look_at(account, secrets, "my-aws-credentials").await?;
    may_not_look_at(account, secrets, "unrelated").await?;
    may_only_get(account, secrets, "my-user-data").await?;
    let elsewhere = "/api/v1/namespaces/kube-system/secrets";
    may_not_look_at(account, elsewhere, "my-aws-credentials").await?;
    may_not_look_at(account, "/api/v1/namespaces/my-machines/configmaps", "any").await?;
    may_not_look_at(account, "/apis/apps/v1/namespaces/my-machines/deployments", "any").await?;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/machinist-system/leases";
    may_not_look_at(account, leases, "machinist-annotator").await?;
    let elsewhere = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    may_not_look_at(account, elsewhere, "cluster-api-provider-aws-leader").await?;
    may_not_look_at(account, "/apis/config.openshift.io/v1/infrastructures", "other").await?;
    for (collection, name, attempt) in [
        (
            "/apis/machine.openshift.io/v1beta1/namespaces/my-machines/machinedeployments",
            rolls::WEB,
            Attempt::Delete,
        ),
        ("/api/v1/namespaces/my-machines/pods", "agent", Attempt::Get),
        ("/api/v1/namespaces", "default", Attempt::Get),
        ("/apis/apps/v1/namespaces/my-machines/daemonsets", "agent", Attempt::Delete),
        ("/apis/storage.k8s.io/v1/volumeattachments", "kept", Attempt::Delete),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "machines.machine.openshift.io",
            Attempt::Delete,
        ),
        ("/apis/events.k8s.io/v1/namespaces/my-machines/events", "any", Attempt::ListAll),
    ] {
        let code = answer(account, collection, name, attempt).await?;
        ensure!(code == 403, "{attempt:?} {name} in {collection}: {code}");
    }
    Ok(())
}
