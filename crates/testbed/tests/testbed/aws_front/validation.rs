//! What moto is configured to check, and what the front forwards unchanged.

use http::StatusCode;

use crate::aws_front::bed;

#[tokio::test]
async fn what_does_not_exist_is_refused() {
    let (_bed, client) = bed("me-south-1").await;
    let wrong = [
        ("InstanceType", "m5.enormous", "InvalidInstanceType.NotFound"),
        ("ImageId", "ami-00000000", "InvalidAMIID.NotFound"),
        ("KeyName", "missing", "InvalidKeyPair.NotFound"),
    ];
    for (name, value, code) in wrong {
        let mut parameters = vec![
            ("ImageId", crate::aws_front::IMAGE),
            ("InstanceType", "m5.large"),
            ("MinCount", "1"),
            ("MaxCount", "1"),
            ("ClientToken", name),
        ];
        parameters.retain(|(given, _)| *given != name);
        parameters.push((name, value));
        let answer = client.ec2("RunInstances", &parameters).await;
        answer.assert_error(400, code);
    }
    assert_eq!(client.instances().await, [""; 0]);
}

#[tokio::test]
async fn instance_types_are_asked_for_by_filter() {
    let (_bed, client) = bed("af-south-1").await;
    let filter = [
        ("Filter.1.Name", "instance-type"),
        ("Filter.1.Value.1", "m5.large"),
        ("Filter.1.Value.2", "m5.enormous"),
    ];
    let types = client.ec2("DescribeInstanceTypes", &filter).await;
    assert_eq!(types.all("instanceType"), ["m5.large"]);
    assert_eq!(types.first("defaultVCpus"), "2");
    assert_eq!(types.first("sizeInMiB"), "8192");
}

#[tokio::test]
async fn what_moto_cannot_do_comes_through_as_it_is() {
    let (_bed, client) = bed("eu-south-1").await;
    let name = [("GroupName", "g"), ("Strategy", "cluster")];
    let answer = client.ec2("CreatePlacementGroup", &name).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(answer.body.starts_with("<!doctype html>"), "{answer:?}");
}

#[tokio::test]
async fn every_call_is_logged_and_nothing_else() {
    let (bed, client) = bed("me-central-1").await;
    client.run(&[("ClientToken", "a")]).await.instance();
    client.run(&[("ClientToken", "a")]).await.instance();
    client.auto_scaling("DescribeAutoScalingGroups", &[]).await;
    let calls = bed.front().calls();
    let actions: Vec<_> = calls.iter().map(|call| call.action.as_str()).collect();
    let expected = ["RunInstances", "RunInstances", "DescribeAutoScalingGroups"];
    assert_eq!(actions, expected);
    let run = &calls[0];
    assert_eq!(run.service, "ec2");
    assert_eq!(run.region, "me-central-1");
    assert_eq!(run.access_key_id, "AKIDTEST");
    assert_eq!(run.status, Some(StatusCode::OK));
    assert_eq!(run.parameters["InstanceType"], "m5.large");
    assert_eq!(run.parameters["ClientToken"], "a");
    assert!(run.at <= calls[1].at);
    assert_eq!(calls[2].service, "autoscaling");
}
