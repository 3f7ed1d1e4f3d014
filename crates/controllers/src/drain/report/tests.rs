use std::collections::HashMap;

use machinist_api::names::STATUS_TRUE;
use machinist_domain::retry::Category;

use super::*;
use crate::drain::decide::decide;
use crate::drain::decide::tests::{Node, at_step, failure, node, now, pod, refused, view, with};
use crate::drain::pod::Termination;
use crate::drain::{Limit, Mark, Timeout};
use crate::kinds::Hook;

const NEVER: Limit = Limit::Own(Timeout(None));

fn reported(view: &View, outcome: &Outcome) -> (Step, String, Vec<&'static str>) {
    let reported = report(view, &decide(view, now()), outcome, now());
    let message = reported.condition.and_then(|condition| condition.message).unwrap_or_default();
    (
        reported.step,
        message.into(),
        reported.events.iter().map(|event| event.reason.as_str()).collect(),
    )
}

fn after(view: View, step: Step) -> View {
    with(view, |view| view.subject.stored = Some(at_step(step, 10)))
}

fn accepted(names: &[&str]) -> Outcome {
    let accepted = names.iter().map(|name| Uid((*name).into())).collect();
    Outcome { accepted, ..Outcome::default() }
}

fn refusing(names: &[&str]) -> Outcome {
    let refused = names.iter().map(|name| (Uid((*name).into()), failure())).collect();
    Outcome { refused, ..Outcome::default() }
}

#[test]
fn reports_a_refused_eviction_with_one_event() {
    let there = with(view(vec![pod("a"), pod("web")]), |view| view.subject.limit = NEVER);
    let (step, message, events) =
        reported(&there, &Outcome { accepted: accepted(&["a"]).accepted, ..refusing(&["web"]) });
    assert_eq!(step, Step::EvictionBlocked);
    assert_eq!(
        message,
        "2 pods are still on the node: ns/web (the disruption budget web says no), ns/a"
    );
    assert_eq!(events, ["DrainProceeds", "DrainRequeued"]);
    let known = with(after(view(vec![pod("web")]), step), |view| {
        view.subject.limit = NEVER;
        view.attempts = HashMap::from([(Uid("web".into()), refused(1))]);
    });
    let (again, same, events) = reported(&known, &Outcome::default());
    assert_eq!((again, events), (step, Vec::new()), "no new step");
    let newcomer = with(known, |view| view.first_reconcile = true);
    let (_, _, events) = reported(&newcomer, &Outcome::default());
    assert_eq!(
        events,
        ["DrainProceeds", "DrainRequeued"],
        "another process may not have written them"
    );
    assert_eq!(same, "1 pod is still on the node: ns/web (the disruption budget web says no)");
}

#[test]
fn forgets_the_refusal_of_an_evicted_pod() {
    let known = with(after(view(vec![pod("web")]), Step::EvictionBlocked), |view| {
        view.attempts = HashMap::from([(Uid("web".into()), refused(60))]);
        view.subject.limit = NEVER;
    });
    let (step, message, events) = reported(&known, &accepted(&["web"]));
    assert_eq!(step, Step::WaitingForPods);
    assert_eq!((message.as_str(), events), ("1 pod is still on the node: ns/web", Vec::new()));
}

#[test]
fn evicts_until_every_pod_was_tried() {
    let there = view(vec![pod("a"), pod("b")]);
    assert_eq!(reported(&there, &accepted(&["a"])).0, Step::Evicting);
    assert_eq!(reported(&there, &accepted(&["a", "b"])).0, Step::WaitingForPods);
}

#[test]
fn reports_a_cordon_only_if_it_fails() {
    let fresh = with(view(Vec::new()), |view| {
        view.node = Node { cordoned: false, mark: None, ..node() }.seen();
    });
    let plan = decide(&fresh, now());
    let cordoned = |cordon| Outcome { cordon: Some(cordon), ..Outcome::default() };
    let quiet = report(&fresh, &plan, &cordoned(CordonOutcome::Cordoned), now());
    assert_eq!((quiet.condition, quiet.events.len()), (None, 0));
    let (step, message, events) = reported(&fresh, &cordoned(CordonOutcome::Failed(failure())));
    assert_eq!((step, events), (Step::Cordoning, vec!["DrainRequeued"]));
    assert!(message.starts_with("Cannot cordon the node"), "{message}");
    let (step, message, events) =
        reported(&fresh, &cordoned(CordonOutcome::Blocked(vec!["cp-2".into()])));
    assert_eq!((step, events), (Step::WaitingForControlPlane, vec!["DrainRequeued"]));
    assert!(message.ends_with("at a time): cp-2"), "{message}");
}

#[test]
fn a_finished_drain_is_true_with_its_reason() {
    let late = Some(Mark { started: jiff::Timestamp::UNIX_EPOCH, cordoned: true });
    let skipped = with(view(Vec::new()), |view| view.subject.excluded = true);
    let gone = with(view(Vec::new()), |view| view.node = Observed::Absent);
    let volumes = with(after(view(Vec::new()), Step::WaitingForVolumes), |view| {
        view.subject.stored = Some(at_step(Step::WaitingForVolumes, 1000));
        view.volumes = Observed::Present(vec!["pv-1".into()]);
    });
    let forced = with(view(Vec::new()), |view| view.subject.forced = true);
    let timed_out = with(view(Vec::new()), |view| {
        view.node = Node { mark: late, ..node() }.seen();
    });
    let cases = [
        (view(Vec::new()), Step::Succeeded, "DrainSucceeded", "drained"),
        (skipped, Step::Skipped, "DrainSkipped", "exclude-node-draining"),
        (gone, Step::NodeGone, "DrainSucceeded", "does not exist"),
        (volumes, Step::VolumesLeft, "DrainForced", "pv-1"),
        (forced, Step::Forced, "DrainForced", "force-deletion"),
        (timed_out, Step::Forced, "DrainForced", "timeout of 2h"),
    ];
    for (view, step, event, text) in cases {
        let reported = report(&view, &decide(&view, now()), &Outcome::default(), now());
        let condition = reported.condition.unwrap();
        assert_eq!(
            (&*condition.status, condition.reason.as_deref()),
            (STATUS_TRUE, Some(step.as_str()))
        );
        assert_eq!(condition.severity, None, "OpenShift has one only where it is False");
        let message = condition.message.unwrap();
        assert!(message.contains(text), "{message}");
        assert_eq!(reported.events.len(), 1, "{step:?}");
        assert_eq!(reported.events[0].reason.as_str(), event);
    }
}

#[test]
fn reports_nothing_after_the_end() {
    let outcome = after(view(Vec::new()), Step::Forced);
    let reported = report(&outcome, &decide(&outcome, now()), &Outcome::default(), now());
    assert_eq!((reported.condition, reported.events.len()), (None, 0));
}

#[test]
fn reports_nothing_while_something_is_unread() {
    let late = with(view(Vec::new()), |view| {
        view.node = Node { cordoned: false, mark: None, ..node() }.seen();
        view.pods = Observed::NotAsked;
        view.subject.stored = Some(at_step(Step::Cordoning, 7200));
    });
    let (plan, nothing) = (decide(&late, now()), Outcome::default());
    let unread = report(&late, &plan, &nothing, now());
    assert_eq!(unread.step, Step::CannotRead);
    assert_eq!((unread.condition, unread.events.len()), (None, 0));
    assert!(plan.again(&nothing).is_some_and(|again| !again.is_zero()), "it is read soon");
    let given_up = with(view(Vec::new()), |view| {
        view.subject.stored = Some(at_step(Step::WaitingForVolumes, 1000));
        view.volumes = Observed::NotAsked;
    });
    let (step, message, events) = reported(&given_up, &nothing);
    assert_eq!((step, events), (Step::VolumesLeft, vec!["DrainForced"]));
    assert_eq!(message, messages::VOLUMES_NOT_LISTED);
}

#[test]
fn a_drain_without_pods_does_not_proceed_while_its_volumes_cannot_be_read() {
    let unread = with(view(Vec::new()), |view| view.volumes = Observed::Unknown(failure()));
    let (step, _, events) = reported(&unread, &Outcome::default());
    assert_eq!((step, events), (Step::WaitingForVolumes, Vec::new()));
    let waiting = with(unread, |view| view.volumes = Observed::Present(vec!["pv-1".into()]));
    let (step, _, events) = reported(&waiting, &Outcome::default());
    assert_eq!((step, events), (Step::WaitingForVolumes, vec!["DrainProceeds"]));
}

#[test]
fn names_the_hooks() {
    let hooked = with(view(Vec::new()), |view| {
        view.subject.hooks = [Hook { name: "quorum".into(), owner: "etcd".into() }].into();
    });
    let (step, message, events) = reported(&hooked, &Outcome::default());
    assert_eq!((step, events), (Step::WaitingForHooks, vec!["DrainBlocked"]));
    assert_eq!(message, "Waiting for preDrain hooks: quorum (etcd)");
    assert_eq!(reported(&after(hooked, step), &Outcome::default()).2, Vec::<&str>::new());
}

#[test]
fn reports_why_the_node_is_unreadable() {
    let blind = with(view(Vec::new()), |view| {
        let category = Category::Unauthorised;
        view.pods = Observed::Unknown(machinist_domain::retry::Failure { category, ..failure() });
    });
    let (step, message, events) = reported(&blind, &Outcome::default());
    assert_eq!((step, events), (Step::CannotRead, vec!["DrainRequeued"]));
    assert!(message.starts_with("Cannot list the pods of the node"), "{message}");
}

#[test]
fn says_when_the_drain_is_forced_as_long_as_it_waits() {
    let message = |limit| {
        let waits = with(view(vec![pod("a")]), |view| view.subject.limit = limit);
        reported(&waits, &Outcome::default()).1
    };
    let begun = "1 pod is still on the node: ns/a";
    // The drain began a minute ago.
    let text = format!("{begun}; the drain is forced at 1970-01-12T15:45:40Z");
    assert_eq!(message(Limit::Default), text);
    assert_eq!(message(NEVER), begun);
    let invalid = message(Limit::Invalid("soon".into()));
    assert!(invalid.starts_with(begun) && invalid.contains("(got \"soon\")"), "{invalid}");
    assert!(invalid.contains("is not forced"), "{invalid}");
    let asked = with(view(vec![pod("a")]), |view| view.subject.forced = true);
    let forcing = reported(&asked, &Outcome::default());
    assert_eq!((forcing.0, forcing.1.as_str()), (Step::Forcing, begun));
}

#[test]
fn refusals_of_pods_that_are_gone_or_terminating_are_dropped() {
    let terminating = |uid: &str| {
        let end = Termination { ends: None, grace: Some(30) };
        Pod { termination: Some(end), ..pod(uid) }
    };
    let refusals =
        ["stays", "terminating", "gone", "accepted"].map(|uid| (Uid(uid.into()), refused(60)));
    let view =
        with(view(vec![pod("stays"), terminating("terminating"), pod("accepted")]), |view| {
            view.attempts = HashMap::from(refusals);
        });
    let outcome = Outcome { accepted: vec![Uid("accepted".into())], ..refusing(&["stays", "new"]) };
    let after = attempts_after(&view, &decide(&view, now()), &outcome, now());
    let mut left: Vec<_> = after.iter().map(|(uid, attempt)| (&*uid.0, attempt.refusals)).collect();
    left.sort_unstable();
    assert_eq!(left, [("new", 1), ("stays", 2)]);
}
