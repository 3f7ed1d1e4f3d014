//! A metadata service that fails or talks nonsense: nothing is written, nothing ends, and a notice is still found.

use machinist_testbed::imds::{INSTANCE_ACTION, REBALANCE, TERMINATION_TIME, TOKEN};

use crate::termination::spot_node::SpotNode;

const SOON: &str = "2026-09-18T08:22:00Z";

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_neither_a_notice_nor_the_end() {
    let node = SpotNode::new("refused").await;
    node.imds.fail(&[500, 503, 403]);
    let mut handler = node.handler().await;
    handler.until_logged("returned 500").await.unwrap();
    handler.until_logged("recovered").await.unwrap();
    assert_eq!(node.imds.count(TOKEN, 500) + node.imds.count(TOKEN, 503), 2);

    // A poll logs its first failure, and it may be half way through its requests: a whole poll fails with the last one.
    node.imds.fail(&[500, 502, 429, 302, 401, 401, 500, 504, 504, 504, 504, 504, 504, 504, 504]);
    handler.until_logged("returned 504").await.unwrap();
    handler.ensure_alive().unwrap();
    assert_eq!(node.requests().len(), 0);

    node.imds.announce("terminate", SOON);
    node.becomes("Terminating").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_not_believed_and_hides_nothing() {
    let node = SpotNode::new("nonsense").await;
    let mut handler = node.handler().await;
    let huge = "9".repeat(1 << 20);
    for (path, body, complaint) in [
        (
            INSTANCE_ACTION,
            "{\"action\": \"terminate\", \"time\": \"soon\"}",
            "cannot parse the response to /latest/meta-data/spot/instance-action",
        ),
        (INSTANCE_ACTION, "<html>", "expected value"),
        (INSTANCE_ACTION, "{\"action\": \"dance\", \"time\": \"2026-09-18T08:22:00Z\"}", "dance"),
        (INSTANCE_ACTION, huge.as_str(), "instance-action exceeds 4096 bytes"),
        (
            REBALANCE,
            "[]",
            "cannot parse the response to /latest/meta-data/events/recommendations/rebalance",
        ),
        (REBALANCE, huge.as_str(), "rebalance exceeds 4096 bytes"),
    ] {
        node.imds.publish(path, body.to_owned());
        handler.until_logged(complaint).await.unwrap();
        node.imds.withdraw(path);
    }
    // EC2's answer if there is no notice.
    node.imds.publish(TERMINATION_TIME, "not a time");
    node.polls(2).await;
    handler.ensure_alive().unwrap();
    assert_eq!(node.requests().len(), 0);

    node.imds.publish(INSTANCE_ACTION, "still nonsense");
    node.imds.publish(REBALANCE, "as well");
    node.imds.publish(TERMINATION_TIME, SOON);
    node.becomes("Terminating").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_that_is_taken_back_unseen_changes_nothing() {
    let node = SpotNode::new("withdrawn").await;
    node.imds.announce("terminate", SOON);
    node.imds.withdraw(INSTANCE_ACTION);
    node.imds.withdraw(TERMINATION_TIME);
    let _handler = node.handler().await;
    node.polls(3).await;
    assert!(node.imds.count(INSTANCE_ACTION, 404) >= 3);
    assert_eq!(node.requests().len(), 0);
}
