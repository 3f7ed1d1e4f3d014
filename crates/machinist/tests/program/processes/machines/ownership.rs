//! The machine controllers write exactly the fields that they declare.

use anyhow::{Result, ensure};
use machinist_api::names::{ANNOTATION_MACHINE, ANNOTATION_NODE_METADATA};
use machinist_controllers::{health_check, machine, machine_deployment, machine_set, node_link};
use machinist_runtime::controller::declaration::Declaration;
use machinist_testbed::audit::{AuditEntry, AuditLog};
use machinist_testbed::cluster;
use machinist_testbed::ownership;
use machinist_testbed::poll;
use serde_json::json;

use super::fleet::{Fleet, WANTED};
use super::life;
use super::rights::FASTER;
use super::rolls;
use crate::processes::support::time::PATIENCE;
use crate::processes::support::world::AnnotatorWorld;

const CONTROLLERS: [&Declaration; 5] = [
    &machine::DECLARATION,
    &machine_set::DECLARATION,
    &machine_deployment::DECLARATION,
    &node_link::DECLARATION,
    &health_check::DECLARATION,
];

#[tokio::test(flavor = "multi_thread")]
async fn the_machine_controllers_write_exactly_what_they_declare() -> Result<()> {
    let control_plane = ownership::control_plane().await?;
    cluster::install_crds(&control_plane).await?;
    let world = AnnotatorWorld::on(&control_plane, "ownership").await?;
    let fleet = Fleet::start(world).await?;
    let flags = [
        "--controllers=machine,machineset,machinedeployment,nodelink,healthcheck",
        "--leader-elect-resource-namespace",
        &fleet.namespace,
    ];
    let flags = [&flags[..], &FASTER].concat();
    let mut process = fleet.process(control_plane.kubeconfig_yaml(), &flags).await?;
    life::grow(&fleet, json!({})).await?;
    // Another process takes the Leases that the first one leaves behind.
    process.terminate().await?;
    let mut process = fleet.process(control_plane.kubeconfig_yaml(), &flags).await?;
    life::shrink(&fleet).await?;
    life::freeze(&fleet).await?;
    life::remediate(&fleet).await?;
    life::preserve(&fleet).await?;
    life::vanish(&fleet).await?;
    life::adopt(&fleet).await?;
    rolls::roll(&fleet).await?;
    life::fail(&fleet).await?;
    process.terminate().await?;

    // The log comes a moment after the effect.
    poll::eventually(PATIENCE, "the audit log to match the declarations", || async {
        let log = AuditLog::of(&control_plane).read_new()?;
        let mut differences = Vec::new();
        for declaration in CONTROLLERS {
            let (controller, lease) = (declaration.name, declaration.lease_name());
            let claims = ownership::claims(declaration);
            let touched = ownership::touches(&log, |entry| writes_for(entry, controller, &lease));
            let compared = ownership::compare(&claims, &touched);
            differences.extend(compared.err().map(|error| format!("{controller}: {error}")));
        }
        ensure!(differences.is_empty(), "{}", differences.join("\n"));
        only_the_wanted_reaches_nodes(&log)
    })
    .await
}

/// Whether a request is of a controller, or of its elector.
fn writes_for(entry: &AuditEntry, controller: &str, lease: &str) -> bool {
    let is = |name: &str| entry.user_agent.starts_with(&format!("machinist-{name}/"));
    let object = entry.request.as_ref().map(|body| &body["metadata"]["name"]);
    is(controller) || (is("lease") && object.is_some_and(|name| name == lease))
}

/// The declaration can only name "those of the Machine's spec" for labels and annotations of
/// Nodes: these are the names in it. Taints are a list, which is written with those of others in it.
fn only_the_wanted_reaches_nodes(log: &[AuditEntry]) -> Result<()> {
    let touched = ownership::touches(log, |entry| entry.user_agent.starts_with("machinist-node"));
    let mut on_nodes = touched.iter().filter(|touch| touch.resource == "nodes").peekable();
    ensure!(on_nodes.peek().is_some(), "nothing was written on Nodes");
    let known = [WANTED, ANNOTATION_MACHINE, ANNOTATION_NODE_METADATA];
    for touch in on_nodes.filter(|touch| !touch.path.starts_with("spec.taints")) {
        ensure!(known.iter().any(|name| touch.path.contains(name)), "{touch}");
    }
    Ok(())
}
