//! What a Machine reports when something blocks it, and that it continues when that is over.

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_provider_sim::server::Trouble;
use machinist_testbed::openshift::FeatureSet;
use machinist_testbed::poll::eventually;
use machinist_testbed::world::reading::{condition, message, phase};
use serde_json::json;

use crate::definitions::Served;
use crate::fixture::Fixture;
use crate::machines::world::{PATIENCE, spec, start};

on_both_definitions! {
    crate::machines::world::start =>
    a_spec_that_can_never_work_fails_and_can_be_deleted,
    a_machine_without_its_label_is_not_created_but_can_be_deleted,
    without_room_machines_wait_and_say_so,
    a_full_zone_holds_up_nobody_who_may_go_elsewhere,
    an_instance_that_dies_makes_its_machine_fail_and_an_outage_does_not,
    credentials_that_do_not_work_are_named_while_it_is_deleted,
    a_secret_that_can_be_mended_fails_no_machine,
}

async fn a_spec_that_can_never_work_fails_and_can_be_deleted(world: Fixture) -> Result<()> {
    let process = world.run()?;
    world.create("m", spec(&json!({"bootSeconds": "soon"}))).await?;
    let machine = world.until_phase("m", "Failed").await?;
    let status = &machine.data["status"];
    assert_eq!(status["errorReason"], "InvalidConfiguration");
    let error = status["errorMessage"].as_str().unwrap_or_default();
    assert!(error.contains("bootSeconds: invalid type"), "{error}");
    if world.served == Served::Ours {
        assert_eq!(status["failureReason"], "InvalidConfiguration");
        assert_eq!(status["failureMessage"], status["errorMessage"]);
    }
    assert_eq!(condition(&machine, "Ready"), "False/Failed");
    assert_eq!(condition(&machine, "InstanceExists"), "False/InstanceNotRequested");
    world.until_event("m", "Failed").await?;
    assert_eq!(world.event_reasons("m").await?, ["Failed"]);
    world.delete_machine("m").await?;
    world.until_gone("m").await?;
    assert_eq!(world.cloud().calls().get("create"), None);
    process.stop().await;
    Ok(())
}

/// What the served definition does not know is dropped, and must not be written for ever.
#[tokio::test(flavor = "multi_thread")]
async fn on_openshifts_own_definition_a_failure_is_written_once() -> Result<()> {
    let world = start("stock-invalid", Served::Stock(FeatureSet::Default)).await?;
    let process = world.run()?;
    world.create("m", spec(&json!({"bootSeconds": "soon"}))).await?;
    let machine = world.until_phase("m", "Failed").await?;
    assert_eq!(machine.data["status"]["errorReason"], "InvalidConfiguration");
    assert_eq!(machine.data["status"].get("failureReason"), None, "it is no stock definition");
    for touch in 0..5 {
        let reconciles = process.reconciles();
        world
            .patch_machine(
                "m",
                json!({"metadata": {"annotations": {"touched": touch.to_string()}}}),
            )
            .await?;
        eventually(PATIENCE, "another reconcile", || async {
            ensure!(process.reconciles() > reconciles, "none");
            Ok(())
        })
        .await?;
    }
    let status = |machine: &kube::api::DynamicObject| machine.data["status"]["lastUpdated"].clone();
    assert_eq!(status(&world.machines().get("m").await?), status(&machine));
    // The finalizer, the status, and the Event.
    assert_eq!(process.writes(), 3);
    process.stop().await;
    Ok(())
}

async fn a_machine_without_its_label_is_not_created_but_can_be_deleted(
    world: Fixture,
) -> Result<()> {
    let process = world.run()?;
    let label = |value| json!({"metadata": {"labels": {"machine.openshift.io/cluster-api-cluster": value}}});
    for name in ["new", "old"] {
        world.create(name, spec(&json!({}))).await?;
    }
    world.until_phase("old", "Running").await?;
    world.until_phase("new", "Running").await?;
    world.patch_machine("old", label(json!(null))).await?;
    let names_the_label = |machine: &_| message(machine, "Ready").contains("cluster-api-cluster");
    let machine = world.until_machine("old", "it says what is missing", names_the_label).await?;
    assert_eq!(phase(&machine), "Running");
    world.delete_machine("old").await?;
    world.until_gone("old").await?;
    assert_eq!(world.cloud().live(), 1);
    process.stop().await;
    Ok(())
}

async fn without_room_machines_wait_and_say_so(world: Fixture) -> Result<()> {
    world.cloud().change_modes(|modes| modes.full_zones = ["a".to_owned()].into());
    let process = world.run()?;
    for name in ["one", "two"] {
        world.create(name, spec(&json!({"zone": "a"}))).await?;
    }
    for name in ["one", "two"] {
        let waits = |machine: &_| condition(machine, "Ready") == "False/CapacityExhausted";
        let machine = world.until_machine(name, "it waits", waits).await?;
        assert_eq!(phase(&machine), "Provisioning");
    }
    world.cloud().change_modes(|modes| modes.full_zones.clear());
    for name in ["one", "two"] {
        world.until_phase(name, "Running").await?;
    }
    assert_eq!(world.cloud().live(), 2);
    process.stop().await;
    Ok(())
}

/// The pause after a full zone is longer than the test.
async fn a_full_zone_holds_up_nobody_who_may_go_elsewhere(mut world: Fixture) -> Result<()> {
    let pause = 100 * PATIENCE;
    let timings = &mut world.setup.machines;
    (timings.domain_pause, timings.domain_pause_max) = (pause, pause);
    world.cloud().change_modes(|modes| modes.full_zones = ["a".to_owned(), "b".to_owned()].into());
    let process = world.run()?;
    world.create("pinned", spec(&json!({"zone": "a"}))).await?;
    let waits = |machine: &_| condition(machine, "Ready") == "False/CapacityExhausted";
    world.until_machine("pinned", "it waits", waits).await?;
    let open: Vec<_> = (0..8).map(|number| format!("open-{number}")).collect();
    for name in &open {
        world.create(name, spec(&json!({}))).await?;
    }
    for name in &open {
        world.until_phase(name, "Running").await?;
    }
    let creates = world.cloud().calls()["create"];
    assert!(creates <= 1 + 8 * 3, "{creates} calls, and three zones");
    assert!(waits(&world.machines().get("pinned").await?), "its zone is as full as before");
    process.stop().await;
    Ok(())
}

async fn an_instance_that_dies_makes_its_machine_fail_and_an_outage_does_not(
    world: Fixture,
) -> Result<()> {
    let process = world.run()?;
    world.create("m", spec(&json!({}))).await?;
    world.until_phase("m", "Running").await?;
    world.cloud().change_modes(|modes| modes.trouble = Some(Trouble::Unavailable));
    let touches = AtomicU32::new(0);
    // What was seen a moment ago serves for a while, so the machine is touched until the cache has expired.
    let machine = eventually(PATIENCE, "an unknown state", || async {
        let number = touches.fetch_add(1, Ordering::Relaxed).to_string();
        let touch = json!({"metadata": {"annotations": {"touched": number}}});
        world.patch_machine("m", touch).await?;
        let machine = world.machines().get("m").await?;
        let exists = condition(&machine, "InstanceExists");
        ensure!(exists == "Unknown/ErrorCheckingProvider", "{exists}");
        Ok(machine)
    })
    .await?;
    assert_eq!(phase(&machine), "Running");
    world.cloud().change_modes(|modes| modes.trouble = None);
    world
        .until_machine("m", "all is well", |machine| condition(machine, "Ready") == "True")
        .await?;

    let id = world.cloud().instances().remove(0).id;
    assert!(world.cloud().kill(&id));
    let machine = world.until_phase("m", "Failed").await?;
    assert_eq!(condition(&machine, "InstanceExists"), "False/InstanceMissing");
    let text = machine.data["status"]["errorMessage"].as_str().unwrap_or_default();
    assert!(text.contains(&id) && text.contains("the host failed"), "{text}");
    let recorded = |machine: &kube::api::DynamicObject| {
        machine.annotations().get("machine.openshift.io/instance-state").map(String::as_str)
            == Some("Unknown")
    };
    world.until_machine("m", "its state is unknown", recorded).await?;
    assert_eq!(world.cloud().created(), 1, "it is not replaced here");
    world.delete_machine("m").await?;
    world.until_gone("m").await?;
    process.stop().await;
    Ok(())
}

async fn credentials_that_do_not_work_are_named_while_it_is_deleted(world: Fixture) -> Result<()> {
    let process = world.run()?;
    world.create("m", spec(&json!({}))).await?;
    world.until_phase("m", "Running").await?;
    world.cloud().change_modes(|modes| modes.trouble = Some(Trouble::Unauthorised));
    world.delete_machine("m").await?;
    let refused = |machine: &_| condition(machine, "Ready") == "False/DeletionFailed";
    world.until_machine("m", "it says why it stays", refused).await?;
    world.until_event("m", "FailedDelete").await?;
    assert_eq!(world.cloud().live(), 1);
    world.cloud().change_modes(|modes| modes.trouble = None);
    world.until_gone("m").await?;
    assert_eq!(world.cloud().live(), 0);
    process.stop().await;
    Ok(())
}

/// The Machine is correct; something else has to be repaired.
async fn a_secret_that_can_be_mended_fails_no_machine(world: Fixture) -> Result<()> {
    let process = world.run()?;
    world.create("m", spec(&json!({"credentialsSecret": {"name": "keys"}}))).await?;
    let missing = |machine: &_| message(machine, "Ready").contains("keys does not exist");
    let machine = world.until_machine("m", "it misses its secret", missing).await?;
    assert_eq!(
        (condition(&machine, "Ready"), phase(&machine)),
        ("False/InvalidConfiguration".to_owned(), "Provisioning")
    );

    let secrets = Api::<Secret>::namespaced(world.client.clone(), &world.namespace);
    let empty: Secret = serde_json::from_value(json!({"metadata": {"name": "keys"}}))?;
    secrets.create(&PostParams::default(), &empty).await?;
    let refused = |machine: &_| condition(machine, "Ready") == "False/Unauthorised";
    let machine = world.until_machine("m", "its secret has no key", refused).await?;
    assert_ne!(phase(&machine), "Failed");
    assert_eq!(machine.data["status"].get("errorMessage"), None);
    assert_eq!(world.cloud().created(), 0);

    let repaired = Patch::Merge(json!({"stringData": {"token": "open"}}));
    secrets.patch("keys", &PatchParams::default(), &repaired).await?;
    world.until_phase("m", "Running").await?;
    world.delete_machine("m").await?;
    world.until_gone("m").await?;
    process.stop().await;
    Ok(())
}
