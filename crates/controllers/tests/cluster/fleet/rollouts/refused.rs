//! Deployments and writes that are refused, and what goes on meanwhile.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::api::{DeleteParams, DynamicObject};
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::world::reading::{condition, message};
use serde_json::json;
use tokio::time::Instant;

use super::{WEB, create, template, until_complete};
use crate::fleet::fixture::Fleet;

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_cannot_be_patched_does_not_hold_up_scaling() -> Result<()> {
    let fleet = Fleet::with_deployments("refused").await?;
    let process = fleet.run()?;
    create(&fleet, 2, json!({})).await?;
    let before = until_complete(&fleet, 2).await?;
    let name = before.first().context("no Machine")?.clone();
    let labels = |request: &machinist_testbed::faults::ApiRequest| {
        request.json().is_some_and(|body| body["spec"].get("metadata").is_some())
    };
    let patches = Match::any().verbs([Verb::Patch]).resource("machines").name(name).that(labels);
    let refusal = fleet.proxy.add_rule(Rule::new(patches, Effect::answer(403)));
    let label = json!({"metadata": {"labels": {"tier": "gold"}}});
    fleet.patch_deployment(WEB, json!({"spec": {"template": {"spec": label}}})).await?;
    let reported = |web: &DynamicObject| {
        condition(web, "ReplicaFailure") == "True/FailedUpdate"
            && message(web, "ReplicaFailure").contains("Cannot update")
    };
    fleet.until_deployment(WEB, "the refusal is reported", reported).await?;
    fleet.patch_deployment(WEB, json!({"spec": {"replicas": 3}})).await?;
    until_complete(&fleet, 3).await?;
    refusal.remove();
    let done = |web: &DynamicObject| condition(web, "ReplicaFailure").is_empty();
    fleet.until_deployment(WEB, "it is tried again", done).await?;
    process.kill().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overlap_ends_with_the_older_deployment() -> Result<()> {
    let mut fleet = Fleet::with_deployments("overlap").await?;
    fleet.setup.timings.sync_period = Duration::from_secs(3600);
    let process = fleet.run()?;
    create(&fleet, 0, json!({})).await?;
    let created = Instant::now();
    until_complete(&fleet, 0).await?;
    // Ages are in whole seconds.
    let is_older = || async {
        ensure!(created.elapsed() > Duration::from_secs(1));
        Ok(())
    };
    fleet.eventually("another second", is_older).await?;
    let selector = json!({"matchLabels": {"app": WEB}});
    let spec = json!({"replicas": 0, "selector": selector, "template": template("sim.medium")});
    fleet.create_machine_deployment("other", json!({}), spec).await?;
    let is = |reason: &'static str| {
        move |other: &DynamicObject| condition(other, "Progressing") == reason
    };
    fleet.until_deployment("other", "the overlap", is("False/InvalidConfiguration")).await?;
    fleet.deployments().delete(WEB, &DeleteParams::background()).await?;
    fleet.until_deployment("other", "its own rollout", is("True/NewMachineSetAvailable")).await?;
    process.kill().await
}
