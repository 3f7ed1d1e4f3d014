//! OpenShift's own annotator beside ours: it writes every pair of the labels that it finds, in random order, for ever.

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams};
use machinist_testbed::poll;
use serde_json::json;

use crate::ec2::support::annotator::Launch;
use crate::ec2::support::cloud::cloud;
use crate::ec2::support::world::{Ec2World, LABELS, VCPU, machine, pairs};
use crate::ec2::support::{PATIENCE, stays};

const ROUNDS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_shuffles_the_pairs_is_not_fought() -> Result<()> {
    let (world, cloud) = (Ec2World::openshift("shuffle").await?, cloud().await?);
    world.point_to(&cloud.endpoint_url()).await?;
    world.renew_rival().await?;
    let annotator = Launch::new(&world)?.start().await?;
    let metadata = json!({"annotations": {LABELS: "team=a,tier=b"}});
    world.create_with("set", metadata, machine("m5.large")).await?;
    world.until_annotated("set", VCPU, "2").await?;

    for _ in 0..ROUNDS {
        world.renew_rival().await?;
        let annotations = world.annotations("set").await?;
        let mut shuffled: Vec<_> = annotations[LABELS].split(',').collect();
        fastrand::shuffle(&mut shuffled);
        let patch = json!({"metadata": {"annotations": {LABELS: shuffled.join(",")}}});
        world.sets().patch("set", &PatchParams::default(), &Patch::Merge(patch)).await?;
    }
    // It has seen them, and more are nothing to it.
    poll::eventually(PATIENCE, "the shuffles to be seen", || async {
        ensure!(annotator.reconciles("settled").await? > 2.5, "not yet");
        Ok(())
    })
    .await?;
    world.patched("set", 1).await?;
    stays("nothing is written", async || {
        let patches = world.patches("set")?;
        ensure!(patches == 1, "{patches} patches");
        Ok(())
    })
    .await?;
    let annotations = world.annotations("set").await?;
    let pairs: Vec<_> = pairs(&annotations).into_iter().collect();
    assert_eq!(pairs, [("kubernetes.io/arch", "amd64"), ("team", "a"), ("tier", "b")]);
    Ok(())
}

/// The catalogue answers at once, so the first reconcile writes; it must know by then.
#[tokio::test(flavor = "multi_thread")]
async fn a_rival_is_known_of_before_the_first_write() -> Result<()> {
    let world = Ec2World::openshift("rival").await?;
    world.renew_rival().await?;
    for name in ["a", "b", "c"] {
        world.create(name, machine("m5.large")).await?;
    }
    let launch = Launch::new(&world)?.flag("--instance-types=catalogue");
    let _annotator = launch.flag("--sync-period=400ms").start().await?;
    for name in ["a", "b", "c"] {
        let annotations = world.until_annotated(name, VCPU, "2").await?;
        assert_eq!(annotations[LABELS], "kubernetes.io/arch=amd64");
        world.patched(name, 1).await?;
    }
    stays("that is all", async || {
        for name in ["a", "b", "c"] {
            let patches = world.patches(name)?;
            ensure!(patches == 1, "{patches} patches of {name}");
        }
        Ok(())
    })
    .await?;
    // When it has gone, the next resync writes the other pairs.
    world.remove_rival().await?;
    for name in ["a", "b", "c"] {
        poll::eventually(PATIENCE, "all pairs", || async {
            let annotations = world.annotations(name).await?;
            let zone = pairs(&annotations).get("topology.kubernetes.io/zone").copied();
            ensure!(zone == Some("eu-west-1b"), "{annotations:?}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// An old Lease proves nothing; a renewed one shows that its holder is alive.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_is_old_or_was_given_back_is_no_rival() -> Result<()> {
    let now = Timestamp::now();
    let cases = [("old", "rival", now - SignedDuration::from_hours(24)), ("released", "", now)];
    for (name, holder, renewed) in cases {
        let world = Ec2World::openshift(name).await?;
        world.put_rival(holder, renewed).await?;
        world.create("set", machine("m5.large")).await?;
        let launch = Launch::new(&world)?.flag("--instance-types=catalogue");
        let _annotator = launch.start().await?;
        let annotations = world.until_annotated("set", VCPU, "2").await?;
        let pairs: Vec<_> = pairs(&annotations).into_keys().collect();
        let all = [
            "kubernetes.io/arch",
            "node.kubernetes.io/instance-type",
            "topology.kubernetes.io/region",
            "topology.kubernetes.io/zone",
        ];
        assert_eq!(pairs, all, "{name}");
        world.patched("set", 1).await?;
    }
    Ok(())
}
