//! Touch only what is yours.

use anyhow::{Result, ensure};
use kube::api::{DeleteParams, Patch, PatchParams};
use machinist_testbed::poll;
use serde_json::json;

use crate::ec2::support::PATIENCE;
use crate::ec2::support::annotator::Launch;
use crate::ec2::support::cloud::{askers, cloud};
use crate::ec2::support::world::{CPU, Ec2World, LABELS, VCPU, machine, pairs};

#[tokio::test(flavor = "multi_thread")]
async fn a_set_that_is_being_deleted_is_left_alone_and_nobody_is_asked() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("deleted").await?, cloud().await?);
    let metadata = json!({"finalizers": ["example.com/wait"]});
    world.create_with("going", metadata, machine("c5.large")).await?;
    world.sets().delete("going", &DeleteParams::default()).await?;
    let annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    world.create("staying", machine("m5.large")).await?;
    world.until_annotated("staying", VCPU, "2").await?;
    poll::eventually(PATIENCE, "a reconcile of each", || async {
        let settled = annotator.reconciles("settled").await?;
        ensure!(settled > 1.5, "{settled} so far");
        Ok(())
    })
    .await?;
    assert!(world.annotations("going").await?.is_empty());
    assert!(askers(&cloud, "c5.large").is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_users_set_is_kept_and_a_wrong_architecture_is_not() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("users").await?, cloud().await?);
    let mut annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    let labels = "topology.kubernetes.io/zone=mine,team=a,kubernetes.io/arch=arm64";
    let annotations = json!({CPU: "3", LABELS: labels, "example.com/x": "y", VCPU: "99"});
    let metadata = json!({"annotations": annotations});
    world.create_with("set", metadata, machine("m5.large")).await?;
    let annotations = world.until_annotated("set", VCPU, "2").await?;
    assert_eq!((&*annotations[CPU], &*annotations["example.com/x"]), ("3", "y"));
    let expected = [
        ("kubernetes.io/arch", "amd64"),
        ("node.kubernetes.io/instance-type", "m5.large"),
        ("team", "a"),
        ("topology.kubernetes.io/region", "eu-west-1"),
        ("topology.kubernetes.io/zone", "mine"),
    ];
    assert_eq!(pairs(&annotations).into_iter().collect::<Vec<_>>(), expected);
    world.hears("set", "ArchitectureReplaced", "arm64").await?;
    world.hears("set", "UserValueKept", CPU).await?;

    world.change("set", machine("m5.xlarge")).await?;
    let annotations = world.until_annotated("set", VCPU, "4").await?;
    assert_eq!(annotations[CPU], "3");
    assert_eq!(pairs(&annotations)["node.kubernetes.io/instance-type"], "m5.xlarge");
    assert_eq!(pairs(&annotations)["topology.kubernetes.io/zone"], "mine");
    assert_eq!(world.event_notes("set", "UserValueKept").await?.len(), 1);
    assert_eq!(world.event_notes("set", "ArchitectureReplaced").await?.len(), 1);

    // Neither a new process nor the end of the Event is a reason to write it again.
    annotator.terminate().await?;
    world.delete_events().await?;
    let annotator = Launch::new(&world)?.asking(&cloud).flag("--sync-period=300ms").start().await?;
    poll::eventually(PATIENCE, "some resyncs", || async {
        let settled = annotator.reconciles("settled").await?;
        ensure!(settled > 2.5, "{settled} so far");
        Ok(())
    })
    .await?;
    assert_eq!(world.event_notes("set", "UserValueKept").await?, [""; 0]);

    // A second value is news, the first is not.
    let memory = "capacity.cluster-autoscaler.kubernetes.io/memory";
    let patch = Patch::Merge(json!({"metadata": {"annotations": {memory: "1Gi"}}}));
    world.sets().patch("set", &PatchParams::default(), &patch).await?;
    world.hears("set", "UserValueKept", memory).await?;
    let notes = world.event_notes("set", "UserValueKept").await?;
    assert!(notes.len() == 1 && !notes[0].contains(CPU), "{notes:?}");
    assert_eq!(world.annotations("set").await?[memory], "1Gi");
    Ok(())
}
