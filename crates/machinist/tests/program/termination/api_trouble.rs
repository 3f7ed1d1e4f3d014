//! An API server that refuses, or that others write to at the same time: a notice that was seen gets to the Node.

use machinist_testbed::faults::{Effect, Gate, Match, Rule, Verb};
use machinist_testbed::imds::{INSTANCE_ACTION, TERMINATION_TIME};

use crate::termination::spot_node::{A_STOP, SpotNode};

const SOON: &str = "2026-09-18T08:22:00Z";

fn status_patches() -> Match {
    Match::writes().resource("nodes").subresource("status")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_that_was_seen_is_kept_until_the_node_has_it() {
    let node = SpotNode::unregistered("unregistered").await;
    node.imds.announce("terminate", SOON);
    let mut handler = node.handler().await;
    handler.until_logged("NotFound").await.unwrap();
    for path in [INSTANCE_ACTION, TERMINATION_TIME] {
        node.imds.withdraw(path);
    }
    for code in [500, 429] {
        node.proxy.add_rule(Rule::new(status_patches(), Effect::answer(code)).times(1));
    }
    handler.ensure_alive().unwrap();
    node.register().await;
    node.becomes("Terminating").await;
    handler.until_logged("nothing more to do").await.unwrap();
    assert_eq!(node.writes(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_that_is_faster_keeps_what_it_wrote() {
    let node = SpotNode::new("raced").await;
    let gate = Gate::new();
    node.proxy.add_rule(Rule::new(status_patches(), Effect::Hold(gate.clone())).times(1));
    node.imds.announce("terminate", SOON);
    let handler = node.handler().await;
    gate.reached().await;
    node.set_condition("DiskPressure", "True").await;
    gate.open();
    node.becomes("Terminating").await;
    handler.until_logged("nothing more to do").await.unwrap();
    let pressure = node.condition("DiskPressure").await.unwrap().unwrap();
    assert_eq!(pressure["status"], "True");
    assert_eq!(node.writes(), 2, "a conflict, then the write");
    assert!(!handler.log().unwrap().contains("failed; retrying"), "{}", handler.log().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_says_it_first_keeps_the_word() {
    let node = SpotNode::new("overtaken").await;
    let gate = Gate::new();
    node.proxy.add_rule(Rule::new(status_patches(), Effect::Hold(gate.clone())).times(1));
    node.imds.announce("terminate", SOON);
    let handler = node.handler().await;
    gate.reached().await;
    node.set_condition("Terminating", "True").await;
    gate.open();
    handler.until_logged("nothing more to do").await.unwrap();
    assert_eq!(node.condition("Terminating").await.unwrap().unwrap()["reason"], "OtherClient");
    assert_eq!(node.writes(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_it_also_while_it_waits_for_an_answer() {
    let node = SpotNode::new("held").await;
    let gate = Gate::new();
    let reads = Match::any().verbs([Verb::Get]).resource("nodes");
    node.proxy.add_rule(Rule::new(reads, Effect::Hold(gate.clone())));
    node.imds.announce("terminate", SOON);
    let mut handler = node.handler().await;
    gate.reached().await;
    let (status, took) = handler.terminate().await.unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(took < A_STOP, "{took:?}");
    node.unregister().await;
}
