//! cluster-autoscaler on a MachineDeployment: from zero and back, and in the middle of a roll. Its rules are a test
//! double, which reads and writes as the original does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::DynamicObject;
use machinist_testbed::autoscaler::{Autoscaler, Instance, NodeGroup};
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::poll::holds_for;
use machinist_testbed::world::reading::{is_alive, node_of};
use serde_json::json;

use crate::fleet::fixture::Fleet;
use crate::fleet::rollouts::{WEB, create, edit, type_of, until_complete};

async fn allow(fleet: &Fleet, min: u32, max: u32) -> Result<()> {
    let size = |end| format!("machine.openshift.io/cluster-api-autoscaler-node-group-{end}-size");
    let annotations =
        BTreeMap::from([(size("min"), min.to_string()), (size("max"), max.to_string())]);
    fleet.patch_deployment(WEB, json!({"metadata": {"annotations": annotations}})).await
}

async fn until_group(fleet: &Fleet, autoscaler: &Autoscaler<'_>) -> Result<NodeGroup> {
    fleet.eventually("the node group", || autoscaler.node_group()).await
}

async fn names(fleet: &Fleet) -> Result<BTreeSet<String>> {
    Ok(fleet.all_machines().await?.iter().map(ResourceExt::name_any).collect())
}

/// The Nodes of these Machines.
async fn nodes_of(fleet: &Fleet, machines: &[DynamicObject]) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    for machine in machines {
        nodes.push(fleet.nodes().get(node_of(machine)).await?);
    }
    Ok(nodes)
}

#[tokio::test(flavor = "multi_thread")]
async fn scales_a_deployment_from_zero_and_back_and_deletes_the_nodes_that_it_names() -> Result<()>
{
    let fleet = Fleet::with_deployments("autoscaled").await?;
    let autoscaler = Autoscaler::new(&fleet);
    create(&fleet, 0, json!({})).await?;
    allow(&fleet, 0, 4).await?;
    assert_eq!(autoscaler.node_groups().await?, [], "at zero, its capacity is needed");
    let process = fleet.run()?;
    let group = until_group(&fleet, &autoscaler).await?;
    assert_eq!((group.kind, &*group.name, group.max), ("MachineDeployment", WEB, 4));
    let template = group.template.as_ref().context("a template")?;
    assert_eq!((&*template.cpu, &*template.memory), ("2", "4096Mi"));
    assert_eq!(template.labels["kubernetes.io/arch"], "amd64");

    autoscaler.increase(&group, 4).await?;
    let all = until_complete(&fleet, 4).await?;
    let group = autoscaler.node_group().await?;
    let ids = fleet.own_nodes().await?.into_iter().filter_map(|node| node.spec?.provider_id);
    let ids: BTreeSet<_> = ids.collect();
    let running = autoscaler.instances(&group).await?.into_iter().map(|one| match one {
        Instance::Running(id) => Ok(id),
        other => anyhow::bail!("{other:?}"),
    });
    assert_eq!(running.collect::<Result<BTreeSet<_>>>()?, ids, "as the Nodes have it");
    assert!(!autoscaler.rolls(WEB).await?);

    // Exactly the Machines of these Nodes go.
    let machines = fleet.all_machines().await?;
    autoscaler.delete_nodes(&group, &nodes_of(&fleet, &machines[1..3]).await?).await?;
    let left = until_complete(&fleet, 2).await?;
    let gone = machines[1..3].iter().map(ResourceExt::name_any).collect();
    assert_eq!(left, all.difference(&gone).cloned().collect());

    let nodes = nodes_of(&fleet, &fleet.all_machines().await?).await?;
    autoscaler.delete_nodes(&group, &nodes).await?;
    until_complete(&fleet, 0).await?;
    assert_eq!(autoscaler.node_group().await?.replicas, 0, "it can be scaled again");
    assert_eq!((fleet.cloud().created(), fleet.cloud().live()), (4, 0));
    process.kill().await
}

/// Waits until the deployment has Machines with Nodes of both templates, and pauses it there.
async fn stop_in_the_middle(fleet: &Fleet) -> Result<()> {
    fleet
        .eventually("a Node of the new template", || async {
            let machines = fleet.all_machines().await?;
            let new = machines.iter().filter(|one| type_of(one) == Some("sim.medium"));
            ensure!(new.filter(|one| !node_of(one).is_empty()).count() > 0, "none");
            Ok(())
        })
        .await?;
    fleet.patch_deployment(WEB, json!({"spec": {"paused": true}})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn scales_in_the_middle_of_a_roll_and_marked_machines_go_first() -> Result<()> {
    let fleet = Fleet::with_deployments("autoscaled-roll").await?;
    let autoscaler = Autoscaler::new(&fleet);
    create(&fleet, 4, json!({"strategy": {"rollingUpdate": {"maxSurge": 2}}})).await?;
    allow(&fleet, 1, 10).await?;
    // The marks arrive after the size.
    let watches = Match::any().verbs([Verb::Watch]).resource("machines");
    fleet.proxy.add_rule(Rule::new(watches, Effect::DelayEvents(Duration::from_millis(300))));
    let process = fleet.run()?;
    until_complete(&fleet, 4).await?;
    edit(&fleet, "sim.medium").await?;
    stop_in_the_middle(&fleet).await?;
    assert!(autoscaler.rolls(WEB).await?);

    // While the roll rests, a scale-up and targeted deletions of new Machines. Others could be spared, too.
    let limits = json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}});
    fleet.patch_deployment(WEB, json!({"spec": {"strategy": limits}})).await?;
    let group = autoscaler.node_group().await?;
    autoscaler.increase(&group, 4).await?;
    let settled = fleet.eventually("the scaled deployment to settle", || async {
        let machines = fleet.all_machines().await?;
        let steady = machines.iter().all(|one| is_alive(one) && !node_of(one).is_empty());
        let deployment = fleet.deployments().get(WEB).await?;
        let status = &deployment.data["status"];
        let seen = status["observedGeneration"].as_i64() == deployment.metadata.generation;
        let ready = status["readyReplicas"].as_u64() == u64::try_from(machines.len()).ok();
        ensure!(steady && seen && ready && machines.len() >= 8, "{} Machines", machines.len());
        Ok(machines)
    });
    let machines = settled.await?;
    let of = |kind: &str| -> Vec<DynamicObject> {
        machines.iter().filter(|one| type_of(one) == Some(kind)).cloned().collect()
    };
    let (old, new) = (of("sim.small"), of("sim.medium"));
    assert!(!old.is_empty() && new.len() >= 4, "{} old, {} new", old.len(), new.len());
    // In proportion, the old set would lose Machines, too.
    let marked = &new[..4];
    let before = names(&fleet).await?;
    autoscaler.delete_nodes(&group, &nodes_of(&fleet, marked).await?).await?;
    let spared: BTreeSet<_> = {
        let marked: BTreeSet<_> = marked.iter().map(ResourceExt::name_any).collect();
        before.difference(&marked).cloned().collect()
    };
    fleet
        .eventually("the marked Machines to go", || async {
            let names = names(&fleet).await?;
            ensure!(names.len() <= before.len() - 4, "{names:?}");
            Ok(())
        })
        .await?;
    holds_for(Duration::from_secs(1), "no other Machine goes", || async {
        let names = names(&fleet).await?;
        ensure!(names.is_superset(&spared), "{names:?} without some of {spared:?}");
        Ok(())
    })
    .await?;

    // The roll goes on.
    fleet.patch_deployment(WEB, json!({"spec": {"paused": false}})).await?;
    let after = until_complete(&fleet, 4).await?;
    for machine in marked {
        assert!(!after.contains(&machine.name_any()), "{} is left", machine.name_any());
    }
    assert!(!autoscaler.rolls(WEB).await?);
    process.kill().await
}
