use std::fmt;
use std::time::Duration;

use machinist_api::event_recycler::recycle::{RecycleFailure, RecycledInstance, Step};
use machinist_domain::retry::Category;
use machinist_domain::texts;

use super::begin::Refusal;
use super::mark::Mark;
use crate::recycler::messages::span;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("Auto Scaling group not found; check spec.awsRegion"),
            Self::Unreachable(failure) if failure.category == Category::Unauthorised => {
                write!(f, "{}; see docs/guides/recycler.md#iam-policy", failure.message)
            }
            Self::Unreachable(failure) => f.write_str(&failure.message),
            Self::Empty => f.write_str("the group has no instances"),
            Self::Deleting => f.write_str("the group is being deleted"),
            Self::Suspended(process) => f.write_str(&suspended(process)),
            Self::WarmPool => f.write_str(
                "the warm pool of the group reuses instances instead of terminating them; \
                 use strategy InstanceRefresh",
            ),
            Self::Protected(id) => write!(
                f,
                "instance {id} is protected from scale-in; use strategy Replace, which skips such instances"
            ),
            Self::OutOfService(id) => write!(
                f,
                "instance {id} is in Standby or being detached; use strategy Replace, which skips such instances"
            ),
            Self::ManagedByEks => f.write_str(
                "EKS manages the size of the group; use strategy Replace or InstanceRefresh",
            ),
            Self::OwnNode(node) => write!(
                f,
                "machinist runs on node {node} of the group; use strategy Replace, which replaces that node last"
            ),
            Self::Busy(mark) => {
                let owner = Mark::read(mark).map(|mark| mark.owner);
                let owner = owner.as_deref().unwrap_or("of an unknown version");
                write!(
                    f,
                    "another recycle of the group is in progress ({owner}); wait until it has ended"
                )
            }
            Self::RefreshRunning => f.write_str(
                "an instance refresh of the group is in progress; wait until it has ended",
            ),
        }
    }
}

pub(super) const RESUMED: &str = "resumed from the tags of the group";
pub(super) const PAUSED: &str = "paused because spec.dryRun is set; remove it to continue";
pub(super) const OWNER_DELETED: &str = "the EventRecycler was deleted";
pub(super) const MAYBE_GONE: &str = "the group was not found; checking again";
pub(super) const GONE: &str = "the group no longer exists";
pub(super) const TAKEN_OVER: &str = "another recycle has taken over the group";
pub(super) const MARK_FAILS: &str = "the plan cannot be stored in the tags of the group";
pub(super) const REFRESH_FAILS: &str = "the instance refresh cannot be started";
pub(super) const SCALE_DOWN_FAILS: &str = "the group cannot be scaled to zero";
pub(super) const NOT_READY: &str = "new instances of the group are not ready yet";
pub(super) const LATE_CALLS: &str = "waiting until the cloud can no longer execute an earlier call; \
     then the tag is removed";
pub(super) const DRAINING: &str = "draining a node";

texts! {
    pub(super) fn suspended(process: &str) = "process {process} of the group is suspended; resume it";
    pub(super) fn not_described(why: &str) = "the group cannot be described: {why}";
    pub(super) fn terminate_fails(id: &str) = "instance {id} cannot be terminated";
    pub(super) fn timed_out(after: Duration, waited_for: &str) =
        "timed out after {}: {waited_for}", span(after);
    pub(super) fn not_drained(node: &str, within: Duration, why: Option<&str>) =
        "node {node} could not be drained within {}: {}", span(within), why.unwrap_or("it still has pods");
    pub(super) fn refresh_failed(id: &str, reason: Option<&str>) =
        "instance refresh {id} did not succeed: {}", reason.unwrap_or("no reason given");
    pub(super) fn refreshing(id: &str, percentage: impl fmt::Display) =
        "instance refresh {id} is at {percentage}%";
    pub(super) fn drains(group: &str, instance: &RecycledInstance) =
        "Draining node {} of instance {} in {group}", node_of(instance), instance.id;
    pub(super) fn terminates(group: &str, instance: &RecycledInstance) =
        "Terminating instance {} (node {}) in {group}", instance.id, node_of(instance);
    pub(super) fn skips(group: &str, instance: &RecycledInstance) =
        "Skipping instance {} (node {}) in {group}: it is protected from scale-in or out of service",
        instance.id, node_of(instance);
    pub(super) fn gives_up(group: &str, step: Step, why: Option<&str>) =
        "Recycle of {group} failed and is being undone (step {}): {}", step.as_str(), why.unwrap_or("no reason given");
    pub(super) fn at_step(group: &str, step: Step) = "Recycle of {group} is at step {}", step.as_str();
    pub(super) fn recycled(group: &str) = "Recycled node group {group}";
}

pub(super) fn terminating(has_hooks: bool) -> String {
    let hooks = if has_hooks { "; lifecycle hooks of the group may delay this" } else { "" };
    format!("instances of the group are still terminating{hooks}")
}

fn node_of(instance: &RecycledInstance) -> &str {
    instance.node.as_deref().unwrap_or("none")
}

pub(super) fn failed(group: &str, failure: Option<RecycleFailure>, why: Option<&str>) -> String {
    let reason = failure.map_or("Unknown", RecycleFailure::as_str);
    format!("Recycle of {group} failed ({reason}): {}", why.unwrap_or("no reason given"))
}

#[cfg(test)]
mod tests {
    use machinist_api::event_recycler::recycle::InstanceState;
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn all_messages() {
        let instance = RecycledInstance {
            id: "i-1".to_owned(),
            node: Some("n1".to_owned()),
            state: InstanceState::Draining,
            since: None,
        };
        let (group, refresh) = ("workers", "r-1");
        let why = timed_out(Duration::from_secs(300), NOT_READY);
        let mut rows = vec![
            ("Event Normal", "RecycleProceeds", drains(group, &instance)),
            ("Event Normal", "RecycleProceeds", terminates(group, &instance)),
            ("Event Warning", "RecycleProceeds", skips(group, &instance)),
            ("Event Normal", "RecycleProceeds", at_step(group, Step::Replacing)),
            ("Event Warning", "RecycleProceeds", gives_up(group, Step::Releasing, Some(&why))),
            ("Event Normal", "Recycled", recycled(group)),
            (
                "Event Warning",
                "RecycleFailed",
                failed(group, Some(RecycleFailure::TimedOut), Some(&why)),
            ),
        ];
        for (reason, text) in [
            ("", crate::recycler::messages::no_answer(Duration::from_secs(60))),
            ("", RESUMED.to_owned()),
            ("", PAUSED.to_owned()),
            ("", not_described("access denied")),
            ("", MAYBE_GONE.to_owned()),
            ("", MARK_FAILS.to_owned()),
            ("", suspended("Launch")),
            ("", NOT_READY.to_owned()),
            ("", DRAINING.to_owned()),
            ("", LATE_CALLS.to_owned()),
            ("", refreshing(refresh, 40)),
            ("", terminating(false)),
            ("", terminating(true)),
            ("Cancelled", OWNER_DELETED.to_owned()),
            ("GroupGone", GONE.to_owned()),
            ("Busy", TAKEN_OVER.to_owned()),
            ("TimedOut", why),
            ("TimedOut", timed_out(Duration::from_secs(90), &terminate_fails("i-1"))),
            ("TimedOut", timed_out(Duration::from_secs(90), REFRESH_FAILS)),
            ("TimedOut", timed_out(Duration::from_secs(90), SCALE_DOWN_FAILS)),
            ("DrainTimedOut", not_drained("n1", Duration::from_secs(1200), None)),
            ("RefreshFailed", refresh_failed(refresh, None)),
        ] {
            rows.push(("status.recycles[].message", reason, text));
        }
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
