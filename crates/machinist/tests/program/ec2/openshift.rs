//! Settings that only OpenShift has: the endpoint of EC2 and the trusted CA.

use anyhow::{Context, Result, ensure};
use machinist_testbed::aws::{Authority, Transport};
use machinist_testbed::poll;
use serde_json::json;

use crate::ec2::support::PATIENCE;
use crate::ec2::support::annotator::Launch;
use crate::ec2::support::cloud::{TYPES, cloud, cloud_over};
use crate::ec2::support::world::{Ec2World, VCPU, machine};

#[tokio::test(flavor = "multi_thread")]
async fn the_endpoint_is_the_infrastructures_and_a_new_one_is_asked_at_once() -> Result<()> {
    let world = Ec2World::openshift("endpoint").await?;
    let (first, second, ambient) = (cloud().await?, cloud().await?, cloud().await?);
    world.point_to(&first.endpoint_url()).await?;
    let _annotator = Launch::new(&world)?.asking(&ambient).start().await?;
    world.create("set", machine("m5.large")).await?;
    world.until_annotated("set", VCPU, "2").await?;
    assert_eq!(first.front().calls_of(TYPES).len(), 1);

    world.point_to(&second.endpoint_url()).await?;
    poll::eventually(PATIENCE, "the second endpoint to be asked", || async {
        ensure!(!second.front().calls_of(TYPES).is_empty(), "nothing yet");
        Ok(())
    })
    .await?;
    world.change("set", machine("m5.xlarge")).await?;
    world.until_annotated("set", VCPU, "4").await?;
    assert_eq!(first.front().calls_of(TYPES).len(), 1);
    assert!(ambient.front().calls().is_empty(), "the cluster's word counts for more");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_ca_is_trusted_from_the_moment_that_the_cluster_does() -> Result<()> {
    let world = Ec2World::openshift("trust").await?;
    let cloud = cloud_over(Transport::Tls(Authority::new()?)).await?;
    world.point_to(&cloud.endpoint_url()).await?;
    let launch = Launch::new(&world)?.flag("--instance-types=ec2");
    let annotator = launch.start().await?;
    world.create("set", machine("m5.large")).await?;
    world.hears("set", "ReconcileError", "Cannot read capacities").await?;
    assert!(!world.annotations("set").await?.contains_key(VCPU));
    assert!(annotator.log()?.to_lowercase().contains("certificate"));
    assert!(cloud.front().calls().is_empty());

    world.trust(cloud.ca_pem().context("a CA")?).await?;
    world.until_annotated("set", VCPU, "2").await?;
    assert_eq!(cloud.front().calls_of(TYPES).len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ca_that_is_there_from_the_start_is_trusted_with_the_first_question() -> Result<()> {
    let world = Ec2World::openshift("trusted").await?;
    let cloud = cloud_over(Transport::Tls(Authority::new()?)).await?;
    world.point_to(&cloud.endpoint_url()).await?;
    world.trust(cloud.ca_pem().context("a CA")?).await?;
    world.create("set", machine("m5.large")).await?;
    let annotator = Launch::new(&world)?.start().await?;
    world.until_annotated("set", VCPU, "2").await?;
    assert!(world.event_notes("set", "CatalogueUsed").await?.is_empty());
    assert!((annotator.calls("ok").await? - 1.0).abs() < 0.5);
    assert!(annotator.calls("Unavailable").await? < 0.5);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_becomes_openshift_later_is_heard() -> Result<()> {
    let world = Ec2World::before_openshift("late").await?;
    let (before, after) = (cloud().await?, cloud().await?);
    let _annotator = Launch::new(&world)?.asking(&before).start().await?;
    world.create("set", machine("m5.large")).await?;
    world.until_annotated("set", VCPU, "2").await?;
    assert_eq!(before.front().calls_of(TYPES).len(), 1);
    world.become_openshift().await?;
    world.point_to(&after.endpoint_url()).await?;
    poll::eventually(PATIENCE, "the cluster's endpoint to be asked", || async {
        ensure!(!after.front().calls_of(TYPES).is_empty(), "nothing yet");
        Ok(())
    })
    .await
}

/// It might name another endpoint for the credentials, so EC2 is not called until it can be read.
#[tokio::test(flavor = "multi_thread")]
async fn an_infrastructure_that_cannot_be_read_is_not_absent() -> Result<()> {
    let world = Ec2World::openshift("unreadable").await?;
    let (cloud, ambient) = (cloud().await?, cloud().await?);
    world.set_infrastructure(json!("on fire")).await?;
    world.create("set", machine("m5.large")).await?;
    let _annotator = Launch::new(&world)?.asking(&ambient).start().await?;
    world.hears("set", "CatalogueUsed", "Infrastructure").await?;
    world.until_annotated("set", VCPU, "2").await?;
    assert!(ambient.front().calls().is_empty(), "no endpoint was configured");

    world.point_to(&cloud.endpoint_url()).await?;
    poll::eventually(PATIENCE, "the endpoint to be asked", || async {
        ensure!(!cloud.front().calls_of(TYPES).is_empty(), "nothing yet");
        Ok(())
    })
    .await?;
    assert!(ambient.front().calls().is_empty());
    world.patched("set", 1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_ca_the_catalogue_stands_in_and_ec2_is_asked_when_it_comes() -> Result<()> {
    let world = Ec2World::openshift("no-ca").await?;
    let cloud = cloud_over(Transport::Tls(Authority::new()?)).await?;
    world.point_to(&cloud.endpoint_url()).await?;
    world.create("set", machine("m5.large")).await?;
    let annotator = Launch::new(&world)?.start().await?;
    world.until_annotated("set", VCPU, "2").await?;
    world.hears("set", "CatalogueUsed", "Unavailable").await?;
    assert!(cloud.front().calls().is_empty(), "nothing is sent over an untrusted connection");

    world.trust(cloud.ca_pem().context("a CA")?).await?;
    poll::eventually(PATIENCE, "EC2 to answer", || async {
        ensure!(annotator.calls("ok").await? > 0.5, "nothing yet");
        Ok(())
    })
    .await?;
    world.patched("set", 1).await
}
