//! EC2 cannot be asked, or not there.

use anyhow::{Result, ensure};
use http::StatusCode;
use machinist_testbed::aws::{Effect as CloudEffect, Rule as CloudRule};
use machinist_testbed::faults::{Effect, Gate, Match, Rule};
use machinist_testbed::poll;
use serde_json::json;

use crate::ec2::support::annotator::Launch;
use crate::ec2::support::cloud::{TYPES, cloud};
use crate::ec2::support::world::{Ec2World, VCPU, machine};
use crate::ec2::support::{PATIENCE, stays};

#[tokio::test(flavor = "multi_thread")]
async fn the_catalogue_stands_in_until_ec2_answers_again() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("throttled").await?, cloud().await?);
    cloud.front().inject(CloudRule::every(TYPES, CloudEffect::Throttle));
    let annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    world.create("current", machine("m5.large")).await?;
    // This EC2 has retired the types with AMD's GPUs; only the catalogue knows them.
    world.create("retired", machine("g4ad.xlarge")).await?;
    let retired = world.until_annotated("retired", VCPU, "4").await?;
    assert_eq!(retired["capacity.cluster-autoscaler.kubernetes.io/gpu-type"], "amd.com/gpu");
    for (name, vcpus) in [("current", "2"), ("retired", "4")] {
        world.until_annotated(name, VCPU, vcpus).await?;
        world.hears(name, "CatalogueUsed", "Throttled").await?;
    }
    assert!(annotator.calls("Throttled").await? > 0.5);
    let series = r#"machinist_events_total{reason="CatalogueUsed",result="written"}"#;
    poll::eventually(PATIENCE, "both to be counted", || async {
        let value = annotator.metric(series).await?;
        ensure!(value > 1.5, "{value} so far");
        Ok(())
    })
    .await?;
    let series = r#"machinist_catalogue_answers_total{reason="Throttled"}"#;
    assert!(annotator.metric(series).await? > 1.5, "the catalogue answered for both");
    assert!(world.event_notes("retired", "FailedUpdate").await?.is_empty());

    // Now EC2 decides: it does not have the one, and agrees about the other.
    cloud.front().reset().await;
    world.hears("retired", "FailedUpdate", "g4ad.xlarge").await?;
    assert!(annotator.calls("ok").await? > 0.5);
    world.patched("current", 1).await?;
    world.patched("retired", 1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_catalogue_stands_in_for_who_may_not_ask() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("refused").await?, cloud().await?);
    let refusal = CloudEffect::Refuse {
        status: StatusCode::FORBIDDEN,
        code: "UnauthorizedOperation".to_owned(),
        message: "You are not authorized to perform this operation.".to_owned(),
    };
    cloud.front().inject(CloudRule::every(TYPES, refusal));
    let annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    world.create("set", machine("m5.large")).await?;
    world.hears("set", "CatalogueUsed", "Unauthorised").await?;
    world.until_annotated("set", VCPU, "2").await?;
    // "Could not ask" is not "does not exist": what the catalogue does not know, either, is no unknown type.
    world.create("new", machine("m99.mega")).await?;
    world.hears("new", "ReconcileError", "UnauthorizedOperation").await?;
    assert!(world.event_notes("new", "FailedUpdate").await?.is_empty());
    assert!(annotator.calls("Unauthorised").await? > 0.5);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_catalogue_nothing_is_written_until_ec2_answers() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("ec2-alone").await?, cloud().await?);
    cloud.front().inject(CloudRule::every(TYPES, CloudEffect::Throttle));
    let launch = Launch::new(&world)?.asking(&cloud).flag("--instance-types=ec2");
    let annotator = launch.start().await?;
    world.create("set", machine("m5.large")).await?;
    world.hears("set", "ReconcileError", "RequestLimitExceeded").await?;
    poll::eventually(PATIENCE, "some more attempts", || async {
        let throttled = annotator.calls("Throttled").await?;
        ensure!(throttled > 2.5, "{throttled} so far");
        Ok(())
    })
    .await?;
    assert_eq!(world.patches("set")?, 0);
    assert_eq!(world.event_notes("set", "ReconcileError").await?.len(), 1);

    cloud.front().reset().await;
    world.until_annotated("set", VCPU, "2").await?;
    assert!(world.event_notes("set", "CatalogueUsed").await?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_that_cannot_be_used_is_told_and_the_catalogue_does_not_stand_in() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("regions").await?, cloud().await?);
    let _annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    let cases = [
        ("closed", "ap-southeast-4", "region ap-southeast-4 is not opted in"),
        ("wrong", "mars-north-1", "region mars-north-1 is not a valid region"),
    ];
    for (name, region, _) in cases {
        let mut machine = machine("m5.large");
        machine["placement"] = json!({"region": region});
        world.create(name, machine).await?;
    }
    for (name, _, reason) in cases {
        world.hears(name, "ReconcileError", reason).await?;
    }
    stays("nothing is written", async || {
        for (name, ..) in cases {
            ensure!(!world.annotations(name).await?.contains_key(VCPU), "{name}");
        }
        Ok(())
    })
    .await?;
    assert!(cloud.front().calls_of(TYPES).is_empty());
    // A correction takes effect at once.
    world.change("wrong", machine("m5.large")).await?;
    world.until_annotated("wrong", VCPU, "2").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_see_definitions_finds_plain_kubernetes_by_discovery() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("no-crds").await?, cloud().await?);
    let proxy = world.another_proxy().await?;
    proxy.add_rule(Rule::new(definitions(), Effect::answer(403)));
    world.create("set", machine("m5.large")).await?;
    let annotator = Launch::new(&world)?.behind(&proxy)?.asking(&cloud).start().await?;
    world.until_annotated("set", VCPU, "2").await?;
    assert_eq!(cloud.front().calls_of(TYPES).len(), 1);
    assert!(world.event_notes("set", "CatalogueUsed").await?.is_empty());
    assert!(annotator.log()?.contains("using discovery instead of CustomResourceDefinitions"));
    Ok(())
}

/// Whether this is OpenShift, and where EC2 is then, is not known: EC2 is not called until it is.
#[tokio::test(flavor = "multi_thread")]
async fn while_no_answer_about_definitions_comes_the_catalogue_stands_in() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("slow-crds").await?, cloud().await?);
    let (proxy, gate) = (world.another_proxy().await?, Gate::new());
    proxy.add_rule(Rule::new(definitions(), Effect::Hold(gate.clone())));
    world.create("set", machine("m5.large")).await?;
    let _annotator = Launch::new(&world)?.behind(&proxy)?.asking(&cloud).start().await?;
    world.hears("set", "CatalogueUsed", "cannot read").await?;
    world.until_annotated("set", VCPU, "2").await?;
    assert!(cloud.front().calls().is_empty());

    gate.open();
    poll::eventually(PATIENCE, "EC2 to be asked", || async {
        ensure!(!cloud.front().calls_of(TYPES).is_empty(), "nothing yet");
        Ok(())
    })
    .await?;
    world.patched("set", 1).await
}

fn definitions() -> Match {
    Match::any().resource("customresourcedefinitions")
}
