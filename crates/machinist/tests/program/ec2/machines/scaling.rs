//! 0 → 20 → 5 → 0 with hosts, load balancers, tags and pods that may not be disturbed: on a good day and on a bad one.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use machinist_testbed::aws::estate::InstanceFacts;
use machinist_testbed::aws::{Behaviour, Effect, Front, Rule};
use machinist_testbed::poll;
use serde_json::json;

use super::fleet::{CLUSTER_WIDE, Fleet, SET, UID};
use crate::ec2::support::{PATIENCE, stays};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_from_nothing_to_nothing() {
    let fleet = Fleet::new("good-day").await.unwrap();
    scale_up_and_down(&fleet).await.unwrap();
}

/// The same story with the same end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_while_ec2_is_slow_forgetful_and_loses_answers() {
    let fleet = Fleet::new("bad-day").await.unwrap();
    disturb(fleet.cloud.front());
    scale_up_and_down(&fleet).await.unwrap();
    assert_eq!(fleet.cloud.front().unmet_rules(), []);
}

fn disturb(front: &Front) {
    front.behave(Behaviour {
        hidden_for: Duration::from_millis(700),
        pending_for: Duration::from_secs(1),
        shutting_down_for: Duration::from_secs(1),
        page_size: Some(7),
        ..Behaviour::default()
    });
    front.inject(Rule::next("RunInstances", Effect::NoCapacity).times(2));
    for action in [
        "AllocateHosts",
        "RunInstances",
        "RegisterInstancesWithLoadBalancer",
        "RegisterTargets",
        "DeregisterInstancesFromLoadBalancer",
        "DeregisterTargets",
        "TerminateInstances",
        "ReleaseHosts",
    ] {
        // One after the other: the next rule is used when the one before has come true. The first is what a proxy says.
        front.inject(Rule::next(action, Effect::Garble));
        front.inject(Rule::next(action, Effect::ResetAfter).times(3));
        front.inject(Rule::next(action, Effect::Throttle).times(2));
        front.inject(Rule::every(action, Effect::Delay(Duration::from_millis(50))));
    }
    for action in ["DescribeImages", "DescribeSubnets", "DescribeInstances"] {
        front.inject(Rule::next(action, Effect::Throttle).times(2));
        front.inject(Rule::next(action, Effect::ResetBefore));
    }
}

async fn scale_up_and_down(fleet: &Fleet) -> Result<()> {
    let _controllers = fleet.controllers(&[]).await?;
    fleet.create_set(0, &fleet.rich_spec()).await?;
    fleet.scale(SET, 20).await?;
    let instances = fleet.settled(20).await?;
    fleet.all_registered(20).await?;
    ensure!(fleet.estate.hosts().await?.len() == 20, "a host each");
    instances.iter().try_for_each(|one| is_tagged(fleet, one))?;

    protect_everything(fleet, &instances).await?;
    fleet.scale(SET, 5).await?;
    nobody_may_go(fleet).await?;
    // More than there are pods: an eviction that is not answered in time counts again when it is repeated.
    allow(fleet, 100).await?;
    fleet.settled(5).await?;
    fleet.all_registered(5).await?;
    let pods = pods(fleet).list(&ListParams::default()).await?.items;
    ensure!(pods.len() == 5, "{} pods are left", pods.len());

    fleet.scale(SET, 0).await?;
    fleet.settled(0).await?;
    poll::eventually(PATIENCE, "nothing to be left", || fleet.ensure_nothing_left()).await?;
    // Twenty machines, and never more than one instance for each.
    let ever = fleet.estate.instances().await?;
    let machines: BTreeSet<_> = ever.iter().map(|one| &one.tags[UID]).collect();
    ensure!((ever.len(), machines.len()) == (20, 20), "{} for {}", ever.len(), machines.len());
    Ok(())
}

/// Tags of the spec, of the cluster and of ours.
fn is_tagged(fleet: &Fleet, instance: &InstanceFacts) -> Result<()> {
    let cluster = fleet.estate.cluster_tag();
    let wanted = [
        ("team", "a"),
        CLUSTER_WIDE,
        (&*cluster, "owned"),
        ("machinist.dev/cluster", fleet.estate.name()),
    ];
    for (key, value) in wanted {
        let found = instance.tags.get(key).map(String::as_str);
        ensure!(found == Some(value), "{key} is {found:?} on {}", instance.id);
    }
    ensure!(instance.tags.contains_key("Name") && instance.tags.contains_key(UID), "{instance:?}");
    Ok(())
}

fn pods(fleet: &Fleet) -> Api<Pod> {
    fleet.api()
}

fn budgets(fleet: &Fleet) -> Api<PodDisruptionBudget> {
    fleet.api()
}

/// A pod on every Node, and a budget that lets none of them go.
async fn protect_everything(fleet: &Fleet, instances: &[InstanceFacts]) -> Result<()> {
    let labels = json!({"app": "precious"});
    let budget = serde_json::from_value(json!({
        "metadata": {"name": "precious"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": labels}},
    }))?;
    budgets(fleet).create(&PostParams::default(), &budget).await?;
    allow(fleet, 0).await?;
    for instance in instances {
        let name = format!("pod-{}", instance.id);
        let pod = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "nodeName": instance.id,
                "containers": [{"name": "main", "image": "none"}],
                "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 1,
            },
        }))?;
        pods(fleet).create(&PostParams::default(), &pod).await?;
        let running = json!({"status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
        }});
        let as_user = PatchParams::default();
        pods(fleet).patch_status(&name, &as_user, &Patch::Strategic(running)).await?;
    }
    Ok(())
}

/// There is no disruption controller here, so the test says how many may go.
async fn allow(fleet: &Fleet, disruptions: i32) -> Result<()> {
    let status = json!({"status": {
        "observedGeneration": 1,
        "disruptionsAllowed": disruptions,
        "currentHealthy": 20,
        "desiredHealthy": (20 - disruptions).max(0),
        "expectedPods": 20,
    }});
    let patch = Patch::Merge(status);
    budgets(fleet).patch_status("precious", &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Fifteen machines are asked to go, and stay for the sake of their pods.
async fn nobody_may_go(fleet: &Fleet) -> Result<()> {
    poll::eventually(PATIENCE, "fifteen machines to be asked to go", || async {
        let machines = fleet.all_machines().await?;
        let asked = machines.iter().filter(|one| one.metadata.deletion_timestamp.is_some());
        let asked = asked.count();
        ensure!(asked == 15, "{asked} are");
        Ok(())
    })
    .await?;
    stays("no instance to go before its pod", async || {
        let terminated = fleet.cloud.front().calls_of("TerminateInstances");
        ensure!(terminated.is_empty(), "{terminated:?}");
        Ok(())
    })
    .await
}
