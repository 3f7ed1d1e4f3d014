//! Which machines go first.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use kube::ResourceExt;
use machinist_runtime::clock::{Clock as _, SystemClock};
use machinist_testbed::faults::{Effect, EventFilter, Gate, Match, Rule, Verb};
use machinist_testbed::poll::{eventually, holds_for};
use serde_json::json;

use crate::fixture::Fixture;
use crate::machine_sets::world::PATIENCE;

on_both_definitions! {
    crate::machine_sets::world::start =>
    the_oldest_goes_first,
    the_newest_goes_first,
    marked_machines_go_first_whichever_spelling,
    failed_machines_go_before_those_without_a_node_and_those_before_the_rest,
    a_mark_that_the_watch_has_not_told_yet_counts,
    a_machine_that_the_watch_has_not_told_to_be_gone_goes_instead_of_another,
    a_set_that_shrinks_lists_no_machines_of_others,
    a_deletion_long_after_the_last_one_is_made_after_a_look_of_its_own,
    machines_that_a_user_keeps_after_the_decision_stay,
}

/// The request of the deletion is under way already.
async fn machines_that_a_user_keeps_after_the_decision_stay(world: Fixture) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 2, json!({})).await?;
    let names = world.until_alive(2).await?;
    world.until_settled("workers").await?;
    let (gate, deletions) = (Gate::new(), Match::any().verbs([Verb::Delete]).resource("machines"));
    world.proxy.add_rule(Rule::new(deletions.clone(), Effect::Hold(gate.clone())));
    world.scale("workers", 1).await?;
    tokio::time::timeout(PATIENCE, gate.reached()).await?;
    for name in &names {
        let keep = json!({"metadata": {"annotations": {"machinist.dev/preserve": "now"}}});
        world.patch_machine(name, keep).await?;
    }
    gate.open();
    let sent = || world.proxy.log().matching(&deletions);
    eventually(PATIENCE, "the deletion is answered", || async {
        let codes: Vec<_> = sent().iter().map(|one| one.status).collect();
        ensure!(!codes.is_empty(), "none");
        ensure!(codes.iter().all(|code| *code == Some(409)), "{codes:?}");
        Ok(())
    })
    .await?;
    // Both are kept, until the user is done with one.
    holds_for(Duration::from_secs(1), "no Machine is deleted", || async {
        ensure!(world.alive_machines().await? == names, "another one went");
        Ok(())
    })
    .await?;
    let done = json!({"metadata": {"annotations": {"machinist.dev/preserve": null}}});
    world.patch_machine(&names[1], done).await?;
    assert_eq!(world.until_alive(1).await?, names[..1]);
    Ok(())
}

/// Three machines of different ages, the oldest first.
async fn three_ages(world: &Fixture) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for count in 1..=3 {
        world.scale("workers", count).await?;
        world.until_settled("workers").await?;
        let now = world.until_alive(count).await?;
        let new: Vec<_> = now.into_iter().filter(|name| !names.contains(name)).collect();
        names.extend(new);
        // Ages have whole seconds.
        let last = world.machines().get(&names[names.len() - 1]).await?;
        let made = last.creation_timestamp().unwrap().0;
        eventually(PATIENCE, "a second is over", || async {
            let now = SystemClock.now();
            ensure!(now.duration_since(made).as_secs() >= 1, "{now} {made}");
            Ok(())
        })
        .await?;
    }
    Ok(names)
}

async fn the_oldest_goes_first(world: Fixture) -> Result<()> {
    one_of_three_ages_goes(&world, "Oldest", 0).await
}

async fn the_newest_goes_first(world: Fixture) -> Result<()> {
    one_of_three_ages_goes(&world, "Newest", 2).await
}

async fn one_of_three_ages_goes(world: &Fixture, policy: &str, goes: usize) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 0, json!({"deletePolicy": policy})).await?;
    let mut names = three_ages(world).await?;
    world.scale("workers", 2).await?;
    names.remove(goes);
    names.sort();
    assert_eq!(world.until_alive(2).await?, names);
    Ok(())
}

async fn marked_machines_go_first_whichever_spelling(world: Fixture) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 6, json!({})).await?;
    world.until_settled("workers").await?;
    let names = world.until_alive(6).await?;
    let marks = [
        (&names[1], "machine.openshift.io/delete-machine"),
        (&names[4], "machine.openshift.io/cluster-api-delete-machine"),
    ];
    for (name, mark) in marks {
        world.patch_machine(name, json!({"metadata": {"annotations": {mark: "yes"}}})).await?;
    }
    world.scale("workers", 4).await?;
    let alive: BTreeSet<_> = world.until_alive(4).await?.into_iter().collect();
    assert!(marks.iter().all(|(name, _)| !alive.contains(*name)), "{alive:?}");
    Ok(())
}

async fn failed_machines_go_before_those_without_a_node_and_those_before_the_rest(
    world: Fixture,
) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 5, json!({})).await?;
    world.until_settled("workers").await?;
    let names = world.until_alive(5).await?;
    for name in &names[..3] {
        let node = json!({"nodeRef": {"kind": "Node", "name": format!("node-{name}"), "uid": "u"}});
        world.patch_machine_status(name, node).await?;
    }
    world.patch_machine_status(&names[0], json!({"phase": "Failed", "errorMessage": "no"})).await?;
    world.scale("workers", 4).await?;
    let alive = world.until_alive(4).await?;
    assert!(!alive.contains(&names[0]), "{alive:?}");
    world.scale("workers", 2).await?;
    assert_eq!(world.until_alive(2).await?, names[1..3]);
    Ok(())
}

/// From now on no watch event about machines is delivered.
fn hide_machines(world: &Fixture) {
    let watches = Match::any().verbs([Verb::Watch]).resource("machines");
    world.proxy.add_rule(Rule::new(watches, Effect::HideEvents(EventFilter::all())));
    world.proxy.cut_connections();
}

/// As cluster-autoscaler does it: first a mark, then a smaller number. The number is seen long before the mark is.
async fn a_mark_that_the_watch_has_not_told_yet_counts(world: Fixture) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 5, json!({})).await?;
    world.until_settled("workers").await?;
    let mut names = world.until_alive(5).await?;
    hide_machines(&world);
    for left in [4, 3, 2, 1] {
        // The last by name, which is no policy's choice four times in a row.
        let marked = names.pop().unwrap();
        let mark =
            json!({"metadata": {"annotations": {"machine.openshift.io/delete-machine": "now"}}});
        world.patch_machine(&marked, mark).await?;
        world.scale("workers", left).await?;
        assert_eq!(world.until_alive(names.len()).await?, names);
    }
    Ok(())
}

/// A user who scales down has often deleted a machine already.
async fn a_machine_that_the_watch_has_not_told_to_be_gone_goes_instead_of_another(
    world: Fixture,
) -> Result<()> {
    let _process = world.run()?;
    world.create_sized_set("workers", 5, json!({})).await?;
    world.until_settled("workers").await?;
    let mut names = world.until_alive(5).await?;
    hide_machines(&world);
    let gone = names.pop().unwrap();
    world.bury(&gone).await?;
    world.delete_machine(&gone).await?;
    let looks = Match::any().verbs([Verb::List]).resource("machines");
    let before = world.proxy.log().matching(&looks).len();
    world.scale("workers", 4).await?;
    world.until_settled("workers").await?;
    assert!(world.proxy.log().matching(&looks).len() > before, "it looked");
    assert_eq!(world.alive_machines().await?, names);
    assert_eq!(world.all_machines().await?.len(), 4, "no other machine is deleted");
    Ok(())
}

async fn a_set_that_shrinks_lists_no_machines_of_others(mut world: Fixture) -> Result<()> {
    // No lists except on demand.
    world.setup.timings.sync_period = PATIENCE * 10;
    let _process = world.run()?;
    // More than a page.
    world.create_sized_set("others", 110, json!({})).await?;
    world.create_sized_set("workers", 3, json!({})).await?;
    for name in ["others", "workers"] {
        world.until_settled(name).await?;
    }
    let looks = Match::any().verbs([Verb::List]).resource("machines");
    let before = world.proxy.log().matching(&looks).len();
    world.scale("workers", 2).await?;
    world.until_alive(112).await?;
    assert_eq!(world.proxy.log().matching(&looks).len(), before + 1, "one page");
    Ok(())
}

/// The number stays, and a user adds one machine.
async fn a_deletion_long_after_the_last_one_is_made_after_a_look_of_its_own(
    mut world: Fixture,
) -> Result<()> {
    world.setup.timings.sync_period = PATIENCE * 10;
    let _process = world.run()?;
    world.create_sized_set("workers", 3, json!({})).await?;
    world.until_settled("workers").await?;
    world.scale("workers", 2).await?;
    world.until_settled("workers").await?;
    let looks = Match::any().verbs([Verb::List]).resource("machines");
    let before = world.proxy.log().matching(&looks).len();
    world.create_labelled_machine("extra", "workers", json!([])).await?;
    world.until_event("workers", "Adopted").await?;
    world.until_alive(2).await?;
    assert!(world.proxy.log().matching(&looks).len() > before, "no live read");
    Ok(())
}
