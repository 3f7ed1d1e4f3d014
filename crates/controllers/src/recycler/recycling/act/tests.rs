//! What is looked at directly before something is done, whatever was known when it was decided.

use std::sync::Arc;

use machinist_api::event_recycler::recycle::{Recycle, Step};
use machinist_api::event_recycler::spec::Strategy;
use machinist_provider::Pending;
use machinist_provider::cloud::CloudError;
use machinist_provider::node_groups::{Group, Lifecycle, Process, WarmPool};
use machinist_runtime::clock::ManualClock;

use super::super::samples::snapshot;
use super::*;
use crate::recycler::tests::cloud::{FakeCloud, recycling};

const TWO: [&str; 2] = ["i-1", "i-2"];

#[derive(Debug)]
struct Wants(bool);

impl Owner for Wants {
    fn key(&self) -> ObjectKey {
        ObjectKey::new("", "er")
    }

    fn still_wants<'a>(&'a self, _: &'a Recycle) -> Pending<'a, Result<bool, Failure>> {
        Box::pin(std::future::ready(Ok(self.0)))
    }
}

/// What a group is like now.
enum Now {
    Like(Box<Group>),
    Gone,
    Unknown(CloudError),
}

/// Carries `effect` out on a group of which everything was fine when it was decided, and which is like this now. What came of it, and
/// what the cloud was asked and told.
async fn done(effect: Effect, now: Now, wanted: bool) -> (Outcome, Vec<String>) {
    let cloud = Arc::<FakeCloud>::default();
    let group = GroupRef::new("r", "workers");
    match now {
        Now::Like(now) => cloud.put(group, Ok(*now)),
        Now::Gone => {}
        Now::Unknown(error) => cloud.put(group, Err(error)),
    }
    let (recycling, writer) = recycling(&cloud, Arc::<ManualClock>::default());
    let before = snapshot(Strategy::Replace, Step::Replacing, &TWO);
    let outcome = act(&recycling, &before, &Plan::Do(effect), &Wants(wanted), &writer).await;
    (outcome, cloud.calls())
}

fn departure(node: Option<&str>) -> Effect {
    let node = node.map(Arc::from);
    Effect::Terminate(Departure { instance: "i-1".into(), node, drained: true })
}

/// The group as it was, but for this.
fn changed(change: impl FnOnce(&mut Group)) -> Now {
    let mut snapshot = snapshot(Strategy::Replace, Step::Replacing, &TWO);
    change(snapshot.group_mut());
    Now::Like(Box::new(snapshot.group_mut().clone()))
}

#[tokio::test]
async fn a_group_is_looked_at_directly_before_an_instance_goes() {
    let (outcome, calls) = done(departure(None), changed(|_| {}), true).await;
    assert_eq!(outcome, Outcome::Done);
    assert_eq!(calls, ["describe r/workers", "terminate r/workers i-1"]);
}

#[tokio::test]
async fn what_has_changed_since_it_was_decided_keeps_an_instance() {
    type Change = fn(&mut Group);
    let cases: [(Change, &str); 6] = [
        (|group| group.suspended = [Process::Launch].into(), "Launch"),
        (|group| group.suspended = [Process::Terminate].into(), "Terminate"),
        (|group| group.members[0].protected_from_scale_in = true, "keep i-1"),
        (|group| group.members[0].lifecycle = Lifecycle::Standby, "keep i-1"),
        (|group| group.members[0].lifecycle = Lifecycle::Other("Detaching".into()), "keep i-1"),
        (
            |group| {
                let state = "Stopped".into();
                group.warm_pool = Some(WarmPool { size: 1, min: 1, state, reuses: true });
            },
            "warm pool",
        ),
    ];
    for (change, why) in cases {
        let (outcome, calls) = done(departure(None), changed(change), true).await;
        let Outcome::Overtaken(said) = outcome else { panic!("{why}: {outcome:?}") };
        assert!(said.contains(why), "{said}");
        assert_eq!(calls, ["describe r/workers"], "{why}: nothing was terminated");
    }
    // What happens to another instance is its own affair.
    let protected = changed(|group| group.members[1].protected_from_scale_in = true);
    assert_eq!(done(departure(None), protected, true).await.0, Outcome::Done);
}

#[tokio::test]
async fn a_group_that_is_gone_or_cannot_be_asked_loses_no_instance() {
    let (outcome, calls) = done(departure(None), Now::Gone, true).await;
    assert!(matches!(outcome, Outcome::Overtaken(_)), "{outcome:?}");
    assert_eq!(calls.len(), 1);
    let denied = CloudError::new(ErrorClass::Unauthorised, "no");
    let (outcome, calls) = done(departure(None), Now::Unknown(denied), true).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    assert_eq!(calls.len(), 1);
}

#[tokio::test]
async fn a_node_that_cannot_be_read_keeps_its_instance_and_so_does_an_owner_who_does_not_want_it() {
    let (outcome, calls) = done(departure(Some("node-of-i-1")), changed(|_| {}), true).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    assert!(calls.is_empty(), "{calls:?}");
    let (outcome, calls) = done(departure(None), changed(|_| {}), false).await;
    assert!(matches!(outcome, Outcome::Overtaken(_)), "{outcome:?}");
    assert!(calls.is_empty(), "{calls:?}");
}

#[tokio::test]
async fn a_text_is_written_only_where_there_is_none_but_ours() {
    let mark = || Effect::Mark("text".to_owned());
    let ours = changed(|_| {});
    let none = changed(|group| group.mark = None);
    for free in [ours, none] {
        let (outcome, calls) = done(mark(), free, true).await;
        assert_eq!((outcome, calls.len()), (Outcome::Done, 2));
    }
    let theirs = changed(|group| group.mark = Some("v1 somebody".to_owned()));
    let (outcome, calls) = done(mark(), theirs, true).await;
    assert!(matches!(outcome, Outcome::Overtaken(_)), "{outcome:?}");
    assert_eq!(calls, ["describe r/workers"]);
}
