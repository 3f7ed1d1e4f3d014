//! Exactly as many machines as wanted, whatever the watches deliver and whichever process dies.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, ResourceExt};
use machinist_testbed::faults::{Effect, Gate, Match, Proxy, Rule, Verb};
use machinist_testbed::poll::eventually;
use serde_json::json;
use tokio::time::Instant;

use crate::definitions::{Served, control_plane};
use crate::fixture::Fixture;
use crate::machine_sets::world::{PATIENCE, start};

on_both_definitions! {
    crate::machine_sets::world::start =>
    a_machine_that_goes_is_replaced_once_under_another_name,
    machines_are_made_as_the_template_says_with_finalizer_and_owner,
    a_name_that_somebody_else_has_is_passed_over,
}

/// How late watches are. Ten seconds in a world in which a lease lasts three instead of a hundred and twenty would be
/// a quarter of one; three are much worse. `MACHINIST_LONG=1`: ten all the same.
fn lag() -> Duration {
    let long = std::env::var("MACHINIST_LONG").is_ok_and(|value| value == "1");
    Duration::from_secs(if long { 10 } else { 3 })
}

async fn lagging() -> Result<Proxy> {
    let proxy = Proxy::start(&control_plane(Served::Ours).await.kube_config()).await?;
    for resource in ["machines", "machinesets"] {
        let watches = Match::any().verbs([Verb::Watch]).resource(resource);
        proxy.add_rule(Rule::new(watches, Effect::DelayEvents(lag())));
    }
    Ok(proxy)
}

fn creations() -> Match {
    Match::any().verbs([Verb::Create]).resource("machines")
}

async fn until_leader(world: &Fixture, identity: &str) -> Result<()> {
    let leases = Api::<Lease>::namespaced(world.client.clone(), &world.namespace);
    eventually(PATIENCE, "the lease is held", || async {
        let lease = leases.get("cluster-api-provider-machineset-leader").await?;
        let holder = lease.spec.and_then(|spec| spec.holder_identity);
        ensure!(holder.as_deref() == Some(identity), "held by {holder:?}");
        Ok(())
    })
    .await
}

/// Looks at the machines again and again, for longer than any watch lags: `holds` must never be wrong.
async fn stays(world: &Fixture, holds: impl Fn(usize) -> bool) -> Result<()> {
    let end = Instant::now() + lag() * 3;
    while Instant::now() < end {
        let alive = world.alive_machines().await?.len();
        ensure!(holds(alive), "{alive} machines");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

/// From nothing to 500, and to 250: watches lag, answers are lost, the leader dies in the middle of either, and a user
/// deletes a machine meanwhile.
///
/// Finalizers stay here, so every machine that was ever created is still there to be counted.
#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_and_back_with_late_watches_and_dying_leaders() -> Result<()> {
    let world = start("count", Served::Ours).await?;
    world.create_sized_set("workers", 0, json!({})).await?;
    let proxy = lagging().await?;
    proxy.add_rule(Rule::new(creations(), Effect::LoseAnswer).skip(60).times(2));
    let gate = Gate::new();
    proxy.add_rule(Rule::new(creations(), Effect::Hold(gate.clone())).skip(220));
    let first = world.run_elected(&proxy)?;
    until_leader(&world, &first.identity).await?;
    let second_proxy = lagging().await?;
    let second = world.run_elected(&second_proxy)?;

    world.scale("workers", 500).await?;
    gate.reached().await;
    // One goes in the middle of it.
    let middle = world.alive_machines().await?;
    world.delete_machine(&middle[10]).await?;
    println!("{} machines when the first leader died", middle.len());
    first.kill().await?;
    drop(proxy);
    world.until_alive(500).await?;
    stays(&world, |alive| alive == 500).await?;
    let all = world.all_machines().await?.len();
    assert_eq!(all, 501, "one was replaced, and none was made for nothing");
    world.until_settled("workers").await?;

    // And back. The next leader dies in the middle of that.
    let third_proxy = lagging().await?;
    let third = world.run_elected(&third_proxy)?;
    let gate = Gate::new();
    let deletions = Match::any().verbs([Verb::Delete]).resource("machines");
    second_proxy.add_rule(Rule::new(deletions, Effect::HoldAfter(gate.clone())).skip(100));
    world.scale("workers", 250).await?;
    gate.reached().await;
    let middle = world.alive_machines().await?;
    println!("{} machines when the second leader died", middle.len());
    world.delete_machine(&middle[10]).await?;
    second.kill().await?;
    drop(second_proxy);
    until_leader(&world, &third.identity).await?;
    world.until_settled("workers").await?;
    world.until_alive(250).await?;
    stays(&world, |alive| alive == 250).await?;
    let all = world.all_machines().await?;
    // If the deleted machine was to stay, it was replaced.
    assert!((501..=502).contains(&all.len()), "{}", all.len());
    let names: BTreeSet<_> = all.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names.len(), all.len());
    Ok(())
}

async fn a_machine_that_goes_is_replaced_once_under_another_name(world: Fixture) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 3, json!({})).await?;
    world.until_settled("workers").await?;
    let before = world.until_alive(3).await?;
    world.delete_machine(&before[1]).await?;
    let after = world.until_alive(3).await?;
    assert!(!after.contains(&before[1]), "{after:?}");
    world.bury(&before[1]).await?;
    world.until_settled("workers").await?;
    assert_eq!(world.all_machines().await?.len(), 3);
    assert_eq!(world.until_alive(3).await?, after, "gone for good changes nothing");
    Ok(())
}

async fn machines_are_made_as_the_template_says_with_finalizer_and_owner(
    world: Fixture,
) -> Result<()> {
    let _process = world.run()?;
    let set = world.create_sized_set("workers", 1, json!({})).await?;
    let names = world.until_alive(1).await?;
    let machine = world.machines().get(&names[0]).await?;
    assert_eq!(machine.labels().get("extra").map(String::as_str), Some("1"));
    assert_eq!(machine.annotations().get("note").map(String::as_str), Some("x"));
    assert_eq!(machine.finalizers(), ["machine.machine.openshift.io"]);
    let owner = &machine.owner_references()[0];
    assert_eq!((owner.kind.as_str(), owner.name.as_str()), ("MachineSet", "workers"));
    assert_eq!(Some(&owner.uid), set.metadata.uid.as_ref());
    assert_eq!((owner.controller, owner.block_owner_deletion), (Some(true), Some(true)));
    assert_eq!(
        machine.data["spec"]["providerSpec"]["value"],
        json!({"kind": "Any", "odd": [1, {"deep": null}]})
    );
    assert!(names[0].starts_with("workers-") && names[0].ends_with("-0"), "{names:?}");
    Ok(())
}

async fn a_name_that_somebody_else_has_is_passed_over(world: Fixture) -> Result<()> {
    world.create_sized_set("workers", 1, json!({})).await?;
    let _process = world.run()?;
    let first = world.until_alive(1).await?.remove(0);
    world.until_settled("workers").await?;
    let next = format!("{}1", first.strip_suffix('0').unwrap());
    // Under the name that comes next, and not selected by the set.
    world.create_labelled_machine(&next, "another", json!([])).await?;
    world.scale("workers", 3).await?;
    let names = world.until_alive(4).await?;
    world.until_settled("workers").await?;
    assert_eq!(names.iter().filter(|name| name.ends_with("-1")).count(), 1, "{names:?}");
    let stranger = world.machines().get(&next).await?;
    assert!(stranger.owner_references().is_empty(), "it stays what it was");
    assert_eq!(world.alive_machines().await?.len(), 4);
    Ok(())
}
