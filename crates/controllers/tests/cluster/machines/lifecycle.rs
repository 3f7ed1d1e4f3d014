//! From a bare Machine to a running node and back.

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use machinist_testbed::openshift::FeatureSet;
use machinist_testbed::poll::eventually;
use machinist_testbed::world::reading::{condition, message, phase};
use serde_json::json;

use crate::definitions::Served;
use crate::fixture::Fixture;
use crate::machines::world::{PATIENCE, obey, spec, start};

on_both_definitions! {
    crate::machines::world::start =>
    a_bare_machine_reaches_running_and_leaves_nothing_behind,
    an_instance_that_takes_time_is_waited_for_step_by_step,
    hooks_hold_the_drain_and_the_end_of_the_instance,
    another_process_goes_on_where_the_first_one_stopped,
    a_node_that_nobody_linked_goes_with_its_instance,
    a_node_that_was_registered_anew_is_drained_once_it_says_where_it_runs,
}

async fn a_bare_machine_reaches_running_and_leaves_nothing_behind(world: Fixture) -> Result<()> {
    let process = world.run()?;
    world.create("m", spec(&json!({"zone": "a", "dataVolumeGiB": 5}))).await?;
    let ready = |machine: &_| phase(machine) == "Running" && condition(machine, "Ready") == "True";
    let machine = world.until_machine("m", "Running and Ready", ready).await?;

    assert!(machine.finalizers().contains(&"machine.machine.openshift.io".to_owned()));
    let instance = world.cloud().instances().remove(0);
    assert_eq!(machine.data["status"]["nodeRef"]["name"], instance.id);
    assert_eq!(machine.labels()["machine.openshift.io/zone"], "a");
    assert_eq!(machine.labels()["machine.openshift.io/instance-type"], "sim.small");
    assert_eq!(machine.annotations()["machine.openshift.io/instance-state"], "running");
    assert_eq!(machine.data["status"]["providerStatus"]["launch"]["attempt"], 1);
    assert!(!machine.data["status"]["addresses"].as_array().unwrap().is_empty());
    let conditions = ["InstanceExists", "Drainable", "Terminable", "Ready"];
    assert_eq!(conditions.map(|kind| condition(&machine, kind)), ["True"; 4]);
    world.until_event("m", "Create").await?;
    assert_eq!(world.event_reasons("m").await?, ["Create"]);
    assert_eq!(world.cloud().created(), 1);
    // Its creation is the eighth where a MachineSet makes it; this one had no finalizer, which is one more of ours.
    assert!(process.writes() <= 8, "{} writes for one machine", process.writes());
    let node = world.nodes().get(&instance.id).await?;
    assert_eq!(
        node.spec.and_then(|spec| spec.provider_id).as_deref(),
        machine.data["spec"]["providerID"].as_str()
    );

    world.delete_machine("m").await?;
    world.until_gone("m").await?;
    assert_eq!((world.cloud().live(), world.cloud().volumes()), (0, 0));
    assert!(world.nodes().get_opt(&instance.id).await?.is_none(), "the node is still there");
    process.stop().await;
    Ok(())
}

async fn an_instance_that_takes_time_is_waited_for_step_by_step(world: Fixture) -> Result<()> {
    // The cloud takes as long as the test needs to look.
    let (slow, fast) = (0.001, 1000.0);
    world.cloud().set_scale(slow);
    let process = world.run()?;
    world.create("m", spec(&json!({"bootSeconds": 2, "stopSeconds": 2}))).await?;
    let machine = world.until_phase("m", "Provisioned").await?;
    assert_eq!(condition(&machine, "InstanceExists"), "True");
    assert_eq!(condition(&machine, "Ready"), "False/InstancePending");
    world.cloud().set_scale(fast);
    world.until_phase("m", "Running").await?;
    world.cloud().set_scale(slow);
    world.delete_machine("m").await?;
    let drained = |machine: &_| condition(machine, "Drained").starts_with("True");
    let machine = world.until_machine("m", "the node is drained", drained).await?;
    assert_eq!((phase(&machine), world.cloud().live()), ("Deleting", 1));
    world.cloud().set_scale(fast);
    world.until_gone("m").await?;
    assert_eq!(world.cloud().live(), 0);
    process.stop().await;
    Ok(())
}

async fn hooks_hold_the_drain_and_the_end_of_the_instance(world: Fixture) -> Result<()> {
    let process = world.run()?;
    let hooks = json!({
        "preDrain": [{"name": "backup", "owner": "ops"}],
        "preTerminate": [{"name": "quorum", "owner": "etcd"}],
    });
    let machine = json!({"providerSpec": {"value": spec(&json!({}))}, "lifecycleHooks": hooks});
    world.create_with("m", machine, json!({})).await?;
    let machine = world.until_phase("m", "Running").await?;
    assert_eq!(condition(&machine, "Drainable"), "False/HookPresent");
    assert_eq!(condition(&machine, "Terminable"), "False/HookPresent");

    world.delete_machine("m").await?;
    let held = |machine: &_| condition(machine, "Drained") == "False/WaitingForHooks";
    let machine = world.until_machine("m", "the drain waits", held).await?;
    assert!(message(&machine, "Drained").contains("backup"));

    world.patch_machine("m", json!({"spec": {"lifecycleHooks": {"preDrain": null}}})).await?;
    let held = |machine: &_| condition(machine, "Ready") == "False/WaitingForHooks";
    let machine = world.until_machine("m", "the end waits", held).await?;
    assert!(condition(&machine, "Drained").starts_with("True"));
    assert!(message(&machine, "Ready").contains("quorum (etcd)"));
    assert_eq!(world.cloud().live(), 1);

    world.patch_machine("m", json!({"spec": {"lifecycleHooks": null}})).await?;
    world.until_gone("m").await?;
    assert_eq!(world.cloud().live(), 0);
    process.stop().await;
    Ok(())
}

async fn another_process_goes_on_where_the_first_one_stopped(world: Fixture) -> Result<()> {
    world.cloud().change_modes(|modes| modes.lose_create_answers = 3);
    let first = world.run()?;
    world.create("m", spec(&json!({}))).await?;
    let lost = eventually(PATIENCE, "an instance is made", || async {
        ensure!(world.cloud().created() == 1, "{}", world.cloud().created());
        Ok(())
    });
    lost.await?;
    first.stop().await;
    let second = world.run()?;
    world.until_phase("m", "Running").await?;
    assert_eq!(world.cloud().created(), 1, "one machine, one instance");
    world.delete_machine("m").await?;
    world.until_gone("m").await?;
    assert_eq!(world.cloud().live(), 0);
    second.stop().await;
    Ok(())
}

async fn a_node_that_nobody_linked_goes_with_its_instance(world: Fixture) -> Result<()> {
    let process = world.run_only(&["machine"])?;
    world.create("m", spec(&json!({}))).await?;
    let machine = world.until_phase("m", "Provisioned").await?;
    assert_eq!(condition(&machine, "Ready"), "False/WaitingForNode");
    let id = world.cloud().instances().remove(0).id;
    let registered = eventually(PATIENCE, "the node is there", || async {
        ensure!(process.sees_node(&id), "it is not");
        Ok(())
    });
    registered.await?;
    world.delete_machine("m").await?;
    world.until_gone("m").await?;
    assert!(world.nodes().get_opt(&id).await?.is_none(), "the node is still there");
    // Drained before it went.
    world.until_event("m", "DrainSucceeded").await?;
    process.stop().await;
    Ok(())
}

/// While a machine goes, its kubelet registers again, and the provider id follows later. Neither is it drained on the
/// strength of its name, nor does its instance go without a drain.
async fn a_node_that_was_registered_anew_is_drained_once_it_says_where_it_runs(
    mut world: Fixture,
) -> Result<()> {
    let process = world.run()?;
    let hooks = json!({"preDrain": [{"name": "hold", "owner": "test"}]});
    let machine = json!({"providerSpec": {"value": spec(&json!({}))}, "lifecycleHooks": hooks});
    world.create_with("m", machine, json!({})).await?;
    let machine = world.until_phase("m", "Running").await?;
    let name = machine.data["status"]["nodeRef"]["name"].as_str().unwrap().to_owned();
    world.world.cloud.as_mut().unwrap().kubelets = None;
    world.delete_machine("m").await?;
    let held = |machine: &_| condition(machine, "Drained") == "False/WaitingForHooks";
    world.until_machine("m", "the hook holds it", held).await?;
    world.nodes().delete(&name, &DeleteParams::default()).await?;
    let again = serde_json::from_value(json!({"metadata": {"name": name}}))?;
    world.nodes().create(&PostParams::default(), &again).await?;
    world.patch_machine("m", json!({"spec": {"lifecycleHooks": null}})).await?;
    let unclear = |machine: &_| condition(machine, "Drained") == "False/CannotRead";
    let machine = world.until_machine("m", "it is not clear whose the node is", unclear).await?;
    assert!(message(&machine, "Drained").contains("has no provider ID yet"));
    assert_eq!(world.cloud().live(), 1);
    let node = world.nodes().get(&name).await?;
    assert!(node.spec.is_none_or(|spec| spec.unschedulable.is_none()), "cordoned by its name");

    let id = json!({"spec": {"providerID": machine.data["spec"]["providerID"]}});
    world.nodes().patch(&name, &PatchParams::default(), &Patch::Merge(id)).await?;
    world.until_gone("m").await?;
    world.until_event("m", "DrainSucceeded").await?;
    assert_eq!(world.cloud().live(), 0);
    assert!(world.nodes().get_opt(&name).await?.is_none(), "the node is still there");
    process.stop().await;
    Ok(())
}

/// OpenShift's default feature set has no field for the authority: then Machine API is in charge, and machines are not
/// ignored silently.
#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_say_who_is_in_charge_we_are() -> Result<()> {
    let world = start("no-authority", Served::Stock(FeatureSet::Default)).await?;
    let process = obey(&world)?;
    for name in ["one", "two"] {
        world.create(name, spec(&json!({}))).await?;
    }
    for name in ["one", "two"] {
        let machine = world.until_phase(name, "Running").await?;
        assert_eq!(machine.data["status"].get("authoritativeAPI"), None, "no stock definition");
        assert_eq!(condition(&machine, "Paused"), "False/AuthoritativeAPIMachineAPI");
        world.delete_machine(name).await?;
        world.until_gone(name).await?;
    }
    process.stop().await;
    Ok(())
}

/// OpenShift's definitions with every gate open, where more is checked and kept than in its default set.
#[tokio::test(flavor = "multi_thread")]
async fn with_every_gate_open_a_machine_lives_as_it_does_elsewhere() -> Result<()> {
    let served = Served::Stock(FeatureSet::CustomNoUpgrade);
    let world = start("every-gate", served).await?;
    a_bare_machine_reaches_running_and_leaves_nothing_behind(world).await?;
    left_alone_until_it_is_ours(start("every-gate-migration", served).await?).await
}

/// OpenShift's default set has no field for who is in charge.
#[tokio::test(flavor = "multi_thread")]
async fn a_machine_of_another_machine_api_is_left_alone_until_it_is_ours() -> Result<()> {
    left_alone_until_it_is_ours(start("migration", Served::Ours).await?).await
}

async fn left_alone_until_it_is_ours(world: Fixture) -> Result<()> {
    let process = obey(&world)?;
    let machine =
        json!({"providerSpec": {"value": spec(&json!({}))}, "authoritativeAPI": "ClusterAPI"});
    world.create_with("m", machine, json!({})).await?;
    let paused = |machine: &_| condition(machine, "Paused").starts_with("True/");
    let machine = world.until_machine("m", "it is paused", paused).await?;
    assert_eq!(machine.data["status"]["authoritativeAPI"], "ClusterAPI");
    assert_eq!((phase(&machine), machine.finalizers().len()), ("", 0));
    assert_eq!(world.cloud().created(), 0);

    // The authority changes by way of `Migrating`.
    for authority in ["Migrating", "MachineAPI"] {
        let patch = Patch::Merge(json!({"status": {"authoritativeAPI": authority}}));
        world.machines().patch_status("m", &PatchParams::default(), &patch).await?;
    }
    let machine = world.until_phase("m", "Running").await?;
    assert!(condition(&machine, "Paused").starts_with("False/"));
    world.delete_machine("m").await?;
    world.until_gone("m").await?;
    process.stop().await;
    Ok(())
}
