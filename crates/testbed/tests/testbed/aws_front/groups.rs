//! Auto Scaling groups: slow replacements, instance refresh, lifecycle actions.

use std::time::Duration;

use http::StatusCode;
use machinist_testbed::aws::Behaviour;

use crate::aws_front::client::Client;
use crate::aws_front::{IMAGE, bed};

const MINUTE: Duration = Duration::from_mins(1);
const GROUP: (&str, &str) = ("AutoScalingGroupName", "g");

/// A group of two.
async fn group(client: &Client) -> Vec<String> {
    let configuration =
        [("LaunchConfigurationName", "lc"), ("ImageId", IMAGE), ("InstanceType", "m5.large")];
    let made = client.auto_scaling("CreateLaunchConfiguration", &configuration);
    assert_eq!(made.await.status, StatusCode::OK);
    let zone = format!("{}a", client.region);
    let group = [
        GROUP,
        ("LaunchConfigurationName", "lc"),
        ("MinSize", "0"),
        ("MaxSize", "3"),
        ("DesiredCapacity", "2"),
        ("AvailabilityZones.member.1", &zone),
    ];
    let made = client.auto_scaling("CreateAutoScalingGroup", &group).await;
    assert_eq!(made.status, StatusCode::OK, "{made:?}");
    let members = members(client).await;
    assert_eq!(members.len(), 2);
    members
}

async fn members(client: &Client) -> Vec<String> {
    let groups = client.auto_scaling("DescribeAutoScalingGroups", &[]).await;
    groups.all("InstanceId")
}

async fn terminate_in_group(client: &Client, id: &str) {
    let parameters = [("InstanceId", id), ("ShouldDecrementDesiredCapacity", "false")];
    let action = "TerminateInstanceInAutoScalingGroup";
    let answer = client.auto_scaling(action, &parameters).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
}

#[tokio::test]
async fn a_replacement_takes_its_time() {
    let (bed, client) = bed("us-gov-east-1").await;
    let before = group(&client).await;
    bed.front().behave(Behaviour {
        launch_after: 5 * MINUTE,
        pending_for: MINUTE,
        shutting_down_for: MINUTE,
        ..Behaviour::default()
    });
    terminate_in_group(&client, &before[0]).await;
    assert_eq!(members(&client).await, [before[1].as_str()]);
    let instances = client.ec2("DescribeInstances", &[]).await;
    let mut states = instances.states();
    states.sort();
    assert_eq!(states, ["running", "shutting-down"]);

    bed.front().clock().advance(5 * MINUTE);
    assert_eq!(members(&client).await.len(), 2);
    let described = client.auto_scaling("DescribeAutoScalingInstances", &[]);
    let mut states = described.await.all("LifecycleState");
    states.sort();
    assert_eq!(states, ["InService", "Pending"]);

    bed.front().clock().advance(MINUTE);
    let described = client.auto_scaling("DescribeAutoScalingInstances", &[]);
    let states = described.await.all("LifecycleState");
    assert_eq!(states, ["InService", "InService"]);
}

#[tokio::test]
async fn a_group_that_goes_to_zero_shuts_down_slowly() {
    let (bed, client) = bed("us-gov-west-1").await;
    group(&client).await;
    bed.front().behave(Behaviour { shutting_down_for: MINUTE, ..Behaviour::default() });
    let zero = [GROUP, ("MinSize", "0"), ("MaxSize", "0"), ("DesiredCapacity", "0")];
    client.auto_scaling("UpdateAutoScalingGroup", &zero).await;
    assert_eq!(members(&client).await, [""; 0]);
    let states = async || client.ec2("DescribeInstances", &[]).await.states();
    assert_eq!(states().await, ["shutting-down", "shutting-down"]);
    bed.front().clock().advance(MINUTE);
    assert_eq!(states().await, ["terminated", "terminated"]);
}

#[tokio::test]
async fn an_instance_refresh_replaces_one_member_after_the_other() {
    let (bed, client) = bed("cn-north-1").await;
    let before = group(&client).await;
    bed.front().behave(Behaviour { refresh_step: MINUTE, ..Behaviour::default() });
    let started = client.auto_scaling("StartInstanceRefresh", &[GROUP]).await;
    let id = started.first("InstanceRefreshId");
    let progress = async || {
        let parameters = [GROUP, ("InstanceRefreshIds.member.1", id.as_str())];
        let refresh = client.auto_scaling("DescribeInstanceRefreshes", &parameters);
        let refresh = refresh.await;
        (refresh.first("Status"), refresh.first("PercentageComplete"))
    };
    let at = |status: &str, percentage: &str| (status.to_owned(), percentage.to_owned());
    assert_eq!(progress().await, at("Pending", "0"));
    let second = client.auto_scaling("StartInstanceRefresh", &[GROUP]).await;
    second.assert_error(400, "InstanceRefreshInProgress");

    bed.front().clock().advance(MINUTE);
    assert_eq!(progress().await, at("InProgress", "50"));
    bed.front().clock().advance(MINUTE);
    let after = members(&client).await;
    assert_eq!(after.len(), 2);
    assert!(after.iter().all(|id| !before.contains(id)), "{after:?}");
    assert_eq!(progress().await, at("Successful", "100"));

    let missing = [("AutoScalingGroupName", "missing")];
    let missing = client.auto_scaling("StartInstanceRefresh", &missing).await;
    missing.assert_error(400, "ValidationError");
}

#[tokio::test]
async fn a_lifecycle_action_is_acknowledged_and_logged() {
    let (bed, client) = bed("cn-northwest-1").await;
    let parameters = [GROUP, ("LifecycleActionResult", "CONTINUE")];
    let answer = client.auto_scaling("CompleteLifecycleAction", &parameters).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert!(answer.body.contains("<CompleteLifecycleActionResult>"));
    let calls = bed.front().calls_of("CompleteLifecycleAction");
    assert_eq!(calls[0].parameters["LifecycleActionResult"], "CONTINUE");
}
