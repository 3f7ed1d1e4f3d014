//! An Event that could not be written is not forgotten, and does not take the others with it.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{ListParams, PostParams};
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::poll;
use serde_json::json;

use crate::processes::support::replica::Replica;
use crate::processes::support::time::PATIENCE;
use crate::processes::support::world::{AnnotatorWorld, SMALL, spec};

/// The Events of one reconcile of a set that a user has changed, in this order.
const TOLD: [&str; 3] = ["Annotated", "ArchitectureReplaced", "UserValueKept"];

fn creations() -> Match {
    Match::any().verbs([Verb::Create]).resource("events")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_event_of_a_pass_fails_and_all_are_written_in_the_end() -> Result<()> {
    let world = AnnotatorWorld::new("unsaid").await?;
    let replica = Replica::start(&world, &[]).await?;
    replica.process.wait_ready().await?;
    let failure = replica.proxy.add_rule(Rule::new(creations(), Effect::answer(500)).times(1));
    let set = serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"name": "set", "annotations": {
            "capacity.cluster-autoscaler.kubernetes.io/cpu": "3",
            "capacity.cluster-autoscaler.kubernetes.io/labels": "kubernetes.io/arch=arm64",
        }},
        "spec": spec(SMALL),
    }))?;
    world.sets().create(&PostParams::default(), &set).await?;
    failure.hit(1, PATIENCE).await?;
    poll::eventually(PATIENCE, "every Event", || async {
        let events = Api::<Event>::namespaced(world.client.clone(), &world.namespace);
        let events = events.list(&ListParams::default()).await?;
        let reasons: BTreeSet<_> = events.iter().filter_map(|event| event.reason.clone()).collect();
        ensure!(reasons == TOLD.map(str::to_owned).into(), "{reasons:?}");
        Ok(())
    })
    .await?;
    // The others of the reconcile were written at once; only the one that failed waited for the retry.
    let attempts: Vec<_> = replica.proxy.log().matching(&creations());
    let names: Vec<_> = attempts.iter().filter_map(|entry| entry.request.name.clone()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(names[0].contains(TOLD[0]) && names[3] == names[0], "{names:?}");
    assert_eq!(replica.patches().len(), 1, "{}", replica.proxy.log());
    Ok(())
}
