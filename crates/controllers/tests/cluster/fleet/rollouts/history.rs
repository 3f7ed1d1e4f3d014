//! Old MachineSets beyond `revisionHistoryLimit`: deleted one after the other, while rollouts go on.

use std::time::Duration;

use anyhow::{Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::ResourceExt;
use kube::api::ListParams;
use machinist_testbed::faults::{Effect, LogEntry, Match, Rule, Verb};
use serde_json::json;

use super::{WEB, create, edit, template, until_complete};
use crate::fleet::fixture::Fleet;

const OLD: usize = 500;

fn in_flight_at_most(deletions: &[LogEntry]) -> usize {
    let ends = |entry: &LogEntry| entry.at + entry.took.unwrap_or(Duration::MAX / 2);
    let at = |time| deletions.iter().filter(|one| one.at <= time && time < ends(one)).count();
    deletions.iter().map(|entry| at(entry.at)).max().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_old_sets_are_deleted_one_at_a_time() -> Result<()> {
    let fleet = Fleet::with_deployments("history").await?;
    let process = fleet.run()?;
    let limit = json!({"revisionHistoryLimit": OLD + 10});
    create(&fleet, 1, limit).await?;
    until_complete(&fleet, 1).await?;
    let owner = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineDeployment", "name": WEB,
        "uid": fleet.deployments().get(WEB).await?.uid(), "controller": true,
    });
    stream::iter(0..OLD)
        .map(|number| {
            let labels = json!({"app": WEB, "old": number.to_string()});
            let mut old = template("sim.large");
            old["metadata"]["labels"]["old"] = labels["old"].clone();
            let selector = json!({"matchLabels": labels});
            let spec = json!({"replicas": 0, "selector": selector, "template": old});
            let metadata = json!({"labels": labels, "ownerReferences": [owner]});
            let (fleet, name) = (&fleet, format!("old-{number}"));
            async move { fleet.create_machine_set(&name, metadata, spec).await }
        })
        .buffer_unordered(16)
        .try_collect::<Vec<_>>()
        .await?;
    fleet.patch_deployment(WEB, json!({"spec": {"revisionHistoryLimit": 2}})).await?;
    let fewer = |most: usize| {
        let fleet = &fleet;
        let check = move || async move {
            let sets = fleet.sets().list(&ListParams::default()).await?.items.len();
            ensure!(sets <= most, "{sets}");
            Ok(())
        };
        fleet.eventually("fewer MachineSets", check)
    };
    fewer(OLD - 20).await?;
    // A rollout does not wait for the deletions, and is complete although one is refused.
    let deletions = || Match::any().verbs([Verb::Delete]).resource("machinesets");
    let refused = fleet.proxy.add_rule(Rule::new(deletions(), Effect::answer(403)));
    edit(&fleet, "sim.medium").await?;
    until_complete(&fleet, 1).await?;
    assert!(refused.hits() > 0, "old MachineSets are left");
    refused.remove();
    fewer(3).await?;
    let mut deletions = fleet.proxy.log().matching(&deletions());
    deletions.retain(|entry| entry.status == Some(200));
    let at_once = in_flight_at_most(&deletions);
    let took =
        deletions.last().map(|last| last.at.saturating_sub(deletions[0].at)).unwrap_or_default();
    println!("{} deletions, {at_once} at once, in {took:?}", deletions.len());
    assert_eq!((deletions.len(), at_once), (OLD - 1, 1), "one for each, one at a time");
    process.kill().await
}
