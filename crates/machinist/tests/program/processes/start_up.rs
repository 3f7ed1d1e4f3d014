//! Starting too early, with the wrong flags, or before the definitions are there.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_control_plane::ControlPlane;
use machinist_testbed::cluster;
use machinist_testbed::faults::{Effect, Match, Rule};
use machinist_testbed::poll;
use serde_json::json;

use crate::processes::support::process::{Process, file_with, run_to_end};
use crate::processes::support::replica::Replica;
use crate::processes::support::time::{PATIENCE, busy, holds_for};
use crate::processes::support::world::{AnnotatorWorld, LARGE, SMALL, deployment_spec, spec};

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_is_installed_later_is_picked_up() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    let world = AnnotatorWorld::on(&control_plane, "definition").await?;
    let mut replica = Replica::start(&world, &[]).await?;
    let waits = "controller annotator waits for machinesets.machine.openshift.io";
    poll::eventually(PATIENCE, "it to say what it waits for", || async {
        let (code, details) = replica.process.readyz().await?;
        ensure!(code == 200 && details.contains(waits), "{code}: {details}");
        Ok(())
    })
    .await?;
    // It waits for news, and does not ask again and again.
    let asked = replica.proxy.log().entries().len();
    holds_for(Duration::from_secs(2), "no polling", async || {
        ensure!(replica.proxy.log().entries().len() <= asked + 2, "{}", replica.proxy.log());
        Ok(())
    })
    .await?;

    cluster::install_crds(&control_plane).await?;
    world.create_set("set", SMALL).await?;
    world.annotated("set", SMALL).await?;
    let (_, details) = replica.process.readyz().await?;
    assert!(!details.contains("waits") && details.contains("annotator runs"), "{details}");
    replica.process.ensure_alive()
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_deployments_are_not_waited_for_and_are_annotated_once_they_are_served()
-> Result<()> {
    let control_plane = ControlPlane::start().await?;
    let of = |kind: &str| {
        let all = machinist_api::crds();
        let found = all.into_iter().find(|crd| crd.spec.names.kind == kind);
        anyhow::Ok(serde_json::to_string(&found.context("a definition")?)?)
    };
    control_plane.install_crds(&of("MachineSet")?).await?;
    let world = AnnotatorWorld::on(&control_plane, "optional").await?;
    let mut replica = Replica::start(&world, &[]).await?;
    world.create_set("set", SMALL).await?;
    world.annotated("set", SMALL).await?;
    let (code, details) = replica.process.readyz().await?;
    assert!(code == 200 && !details.contains("machinedeployments"), "{code}: {details}");
    let asked = replica.proxy.log().entries().len();
    holds_for(Duration::from_secs(2), "no polling", async || {
        ensure!(replica.proxy.log().entries().len() <= asked + 2, "{}", replica.proxy.log());
        Ok(())
    })
    .await?;

    control_plane.install_crds(&of("MachineDeployment")?).await?;
    world.create_deployment("web", SMALL).await?;
    world.deployment_annotated("web", SMALL).await?;
    let template = deployment_spec(LARGE)["template"].take();
    world.patch_deployment("web", json!({"spec": {"template": template}})).await?;
    world.deployment_annotated("web", LARGE).await?;
    // cluster-autoscaler ignores a set that a deployment owns, and so does the annotator until it is released.
    let owner = json!([{
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineDeployment",
        "name": "web", "uid": "of-web", "controller": true,
    }]);
    world.create_machine_set("owned", json!({"ownerReferences": owner}), spec(SMALL)).await?;
    holds_for(Duration::from_secs(1), "no annotations", async || {
        let annotations = world.sets().get("owned").await?.metadata.annotations;
        ensure!(annotations.is_none(), "{annotations:?}");
        Ok(())
    })
    .await?;
    world.patch_set("owned", json!({"metadata": {"ownerReferences": null}})).await?;
    world.annotated("owned", SMALL).await?;
    let (code, details) = replica.process.readyz().await?;
    assert!(code == 200 && details.contains("machinedeployments"), "{code}: {details}");
    replica.process.ensure_alive()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_in_a_flag_is_exit_code_2_before_any_request() -> Result<()> {
    let world = AnnotatorWorld::new("flags").await?;
    let proxy = world.another_proxy().await?;
    let kubeconfig = file_with(&proxy.kubeconfig())?;
    let path = kubeconfig.path().to_str().context("a path")?;
    let missing = format!("{path}.missing");
    let garbage = file_with("{ not: [a kubeconfig")?;
    let garbage = garbage.path().to_str().context("a path")?;
    let cases: &[(&[&str], &str)] = &[
        (&["--control-kubeconfig", path], "--target-kubeconfig"),
        (&["--target-kubeconfig", path], "--control-kubeconfig"),
        (&["--control-kubeconfig", &missing, "--target-kubeconfig", path], "--control-kubeconfig"),
        (&["--control-kubeconfig", path, "--target-kubeconfig", &missing], "--target-kubeconfig"),
        (&["--control-kubeconfig", garbage, "--target-kubeconfig", "none"], "--control-kubeconfig"),
        (
            &["--control-kubeconfig", path, "--target-kubeconfig", "in-cluster"],
            "--target-kubeconfig",
        ),
        (&["--controllers", "annotator,gardener"], "gardener"),
        (&["--workers", "gardener=3"], "--workers"),
        (&["--workers", "annotator=0"], "--workers"),
        (&["--controllers", "healthcheck", "--workers", "healthcheck=4"], "healthcheck has limits"),
        (&["--sync-period", "soon"], "--sync-period"),
        (&["--leader-elect-lease-duration", "0s"], "--leader-elect-lease-duration"),
        (&["--leader-elect-lease-duration", "20ms"], "--leader-elect-lease-duration"),
        (&["--sync-period", "0s"], "--sync-period"),
        (&["--platform", "asw"], "--platform"),
    ];
    for (flags, named) in cases {
        let quiet = ["run", "--metrics-bind-address", "0", "--health-addr", "0"];
        let arguments = [&quiet, *flags].concat();
        let output = run_to_end(Some(kubeconfig.path()), &arguments).await?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {stderr}");
        assert!(stderr.contains(named), "{flags:?} does not name {named}: {stderr}");
    }
    let output = run_to_end(Some(missing.as_ref()), &["run"]).await?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("KUBECONFIG") && stderr.contains(&missing), "{stderr}");
    assert_eq!(proxy.log().entries().len(), 0, "{}", proxy.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_an_api_server_ends_at_once_on_sigterm() -> Result<()> {
    let world = AnnotatorWorld::new("absent").await?;
    // Nothing listens, or a server listens and never answers.
    let deaf = world.another_proxy().await?;
    let silence = deaf.add_rule(Rule::new(Match::any(), Effect::Timeout));
    let gone = world.another_proxy().await?;
    let absent = gone.kubeconfig();
    drop(gone);
    for kubeconfig in [absent, deaf.kubeconfig()] {
        let mut process =
            Process::start(&kubeconfig, &world.namespace, &["--leader-elect"]).await?;
        if kubeconfig == deaf.kubeconfig() {
            silence.hit(1, PATIENCE).await?;
        } else {
            poll::eventually(PATIENCE, "it to wait", || async {
                let log = process.log()?;
                ensure!(log.contains("waiting for the API server"), "{log}");
                Ok(())
            })
            .await?;
        }
        let (code, _) = process.readyz().await?;
        assert_eq!(code, 503);
        let (status, took) = process.terminate().await?;
        assert_eq!(status.code(), Some(0));
        assert!(took < Duration::from_secs(3) + busy(), "{took:?}");
    }
    Ok(())
}
