//! Instances that are hidden, pending and shutting down for a while.

use std::time::Duration;

use machinist_testbed::aws::Behaviour;

use crate::aws_front::bed;
use crate::aws_front::client::Client;

const MINUTE: Duration = Duration::from_mins(1);

async fn by_state(client: &Client, state: &str) -> Vec<String> {
    let filter = [("Filter.1.Name", "instance-state-name"), ("Filter.1.Value.1", state)];
    let found = client.ec2("DescribeInstances", &filter).await;
    found.all("instanceId")
}

#[tokio::test]
async fn a_new_instance_is_hidden_at_first() {
    let (bed, client) = bed("eu-central-1").await;
    bed.front().behave(Behaviour { hidden_for: MINUTE, ..Behaviour::default() });
    let id = client.run(&[("ClientToken", "a")]).await.instance();
    let named = [("InstanceId.1", id.as_str())];
    for action in ["DescribeInstances", "DescribeInstanceStatus", "TerminateInstances"] {
        let answer = client.ec2(action, &named).await;
        answer.assert_error(400, "InvalidInstanceID.NotFound");
    }
    let tag = [("ResourceId.1", id.as_str()), ("Tag.1.Key", "a"), ("Tag.1.Value", "b")];
    let answer = client.ec2("CreateTags", &tag).await;
    answer.assert_error(400, "InvalidInstanceID.NotFound");
    let filter = [("Filter.1.Name", "instance-id"), ("Filter.1.Value.1", id.as_str())];
    let found = client.ec2("DescribeInstances", &filter).await;
    assert_eq!(found.all("reservationId"), [""; 0]);
    // Asking again with the token works although the instance cannot be seen.
    assert_eq!(client.run(&[("ClientToken", "a")]).await.instance(), id);

    bed.front().clock().advance(MINUTE);
    assert_eq!(client.ec2("DescribeInstances", &named).await.instance(), id);
    assert_eq!(client.ec2("DescribeInstances", &filter).await.instance(), id);
}

#[tokio::test]
async fn a_new_instance_is_pending_for_a_while() {
    let (bed, client) = bed("ap-south-1").await;
    bed.front().behave(Behaviour { pending_for: MINUTE, ..Behaviour::default() });
    let id = client.run(&[]).await.instance();
    let named = [("InstanceId.1", id.as_str())];
    let described = client.ec2("DescribeInstances", &named).await;
    assert_eq!(described.states(), ["pending"]);
    assert_eq!(by_state(&client, "pending").await, [id.as_str()]);
    assert_eq!(by_state(&client, "running").await, [""; 0]);
    let status = client.ec2("DescribeInstanceStatus", &[]).await;
    assert_eq!(status.states(), [""; 0]);
    let all = [("IncludeAllInstances", "true")];
    let status = client.ec2("DescribeInstanceStatus", &all).await;
    assert_eq!(status.states(), ["pending"]);

    bed.front().clock().advance(MINUTE);
    let described = client.ec2("DescribeInstances", &named).await;
    assert_eq!(described.states(), ["running"]);
    assert_eq!(by_state(&client, "running").await, [id.as_str()]);
    let status = client.ec2("DescribeInstanceStatus", &[]).await;
    assert_eq!(status.states(), ["running"]);
}

#[tokio::test]
async fn an_instance_shuts_down_is_terminated_and_then_gone() {
    let (bed, client) = bed("ap-southeast-1").await;
    bed.front().behave(Behaviour { shutting_down_for: MINUTE, ..Behaviour::default() });
    let id = client.run(&[]).await.instance();
    let named = [("InstanceId.1", id.as_str())];
    client.ec2("TerminateInstances", &named).await.instance();
    assert_eq!(by_state(&client, "shutting-down").await, [id.as_str()]);
    assert_eq!(by_state(&client, "terminated").await, [""; 0]);

    bed.front().clock().advance(MINUTE);
    assert_eq!(by_state(&client, "shutting-down").await, [""; 0]);
    assert_eq!(by_state(&client, "terminated").await, [id.as_str()]);

    bed.front().clock().advance(60 * MINUTE);
    assert_eq!(client.instances().await, [""; 0]);
    let answer = client.ec2("DescribeInstances", &named).await;
    answer.assert_error(400, "InvalidInstanceID.NotFound");
}
