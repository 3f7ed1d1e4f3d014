//! Idempotency tokens, as EC2 keeps them and moto does not.

use std::time::Duration;

use crate::aws_front::bed;

#[tokio::test]
async fn the_same_token_is_the_same_instance() {
    let (_bed, client) = bed("us-east-1").await;
    let first = client.run(&[("ClientToken", "a")]).await;
    let again = client.run(&[("ClientToken", "a")]).await;
    assert_eq!(first.body, again.body);
    assert_eq!(client.instances().await, [first.instance()]);

    // Temporary credentials change with every session; the account does not.
    let mut restarted = client.clone();
    restarted.access_key_id = "ASIAOTHER".to_owned();
    let again = restarted.run(&[("ClientToken", "a")]).await;
    assert_eq!(first.instance(), again.instance());

    let other = client.run(&[("ClientToken", "b")]).await;
    assert_ne!(first.instance(), other.instance());
    let unnamed = [client.run(&[]).await, client.run(&[]).await];
    assert_ne!(unnamed[0].instance(), unnamed[1].instance());
    assert_eq!(client.instances().await.len(), 4);
}

#[tokio::test]
async fn the_same_token_with_other_parameters_is_refused() {
    let (_bed, client) = bed("us-east-2").await;
    let first = client.run(&[("ClientToken", "a")]).await;
    let other = client.run(&[("ClientToken", "a"), ("EbsOptimized", "true")]);
    other.await.assert_error(400, "IdempotentParameterMismatch");
    assert_eq!(client.instances().await, [first.instance()]);
}

#[tokio::test]
async fn the_token_of_a_terminated_instance_is_refused_until_it_is_forgotten() {
    let (bed, client) = bed("us-west-1").await;
    let token = [("ClientToken", "a")];
    let first = client.run(&token).await.instance();
    let named = [("InstanceId.1", first.as_str())];
    let terminated = client.ec2("TerminateInstances", &named).await;
    assert_eq!(terminated.instance(), first);
    let again = client.run(&token).await;
    again.assert_error(400, "IdempotentInstanceTerminated");

    bed.front().clock().advance(Duration::from_hours(25));
    assert_ne!(client.run(&token).await.instance(), first);
}

#[tokio::test]
async fn calls_with_one_token_that_arrive_together_make_one_instance() {
    let (_bed, client) = bed("us-west-2").await;
    let token = [("ClientToken", "a")];
    let calls = (0..4).map(|_| client.run(&token));
    let replies = futures::future::join_all(calls).await;
    let ids: Vec<_> = replies.iter().map(super::client::Reply::instance).collect();
    assert_eq!(client.instances().await, [ids[0].as_str()]);
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[tokio::test]
async fn a_token_belongs_to_its_zone() {
    let (_bed, client) = bed("eu-west-1").await;
    let subnets = client.ec2("DescribeSubnets", &[]).await;
    let zones = subnets.all("availabilityZone");
    let [in_a, in_b, ..] = &subnets.all("subnetId")[..] else {
        panic!("two subnets are needed: {subnets:?}");
    };
    assert_ne!(zones[0], zones[1]);
    let run = async |subnet: &str| client.run(&[("ClientToken", "a"), ("SubnetId", subnet)]).await;
    let first = run(in_a).await.instance();
    assert_ne!(run(in_b).await.instance(), first);
    assert_eq!(run(in_a).await.instance(), first);

    // Another subnet of the same zone is the same memory, and so a contradiction.
    let beside = [
        ("VpcId", subnets.first("vpcId")),
        ("AvailabilityZone", zones[0].clone()),
        ("CidrBlock", "172.31.240.0/24".to_owned()),
    ];
    let beside = beside.each_ref().map(|(name, value)| (*name, value.as_str()));
    let beside = client.ec2("CreateSubnet", &beside).await.first("subnetId");
    let answer = run(&beside).await;
    answer.assert_error(400, "IdempotentParameterMismatch");
}

#[tokio::test]
async fn hosts_are_allocated_once_per_token() {
    let (_bed, client) = bed("eu-west-2").await;
    let host = [
        ("AvailabilityZone", "eu-west-2a"),
        ("InstanceType", "m5.large"),
        ("Quantity", "1"),
        ("ClientToken", "a"),
    ];
    let first = client.ec2("AllocateHosts", &host).await;
    let again = client.ec2("AllocateHosts", &host).await;
    assert_eq!(first.body, again.body);
    let hosts = client.ec2("DescribeHosts", &[]).await.all("hostId");
    assert_eq!(hosts.len(), 1);
    let other = host.map(|(name, value)| (name, if name == "Quantity" { "2" } else { value }));
    let other = client.ec2("AllocateHosts", &other).await;
    other.assert_error(400, "IdempotentParameterMismatch");
}

#[tokio::test]
async fn instances_are_found_by_their_token() {
    let (_bed, client) = bed("eu-west-3").await;
    let tag = [
        ("TagSpecification.1.ResourceType", "instance"),
        ("TagSpecification.1.Tag.1.Key", "Name"),
        ("TagSpecification.1.Tag.1.Value", "one"),
    ];
    let named = [&tag[..], &[("ClientToken", "a")]].concat();
    let first = client.run(&named).await.instance();
    client.run(&[("ClientToken", "b")]).await.instance();
    let find = async |token: &str, name: &str| {
        let filters = [
            ("Filter.1.Name", "client-token"),
            ("Filter.1.Value.1", token),
            ("Filter.2.Name", "tag:Name"),
            ("Filter.2.Value.1", name),
        ];
        let found = client.ec2("DescribeInstances", &filters).await;
        found.all("instanceId")
    };
    assert_eq!(find("a", "one").await, [first]);
    assert_eq!(find("b", "one").await, [""; 0]);
    assert_eq!(find("a", "two").await, [""; 0]);
}

#[tokio::test]
async fn a_dry_run_does_not_use_up_its_token() {
    let (_bed, client) = bed("eu-north-1").await;
    let dry = [("ClientToken", "a"), ("DryRun", "true")];
    client.run(&dry).await.assert_error(412, "DryRunOperation");
    let real = client.run(&[("ClientToken", "a")]).await.instance();
    assert_eq!(client.instances().await, [real]);
}
