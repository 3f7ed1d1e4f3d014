//! Updates in place. The tests are the agent, too: they set the result on Nodes that may be updated.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::poll::holds_for;
use machinist_testbed::world::reading::{condition, message, node_of};
use machinist_testbed::world::{Extremes, Observer};
use serde_json::{Value, json};

use super::{WEB, create, until_complete};
use crate::fleet::fixture::Fleet;
use crate::fleet::idle::stays_idle;

const MARK: &str = "machinist.dev/in-place-update";
const RESULT: &str = "machinist.dev/in-place-update-result";

fn in_place(limits: &Value) -> Value {
    json!({"strategy": {"type": "InPlaceUpdate", "inPlaceUpdate": limits}})
}

async fn run_image(fleet: &Fleet, image: &str) -> Result<()> {
    let template = json!({"spec": {"providerSpec": {"value": {"image": image}}}});
    fleet.patch_deployment(WEB, json!({"spec": {"template": template}})).await
}

fn images(machines: &[DynamicObject]) -> BTreeSet<&str> {
    machines
        .iter()
        .filter_map(|one| one.data.pointer("/spec/providerSpec/value/image")?.as_str())
        .collect()
}

fn is_cordoned(node: &Node) -> bool {
    node.spec.as_ref().and_then(|spec| spec.unschedulable) == Some(true)
}

/// Sets the result on every Node that is offered; returns how many Nodes are out of service.
async fn agent(fleet: &Fleet, result: &str) -> Result<usize> {
    let nodes = fleet.own_nodes().await?;
    for node in &nodes {
        let offered = node.labels().get(MARK).is_some_and(|mark| mark == "ready-for-update");
        if offered && !node.labels().contains_key(RESULT) {
            ensure!(is_cordoned(node), "it was offered without a cordon");
            let patch = Patch::Merge(json!({"metadata": {"labels": {RESULT: result}}}));
            fleet.nodes().patch(&node.name_any(), &PatchParams::default(), &patch).await?;
        }
    }
    Ok(nodes.iter().filter(|node| node.labels().contains_key(MARK)).count())
}

/// Works as the agent until all Machines have the image; returns how many Nodes were out of service at the same time.
async fn until_image(fleet: &Fleet, image: &str) -> Result<usize> {
    let most = std::sync::atomic::AtomicUsize::new(0);
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    fleet
        .eventually(&format!("all Machines to run {image}"), || async {
            most.fetch_max(agent(fleet, "successful").await?, relaxed);
            let machines = fleet.all_machines().await?;
            let idle = machines.iter().all(|one| condition(one, "InPlaceUpdate").is_empty());
            ensure!(images(&machines) == BTreeSet::from([image]) && idle, "not yet");
            Ok(())
        })
        .await?;
    Ok(most.load(relaxed))
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_are_updated_in_place_and_back_within_the_limit() -> Result<()> {
    let fleet = Fleet::with_deployments("in-place").await?;
    let process = fleet.run()?;
    create(&fleet, 4, in_place(&json!({"maxUnavailable": 2}))).await?;
    let before = until_complete(&fleet, 4).await?;
    // A user has cordoned a Node.
    let machines = fleet.all_machines().await?;
    let own = node_of(&machines[0]).to_owned();
    let cordon = Patch::Merge(json!({"spec": {"unschedulable": true}}));
    fleet.nodes().patch(&own, &PatchParams::default(), &cordon).await?;
    let observer = Observer::start(&fleet).await?;
    for image in ["one", "two", "one"] {
        run_image(&fleet, image).await?;
        let most = until_image(&fleet, image).await?;
        assert!(most <= 2, "{most} Nodes were out of service");
        assert_eq!(until_complete(&fleet, 4).await?, before);
        let cordoned: Vec<_> = fleet.own_nodes().await?.into_iter().filter(is_cordoned).collect();
        let names: Vec<_> = cordoned.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, [&*own]);
    }
    let Extremes { most, fewest_ready, .. } = observer.stop(&fleet).await?;
    assert_eq!((most, fewest_ready), (4, 4), "Machines are neither created nor deleted");
    assert_eq!((fleet.cloud().created(), fleet.cloud().live()), (4, 4));
    stays_idle(&fleet).await?;

    // What needs new instances is refused, by its name.
    let template = json!({"spec": {"providerSpec": {"value": {"instanceType": "sim.large"}}}});
    fleet.patch_deployment(WEB, json!({"spec": {"template": template}})).await?;
    let refused = |web: &DynamicObject| {
        condition(web, "Progressing") == "False/InvalidConfiguration"
            && message(web, "Progressing").contains("instanceType: sim.small → sim.large")
    };
    fleet.until_deployment(WEB, "the refusal", refused).await?;
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_machines_are_updated_in_place_within_the_limit() -> Result<()> {
    let fleet = Fleet::with_deployments("in-place-thirty").await?;
    let process = fleet.run()?;
    create(&fleet, 30, in_place(&json!({"maxUnavailable": "25%"}))).await?;
    let before = until_complete(&fleet, 30).await?;
    let observer = Observer::start(&fleet).await?;
    run_image(&fleet, "new").await?;
    let most = until_image(&fleet, "new").await?;
    println!("{most} Nodes were out of service at most");
    assert!((2..=7).contains(&most), "{most}: the limit is used and kept");
    assert_eq!(until_complete(&fleet, 30).await?, before);
    let Extremes { most, fewest_ready, .. } = observer.stop(&fleet).await?;
    assert_eq!((most, fewest_ready), (30, 30), "Machines are neither created nor deleted");
    assert_eq!((fleet.cloud().created(), fleet.cloud().live()), (30, 30));
    assert!(!fleet.own_nodes().await?.iter().any(is_cordoned));
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_selects_and_a_failed_update_waits_for_another_template() -> Result<()> {
    let fleet = Fleet::with_deployments("manual").await?;
    let process = fleet.run()?;
    create(&fleet, 2, in_place(&json!({"orchestrationType": "Manual"}))).await?;
    let before = until_complete(&fleet, 2).await?;
    run_image(&fleet, "bad").await?;
    let asks = |web: &DynamicObject| {
        message(web, "Progressing").contains("2 Machines to be selected with the label")
    };
    fleet.until_deployment(WEB, "the question", asks).await?;
    holds_for(Duration::from_secs(1), "no Node is drained", || async {
        ensure!(!fleet.own_nodes().await?.iter().any(is_cordoned), "a Node is cordoned");
        Ok(())
    })
    .await?;
    let select = json!({"metadata": {"labels": {MARK: "selected"}}});
    let first = before.first().unwrap();
    fleet.patch_machine(first, select.clone()).await?;
    fleet
        .eventually("the update to fail", || async {
            agent(&fleet, "failed").await?;
            let machine = fleet.machines().get(first).await?;
            ensure!(condition(&machine, "InPlaceUpdate") == "False/Failed", "not yet");
            Ok(())
        })
        .await?;
    let shown =
        |web: &DynamicObject| message(web, "Progressing").contains("1 Machine needs attention");
    fleet.until_deployment(WEB, "the failure to be shown", shown).await?;
    // Another template, and the other Machine is selected, too.
    run_image(&fleet, "good").await?;
    fleet.patch_machine(before.last().unwrap(), select).await?;
    until_image(&fleet, "good").await?;
    assert_eq!(until_complete(&fleet, 2).await?, before);
    assert!(!fleet.own_nodes().await?.iter().any(is_cordoned));
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_in_place_creates_nothing_with_late_watches_and_dying_processes() -> Result<()> {
    let fleet = Fleet::with_deployments("in-place-late").await?;
    // What the controllers see is 25 s old.
    let watches = Match::any().verbs([Verb::Watch]);
    fleet.proxy.add_rule(Rule::new(watches, Effect::DelayEvents(Duration::from_millis(500))));
    let mut process = fleet.run()?;
    create(&fleet, 3, in_place(&json!({}))).await?;
    let before = until_complete(&fleet, 3).await?;
    let observer = Observer::start(&fleet).await?;
    run_image(&fleet, "new").await?;
    for updated in 1..=3 {
        fleet
            .eventually(&format!("{updated} Machines to be updated"), || async {
                ensure!(agent(&fleet, "successful").await? <= 1, "two Nodes are out of service");
                let machines = fleet.all_machines().await?;
                let new = machines
                    .iter()
                    .filter(|one| images(std::slice::from_ref(*one)).contains("new"));
                ensure!(new.count() >= updated, "not yet");
                Ok(())
            })
            .await?;
        process.kill().await?;
        process = fleet.run()?;
    }
    until_image(&fleet, "new").await?;
    assert_eq!(until_complete(&fleet, 3).await?, before);
    let Extremes { most, fewest_ready, .. } = observer.stop(&fleet).await?;
    assert_eq!((most, fewest_ready), (3, 3));
    let sets = fleet.sets().list(&ListParams::default()).await?.items;
    let sizes: Vec<_> = sets.iter().map(|set| set.data["spec"]["replicas"].as_u64()).collect();
    assert_eq!(sizes.iter().flatten().sum::<u64>(), 3, "{sizes:?}");
    assert_eq!((fleet.cloud().created(), fleet.cloud().live()), (3, 3));
    process.kill().await
}
