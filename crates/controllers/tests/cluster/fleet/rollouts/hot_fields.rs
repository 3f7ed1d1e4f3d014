//! Fields of the provider spec that the provider changes on living instances: the simulated cloud's tags.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams};
use machinist_testbed::faults::{Effect, Gate, Match, Rule, Verb};
use machinist_testbed::world::reading::message;
use machinist_testbed::world::{Extremes, Observer};
use serde_json::{Value, json};

use super::{WEB, create, type_of, types_of, until_complete};
use crate::fleet::fixture::Fleet;
use crate::fleet::idle::stays_idle;

async fn change(fleet: &Fleet, value: Value) -> Result<()> {
    let machine = json!({"providerSpec": {"value": value}});
    fleet.patch_deployment(WEB, json!({"spec": {"template": {"spec": machine}}})).await
}

/// Waits until the instances of all Machines, and nothing else, have these values of the tag `team`.
async fn until_tagged(fleet: &Fleet, count: usize, team: &str) -> Result<()> {
    fleet
        .eventually(&format!("the tag team={team} on {count} instances"), || async {
            let instances = fleet.cloud().instances();
            let tagged = instances.iter().filter(|one| {
                one.tags.get("team").map(String::as_str) == Some(team)
                    && one.state.as_str() == "running"
            });
            let tagged = tagged.count();
            ensure!(tagged == count, "{tagged} of {}", instances.len());
            Ok(())
        })
        .await
}

fn tags_of(machine: &DynamicObject) -> Value {
    machine.data["spec"]["providerSpec"]["value"]["tags"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_are_put_on_living_instances_and_roll_nothing() -> Result<()> {
    let mut fleet = Fleet::with_deployments("tags").await?;
    // No resync and no old observation helps.
    fleet.setup.machines.instance_ttl = Duration::from_secs(3600);
    fleet.setup.timings.sync_period = Duration::from_secs(3600);
    let process = fleet.run()?;
    create(&fleet, 3, json!({})).await?;
    let before = until_complete(&fleet, 3).await?;
    // A user has changed one Machine.
    let own = before.first().unwrap();
    let patch =
        json!({"spec": {"providerSpec": {"value": {"tags": {"mine": "x"}, "odd": [1, {}]}}}});
    fleet.patch_machine(own, patch).await?;
    let observer = Observer::start(&fleet).await?;

    change(&fleet, json!({"tags": {"team": "a", "cost": "1"}})).await?;
    until_tagged(&fleet, 3, "a").await?;
    assert_eq!(until_complete(&fleet, 3).await?, before);
    let machines = fleet.all_machines().await?;
    let edited = machines.iter().find(|one| one.name_any() == *own).unwrap();
    assert_eq!(tags_of(edited), json!({"mine": "x", "team": "a", "cost": "1"}));
    assert_eq!(edited.data["spec"]["providerSpec"]["value"]["odd"], json!([1, {}]));
    let sets = fleet.sets().list(&ListParams::default()).await?.items;
    let [set] = sets.as_slice() else { panic!("{} MachineSets", sets.len()) };
    assert_eq!(set.annotations()["machinist.dev/hot-fields"], "tags");
    let value = &set.data["spec"]["template"]["spec"]["providerSpec"]["value"];
    assert_eq!(value["tags"], json!({"team": "a", "cost": "1"}));
    let note = fleet.until_event(WEB, "Update").await?;
    let said = "without replacing Machines: spec.template.spec.providerSpec.value.tags";
    assert!(note.contains(said), "{note}");

    // Another tag goes from the objects, and stays on the instances.
    change(&fleet, json!({"tags": {"team": "b", "cost": null}})).await?;
    until_tagged(&fleet, 3, "b").await?;
    assert_eq!(until_complete(&fleet, 3).await?, before);
    for machine in fleet.all_machines().await? {
        assert_eq!(tags_of(&machine).get("cost"), None, "{}", machine.name_any());
    }
    let Extremes { most, fewest_ready, .. } = observer.stop(&fleet).await?;
    assert_eq!((most, fewest_ready, fleet.cloud().created()), (3, 3, 3));
    stays_idle(&fleet).await?;
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_in_creation_gets_the_tags_of_a_change_meanwhile() -> Result<()> {
    let fleet = Fleet::with_deployments("tags-late").await?;
    let process = fleet.run()?;
    create(&fleet, 2, json!({})).await?;
    until_complete(&fleet, 2).await?;
    let gate = Gate::new();
    let creations = Match::any().verbs([Verb::Create]).resource("machines");
    fleet.proxy.add_rule(Rule::new(creations, Effect::Hold(gate.clone())).times(1));
    fleet.patch_deployment(WEB, json!({"spec": {"replicas": 3}})).await?;
    gate.reached().await;
    change(&fleet, json!({"tags": {"team": "a"}})).await?;
    until_tagged(&fleet, 2, "a").await?;
    assert_eq!(pending(&fleet).await?, 1, "the third Machine may not have them");
    gate.open();
    until_tagged(&fleet, 3, "a").await?;
    until_complete(&fleet, 3).await?;
    let check = || async {
        ensure!(pending(&fleet).await? == 0);
        Ok(())
    };
    fleet.eventually("nothing to be pending", check).await?;
    stays_idle(&fleet).await?;
    process.kill().await
}

/// MachineSets whose Machines may not have a change yet.
async fn pending(fleet: &Fleet) -> Result<usize> {
    let sets = fleet.sets().list(&ListParams::default()).await?.items;
    let name = "machinist.dev/pending-changes";
    Ok(sets.iter().filter(|set| set.annotations().contains_key(name)).count())
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_with_another_type_roll_once() -> Result<()> {
    let fleet = Fleet::with_deployments("tags-and-type").await?;
    let process = fleet.run()?;
    create(&fleet, 3, json!({})).await?;
    let before = until_complete(&fleet, 3).await?;
    change(&fleet, json!({"instanceType": "sim.medium", "tags": {"team": "a"}})).await?;
    let moving = fleet.until_deployment(WEB, "the roll to begin", |web| {
        let text = message(web, "Progressing");
        text.contains("instanceType: sim.small → sim.medium") && !text.contains("tags")
    });
    moving.await?;
    let after = until_complete(&fleet, 3).await?;
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    until_tagged(&fleet, 3, "a").await?;
    let machines = fleet.all_machines().await?;
    assert_eq!(types_of(&machines), BTreeSet::from(["sim.medium"]));
    assert!(machines.iter().all(|one| type_of(one) == Some("sim.medium")));
    assert_eq!(fleet.cloud().created(), 6, "each was replaced once");
    process.kill().await
}
