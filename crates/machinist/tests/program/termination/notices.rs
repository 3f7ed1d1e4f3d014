//! Notices and the conditions of the Node that follow.

use std::time::Duration;

use machinist_testbed::imds::{INSTANCE_ACTION, TERMINATION_TIME, TOKEN};
use machinist_testbed::poll::holds_for;
use serde_json::Value;

use crate::termination::spot_node::{A_STOP, SpotNode};

const SOON: &str = "2026-09-18T08:22:00Z";

/// Everything of a Node but what a new condition changes.
fn rest_of(mut node: Value, kind: &str) -> Value {
    for field in ["resourceVersion", "managedFields"] {
        node["metadata"][field].take();
    }
    let conditions = node["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|condition| condition["type"] != kind);
    node
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_becomes_a_condition_once_and_the_handler_rests_until_it_is_stopped() {
    let node = SpotNode::new("told").await;
    let before = node.read().await.unwrap();
    let mut handler = node.handler().await;
    node.polls(3).await;
    assert_eq!(node.requests().len(), 0, "without a notice the cluster is not asked");
    assert_eq!(node.read().await.unwrap(), before);

    node.imds.announce("terminate", SOON);
    let condition = node.becomes("Terminating").await;
    assert_eq!(condition["reason"], "TerminationRequested");
    assert_eq!(condition["message"], format!("EC2 terminates this instance at {SOON}"));
    let after = node.read().await.unwrap();
    assert_eq!(rest_of(after, "Terminating"), rest_of(before, "Terminating"));

    handler.until_logged("nothing more to do").await.unwrap();
    // The second one if the notice appeared between the two requests of a poll.
    let read = [INSTANCE_ACTION, TERMINATION_TIME].map(|path| node.imds.count(path, 200));
    assert_eq!(read.iter().sum::<usize>(), 1, "reported by the poll that read it: {read:?}");
    let requests = node.requests();
    let written: Vec<_> = requests
        .iter()
        .map(|entry| (entry.request.resource.as_str(), entry.request.subresource.as_deref()))
        .collect();
    assert_eq!(written, [("nodes", None), ("nodes", Some("status"))], "{requests:#?}");
    assert!(requests.iter().all(|entry| entry.status == Some(200)), "{requests:#?}");
    let agent = concat!("machinist-termination-handler/", env!("CARGO_PKG_VERSION"));
    assert!(requests.iter().all(|entry| entry.request.user_agent == agent));

    // The handler does not poll any more, whatever else is announced.
    let asked = node.imds.asked().len();
    node.imds.recommend_rebalance(SOON);
    let quiet = holds_for(Duration::from_millis(500), "no more requests", async || {
        let now = (node.imds.asked().len(), node.requests().len());
        anyhow::ensure!(now == (asked, 2), "{now:?}");
        Ok(())
    });
    quiet.await.unwrap();
    handler.ensure_alive().unwrap();
    let (status, took) = handler.terminate().await.unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(took < A_STOP, "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_says_so_already_is_left_alone() {
    let node = SpotNode::new("already").await;
    node.set_condition("Terminating", "True").await;
    let before = node.read().await.unwrap();
    node.imds.announce("terminate", SOON);
    let handler = node.handler().await;
    handler.until_logged("nothing more to do").await.unwrap();
    assert_eq!(node.writes(), 0);
    assert_eq!(node.read().await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_and_hibernating_count_and_so_does_the_bare_time() {
    for (name, action) in [("stopped", "stop"), ("hibernated", "hibernate")] {
        let node = SpotNode::new(name).await;
        node.imds.announce(action, SOON);
        let _handler = node.handler().await;
        let message = node.becomes("Terminating").await["message"].take();
        assert!(message.as_str().unwrap().starts_with(&format!("EC2 {action}")), "{message}");
    }
    let node = SpotNode::new("timed").await;
    node.set_condition("Terminating", "False").await;
    node.imds.publish(TERMINATION_TIME, SOON);
    let _handler = node.handler().await;
    let condition = node.becomes("Terminating").await;
    assert_eq!(condition["reason"], "TerminationRequested");
    assert_ne!(condition["lastTransitionTime"], "2026-01-01T00:00:00Z");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebalance_recommendation_is_told_once_and_the_end_after_it() {
    let node = SpotNode::new("rebalanced").await;
    let handler = node.handler().await;
    node.imds.recommend_rebalance("2026-10-27T08:22:00Z");
    let condition = node.becomes("RebalanceRecommended").await;
    assert_eq!(condition["reason"], "RebalanceRecommendation");
    assert!(condition["message"].as_str().unwrap().contains("2026-10-27T08:22:00Z"));
    assert_eq!(node.condition("Terminating").await.unwrap(), None);
    node.polls(3).await;
    assert_eq!(node.writes(), 1);

    node.imds.announce("terminate", SOON);
    node.becomes("Terminating").await;
    handler.until_logged("nothing more to do").await.unwrap();
    assert_eq!(node.writes(), 2);
    assert_eq!(node.condition("RebalanceRecommended").await.unwrap(), Some(condition));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_kept_renewed_before_they_end_and_replaced_when_they_are_forgotten() {
    let node = SpotNode::new("tokens").await;
    let handler = node.handler().await;
    node.polls(3).await;
    assert_eq!(node.imds.count(TOKEN, 200), 1, "one token for many questions");

    // It is renewed at half time; the other half is for a busy machine.
    node.imds.shorten_tokens(Duration::from_secs(8));
    node.imds.forget_tokens();
    node.polls(1).await;
    let refused = |imds: &machinist_testbed::imds::Imds| {
        imds.asked().iter().filter(|asked| asked.status == 401).count()
    };
    assert_eq!(refused(&node.imds), 1, "the forgotten one is found out once");
    node.asked_again(TOKEN, 2).await;
    assert_eq!(refused(&node.imds), 1, "the others are renewed in time");
    let log = handler.log().unwrap();
    assert!(!log.contains("AQAEA"), "{log}");

    node.imds.announce("terminate", SOON);
    node.becomes("Terminating").await;
}
