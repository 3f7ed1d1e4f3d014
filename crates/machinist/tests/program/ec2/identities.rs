//! The credentials that calls to EC2 use.

use anyhow::{Result, ensure};
use kube::api::DeleteParams;
use machinist_testbed::aws::AwsBed;
use machinist_testbed::faults::{Match, Proxy, Verb};
use machinist_testbed::poll;

use crate::ec2::support::annotator::{AMBIENT, Launch};
use crate::ec2::support::cloud::{askers, cloud};
use crate::ec2::support::world::{Ec2World, VCPU, machine, machine_as};
use crate::ec2::support::{PATIENCE, stays};

fn keys(id: &str) -> [(&str, &str); 2] {
    [("aws_access_key_id", id), ("aws_secret_access_key", "secret")]
}

fn file(id: &str) -> String {
    format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = secret\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_without_a_secret_is_asked_about_as_the_process_itself() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("ambient").await?, cloud().await?);
    let _annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    world.create("set", machine("m5.large")).await?;
    world.until_annotated("set", VCPU, "2").await?;
    assert_eq!(askers(&cloud, "m5.large"), [AMBIENT]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_holds_keys_or_a_file_and_the_file_wins() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("secrets").await?, cloud().await?);
    let _annotator = Launch::new(&world)?.asking(&cloud).without_credentials().start().await?;
    world.put_secret("keys", &keys("AKIAKEYS")).await?;
    world.put_secret("file", &[("credentials", &file("AKIAFILE"))]).await?;
    let [id, secret] = keys("AKIALOSES");
    world.put_secret("both", &[id, secret, ("credentials", &file("AKIAWINS"))]).await?;
    let cases = [
        ("keys", "m5.large", "2", "AKIAKEYS"),
        ("file", "m5.xlarge", "4", "AKIAFILE"),
        ("both", "m5.2xlarge", "8", "AKIAWINS"),
    ];
    for (secret, instance_type, ..) in cases {
        world.create(secret, machine_as(secret, instance_type)).await?;
    }
    for (secret, instance_type, vcpus, id) in cases {
        world.until_annotated(secret, VCPU, vcpus).await?;
        assert_eq!(askers(&cloud, instance_type), [id]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_bad_secret_is_told_and_mending_it_is_heard() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("missing").await?, cloud().await?);
    let annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    world.create("set", machine_as("aws", "m5.large")).await?;
    let name = format!("{}/aws", world.namespace);
    world.hears("set", "ReconcileError", &format!("Secret {name} does not exist")).await?;
    let refused = annotator.reconciles("refused").await?;
    stays("it waits", async || {
        let now = annotator.reconciles("refused").await?;
        ensure!(now <= refused + 1.5, "{now} reconciles, {refused} before");
        ensure!(cloud.front().calls().is_empty(), "{:?}", cloud.front().calls());
        Ok(())
    })
    .await?;
    // Neither does the catalogue stand in for a Secret that is no use.
    world.put_secret("aws", &[("aws_access_key_id", "AKIAHALF")]).await?;
    world.hears("set", "ReconcileError", &format!("Secret {name} is invalid")).await?;
    assert!(!world.annotations("set").await?.contains_key(VCPU));

    world.put_secret("aws", &keys("AKIAGOOD")).await?;
    world.until_annotated("set", VCPU, "2").await?;
    assert_eq!(askers(&cloud, "m5.large"), ["AKIAGOOD"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_secret_is_used_without_a_restart() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("rotation").await?, cloud().await?);
    let _annotator = Launch::new(&world)?.asking(&cloud).start().await?;
    world.put_secret("aws", &keys("AKIAOLD")).await?;
    world.create("set", machine_as("aws", "m5.large")).await?;
    world.until_annotated("set", VCPU, "2").await?;
    world.put_secret("aws", &keys("AKIANEW")).await?;
    // Answers to the old identity do not count for the new one.
    poll::eventually(PATIENCE, "the new key to be used", || async {
        let askers = askers(&cloud, "m5.large");
        ensure!(askers == ["AKIAOLD", "AKIANEW"], "{askers:?}");
        Ok(())
    })
    .await?;
    world.change("set", machine_as("aws", "m5.xlarge")).await?;
    world.until_annotated("set", VCPU, "4").await?;
    assert_eq!(askers(&cloud, "m5.xlarge"), ["AKIANEW"]);
    Ok(())
}

/// On OpenShift only because one test at a time runs there: a process that looks everywhere must not meet the sets of
/// others.
#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_one_name_in_two_namespaces_are_two() -> Result<()> {
    let (one, cloud) = (Ec2World::openshift("one").await?, cloud().await?);
    let two = one.another("two").await?;
    one.point_to(&cloud.endpoint_url()).await?;
    let _annotator = Launch::everywhere(&one)?.start().await?;
    for (world, id) in [(&one, "AKIAONE"), (&two, "AKIATWO")] {
        world.put_secret("aws", &keys(id)).await?;
        world.create("set", machine_as("aws", "m5.large")).await?;
    }
    one.until_annotated("set", VCPU, "2").await?;
    two.until_annotated("set", VCPU, "2").await?;
    let mut askers = askers(&cloud, "m5.large");
    askers.sort_unstable();
    assert_eq!(askers, ["AKIAONE", "AKIATWO"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_no_set_names_any_more_is_not_watched_any_more() -> Result<()> {
    let (world, cloud, proxy) = watched("leavers").await?;
    let _annotator = Launch::new(&world)?.behind(&proxy)?.asking(&cloud).start().await?;
    for name in ["one", "two", "three"] {
        let secret = if name == "three" { "late" } else { "early" };
        world.create(name, machine_as(secret, "m5.large")).await?;
        world.until_annotated(name, VCPU, "2").await?;
    }
    open_watches(&proxy, 2).await?;
    // One changes its mind, one goes; only the second is the last to name the Secret.
    world.change("one", machine_as("late", "m5.xlarge")).await?;
    world.until_annotated("one", VCPU, "4").await?;
    assert_eq!(open(&proxy), 2);
    world.sets().delete("two", &DeleteParams::default()).await?;
    open_watches(&proxy, 1).await?;
    // What is left is still heard of.
    world.put_secret("late", &keys("AKIANEW")).await?;
    poll::eventually(PATIENCE, "the new key to be used", || async {
        ensure!(askers(&cloud, "m5.xlarge").contains(&"AKIANEW".to_owned()), "not yet");
        Ok(())
    })
    .await?;
    for name in ["one", "three"] {
        world.sets().delete(name, &DeleteParams::default()).await?;
    }
    open_watches(&proxy, 0).await?;
    // A set that names it again is served again.
    world.create("four", machine_as("early", "m5.2xlarge")).await?;
    world.until_annotated("four", VCPU, "8").await?;
    open_watches(&proxy, 1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn on_request_one_watch_has_all_secrets() -> Result<()> {
    let (world, cloud, proxy) = watched("all-secrets").await?;
    let launch = Launch::new(&world)?.behind(&proxy)?.asking(&cloud);
    let _annotator = launch.flag("--watch-all-secrets").start().await?;
    world.create("one", machine_as("early", "m5.large")).await?;
    world.create("two", machine_as("late", "m5.xlarge")).await?;
    world.create("three", machine_as("missing", "m5.2xlarge")).await?;
    world.until_annotated("one", VCPU, "2").await?;
    world.until_annotated("two", VCPU, "4").await?;
    world.hears("three", "ReconcileError", "does not exist").await?;
    // Rotation and creation are heard of as with a watch on each.
    world.put_secret("early", &keys("AKIANEW")).await?;
    poll::eventually(PATIENCE, "the new key to be used", || async {
        ensure!(askers(&cloud, "m5.large") == ["AKIAEARLY", "AKIANEW"], "not yet");
        Ok(())
    })
    .await?;
    world.put_secret("missing", &keys("AKIAFOUND")).await?;
    world.until_annotated("three", VCPU, "8").await?;
    open_watches(&proxy, 1).await?;
    let lists = proxy.log().matching(&Match::any().verbs([Verb::List]).resource("secrets"));
    assert_eq!(lists.len(), 1, "{}", proxy.log());
    Ok(())
}

/// A world with two Secrets, and a proxy that sees how they are watched.
async fn watched(name: &str) -> Result<(Ec2World, AwsBed, Proxy)> {
    let (world, cloud) = (Ec2World::plain(name).await?, cloud().await?);
    world.put_secret("early", &keys("AKIAEARLY")).await?;
    world.put_secret("late", &keys("AKIALATE")).await?;
    let proxy = world.another_proxy().await?;
    Ok((world, cloud, proxy))
}

/// How many watches of Secrets are open.
fn open(proxy: &Proxy) -> usize {
    let watches = proxy.log().matching(&Match::any().verbs([Verb::Watch]).resource("secrets"));
    watches.iter().filter(|entry| entry.took.is_none()).count()
}

async fn open_watches(proxy: &Proxy, wanted: usize) -> Result<()> {
    poll::eventually(PATIENCE, "watches of Secrets to open and close", || async {
        let open = open(proxy);
        ensure!(open == wanted, "{open} are open, not {wanted}:\n{}", proxy.log());
        Ok(())
    })
    .await
}
