//! Rules: refusals, delays, and connections that break before or after the deed.

use std::io::{Error, ErrorKind};
use std::time::Duration;

use http::StatusCode;
use machinist_testbed::aws::{Effect, Front, Rule};
use tokio::time::{sleep, timeout};

use crate::aws_front::bed;

const DEADLINE: Duration = Duration::from_secs(30);

async fn until(condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(DEADLINE, wait).await.expect("it never came true");
}

fn statuses(front: &Front, action: &str) -> Vec<Option<u16>> {
    let calls = front.calls_of(action);
    let status = |status: StatusCode| status.as_u16();
    calls.into_iter().map(|call| call.status.map(status)).collect()
}

fn is_reset(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<Error>())
        .any(|error| error.kind() == ErrorKind::ConnectionReset)
}

#[tokio::test]
async fn the_nth_call_is_throttled() {
    let (bed, client) = bed("ap-southeast-2").await;
    let front = bed.front();
    front.inject(Rule::nth("DescribeInstances", 2, Effect::Throttle).times(2));
    client.run(&[]).await.instance();
    for expected in [None, Some(()), Some(()), None] {
        let answer = client.ec2("DescribeInstances", &[]).await;
        match expected {
            Some(()) => answer.assert_error(503, "RequestLimitExceeded"),
            None => assert_eq!(answer.status, StatusCode::OK),
        }
    }
    let expected = [Some(200), Some(503), Some(503), Some(200)];
    assert_eq!(statuses(front, "DescribeInstances"), expected);
    assert_eq!(front.unmet_rules(), []);
}

#[tokio::test]
async fn a_shortage_makes_nothing_and_does_not_use_up_the_token() {
    let (bed, client) = bed("ap-northeast-1").await;
    let token = [("ClientToken", "a")];
    bed.front().inject(Rule::next("RunInstances", Effect::NoCapacity));
    let answer = client.run(&token).await;
    answer.assert_error(500, "InsufficientInstanceCapacity");
    assert_eq!(client.instances().await, [""; 0]);
    let id = client.run(&token).await.instance();
    assert_eq!(client.instances().await, [id]);
}

#[tokio::test]
async fn errors_have_the_shape_of_their_service() {
    let (bed, client) = bed("ap-northeast-2").await;
    let denied = Effect::Refuse {
        status: StatusCode::FORBIDDEN,
        code: "AccessDenied".to_owned(),
        message: "no <access>".to_owned(),
    };
    bed.front().inject(Rule::every("*", denied));
    let ec2 = client.ec2("DescribeInstances", &[]).await;
    ec2.assert_error(403, "AccessDenied");
    let start = "<Errors><Error><Code>AccessDenied</Code><Message>no &lt;access&gt;</Message></Error></Errors>";
    assert!(ec2.body.contains(start), "{ec2:?}");
    let scaling = client.auto_scaling("DescribeAutoScalingGroups", &[]).await;
    scaling.assert_error(403, "AccessDenied");
    assert!(scaling.body.contains("<ErrorResponse "), "{scaling:?}");
    assert!(scaling.body.contains("<Error><Type>Sender</Type>"), "{scaling:?}");

    bed.front().reset().await;
    bed.front().inject(Rule::next("*", Effect::Throttle));
    let scaling = client.auto_scaling("DescribeAutoScalingGroups", &[]).await;
    scaling.assert_error(400, "Throttling");
}

#[tokio::test]
async fn an_answer_is_lost_and_the_repeat_finds_the_one_instance() {
    let (bed, client) = bed("ap-northeast-3").await;
    let front = bed.front();
    front.inject(Rule::next("RunInstances", Effect::ResetAfter));
    let token = [("ClientToken", "a")];
    let error = client.try_run(&token).await.unwrap_err();
    assert!(is_reset(&error), "{error:?}");
    let made = client.instances().await;
    assert_eq!(made.len(), 1, "moto has done it");

    assert_eq!(client.run(&token).await.instance(), made[0]);
    assert_eq!(client.instances().await, made);
    assert_eq!(statuses(front, "RunInstances"), [None, Some(200)]);
}

#[tokio::test]
async fn a_connection_breaks_before_anything_is_done() {
    let (bed, client) = bed("sa-east-1").await;
    bed.front().inject(Rule::next("RunInstances", Effect::ResetBefore));
    let error = client.try_run(&[("ClientToken", "a")]).await.unwrap_err();
    assert!(is_reset(&error), "{error:?}");
    assert_eq!(client.instances().await, [""; 0]);
}

#[tokio::test]
async fn a_call_is_carried_out_although_its_client_is_gone() {
    let (bed, client) = bed("ca-central-1").await;
    let front = bed.front();
    let delay = Effect::Delay(Duration::from_millis(200));
    front.inject(Rule::next("RunInstances", delay));
    let token = [("ClientToken", "a")];
    tokio::select! {
        reply = client.try_run(&token) => panic!("it was not delayed: {reply:?}"),
        () = until(|| front.unmet_rules().is_empty()) => {}
    }
    until(|| statuses(front, "RunInstances") == [Some(200)]).await;
    let made = client.instances().await;
    assert_eq!(made.len(), 1);
    assert_eq!(client.run(&token).await.instance(), made[0]);
}
