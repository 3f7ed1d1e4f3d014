use std::fmt;
use std::time::Duration;

use machinist_api::event_recycler::spec::CountBy;
pub(super) use machinist_domain::messages::span;
use machinist_domain::retry::Failure;
use machinist_domain::texts;

use super::error::Refusal;
use super::plan::Hold;
use super::recycling;
use super::snapshot::Facts;
use crate::kinds::Involved;

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToLookFor => {
                f.write_str("spec.searchTerms and spec.match are empty; set at least one of them")
            }
            Self::EmptyTerm => f.write_str(
                "spec.searchTerms has an empty term, which matches every message; \
                 to count all events of a type, set spec.match.type",
            ),
            Self::Duration { field, text } => {
                write!(f, "spec.{field} must be a duration such as 90s or 1h30m (got {text:?})")
            }
            Self::Number { field, number } => {
                write!(f, "spec.{field} must be at least 1 (got {number})")
            }
            Self::Unreachable { threshold, most } => write!(
                f,
                "spec.threshold must not exceed {most}, the most that is counted of a group (got {threshold})"
            ),
            Self::Pattern(text) => {
                write!(
                    f,
                    "spec.match.message[].regex must be a valid regular expression (got {text:?}); for plain text \
                     use contains"
                )
            }
            Self::Schedule(text) => write!(
                f,
                "spec.schedule must have times such as 07:30 and a time zone such as UTC or +02:00 (got {text:?})"
            ),
            Self::Undecodable(why) => write!(f, "EventRecycler cannot be decoded: {why}"),
        }
    }
}

/// What was counted: `5 events in 10m`.
fn counted(count: impl fmt::Display, facts: &Facts) -> String {
    let Ok(settings) = &facts.settings else { return format!("{count} events") };
    format!("{count} {} in {}", unit(settings.count_by), span(settings.window.length()))
}

pub fn unit(count_by: CountBy) -> &'static str {
    match count_by {
        CountBy::Events => "events",
        CountBy::Pods => "pods",
        CountBy::Nodes => "nodes",
    }
}

texts! {
    pub(super) fn no_answer(timeout: Duration) = "no answer from the cloud within {}", span(timeout);
    pub(super) fn begins(group: &str, count: i64, facts: &Facts) =
        "Threshold reached for {group} ({}); recycling", counted(count, facts);
    pub(super) fn would_recycle(group: &str, count: u64, facts: &Facts) =
        "Threshold reached for {group} ({}); not recycling because spec.dryRun is set", counted(count, facts);
    pub(super) fn resumes(group: &str) =
        "Resuming the interrupted recycle of {group}: the group was left at size 0";
    pub(super) fn in_group(group: &str, why: &str) = "{group}: {why}";
    pub(super) fn dry_run(group: &str) =
        "Threshold reached for {group}; not recycling because spec.dryRun is set";
    pub(super) fn finalizer_not_written(failure: &Failure) =
        "Cannot update the finalizer: {}", failure.message;
    pub(super) fn recycle_not_stored(failure: &Failure) =
        "Cannot store the recycle in the status: {}", failure.message;
    pub(super) fn node_not_found(node: &str) = "node {node} does not exist";
    pub(super) fn no_provider_id(node: &str) = "node {node} has no spec.providerID yet";
    pub(super) fn no_region(node: &str) = "the region of node {node} is unknown; set spec.awsRegion";
    pub(super) fn no_group(instance: &str) = "instance {instance} is in no Auto Scaling group";
    pub(super) fn group_pending(instance: &str) = "the group of instance {instance} is being looked up";
    pub(super) fn group_unknown(instance: &str, why: &str) =
        "the group of instance {instance} cannot be looked up: {why}";
    pub(super) fn cannot_recycle(group: &str, why: &recycling::Refusal) = "Cannot recycle node group {group}: {why}";
}

pub(super) fn in_progress(groups: &[String], trouble: &[String]) -> String {
    let mut parts = vec![format!("Recycling node group {}", groups.join(", "))];
    parts.extend_from_slice(trouble);
    parts.join("; ")
}

pub(super) fn held(group: &str, hold: &Hold) -> String {
    match hold {
        Hold::Active => format!("The recycle of {group} has just ended; its cool-down begins"),
        Hold::Elsewhere(recycler) => {
            format!("Node group {group} is being recycled by EventRecycler {recycler}")
        }
        Hold::CoolDown(until) => {
            format!("Node group {group} was recycled; its cool-down ends at {until}")
        }
        Hold::Concurrency => format!(
            "Not recycling {group} yet: as many recycles are in progress as spec.maxConcurrent allows"
        ),
        Hold::Schedule(Some(next)) => {
            format!("Not recycling {group} yet: spec.schedule opens at {next}")
        }
        Hold::Schedule(None) => {
            format!("Not recycling {group} yet: spec.schedule does not open within a week")
        }
    }
}

/// `status.unmapped.example`.
pub(super) fn unmapped(involved: &Involved, why: &str) -> String {
    match involved {
        Involved::Pod { namespace, name, .. } => format!("pod {namespace}/{name}: {why}"),
        Involved::Node(name) => format!("node {name}: {why}"),
    }
}

pub(super) const POD_WITHOUT_NODE: &str = "the pod is not scheduled yet";
pub(super) const POD_NOT_FOUND: &str = "the pod does not exist, and the event names no node";
pub(super) const HOST_NOT_TRUSTED: &str =
    "the pod does not exist; to count for the host that the event names, set spec.trustEventHost";

#[cfg(test)]
mod tests;
