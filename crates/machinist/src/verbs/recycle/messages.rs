//! Texts of `machinist recycle`: errors, progress, and the lines of `watch`.

use std::fmt;
use std::time::Duration;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_provider::node_groups::GroupRef;

use super::run::preview::PreviewError;

impl fmt::Display for PreviewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { group, why } => write!(f, "cannot describe {group}: {why}"),
            Self::NotFound(GroupRef { region, name }) => {
                write!(f, "no Auto Scaling group {name} in {region}")
            }
            Self::Busy { group, owner } => {
                write!(f, "{group} is being recycled by {owner}; wait until it is finished")
            }
            Self::Refused { group, why } => write!(f, "cannot recycle {group}: {why}"),
            Self::Changed { group, change } => {
                write!(f, "{group} is skipped: since the preview {change}")
            }
        }
    }
}

pub(super) const NO_REGION: &str = "no region: use --region or set AWS_REGION";
pub(super) const NO_NODE_GROUPS: &str = "no provider of this binary has node groups";
pub(super) const NO_SECRETS: &str = "Secrets are not read by this command";
pub(super) const NO_TERMINAL: &str = "stdin is not a terminal: use --yes or --dry-run";
pub(super) const NOT_CONFIRMED: &str = "not confirmed";
pub(super) const FINISHED_ELSEWHERE: &str = "another command has finished its recycle";
pub(super) const PLAN_CHANGED: &str = "another command has changed the plan in its tags";
pub(super) const ALL_REPLACED: &str = "all of its instances were replaced";

pub(super) fn no_event(terms: &[String]) -> String {
    format!("no Event has {} in its message", quoted(terms))
}

pub(super) fn unknown_instances(region: &str, ids: &[String]) -> String {
    format!("EC2 has no such instances in {region}: {}", ids.join(", "))
}

pub(super) fn not_an_instance(id: &str) -> String {
    format!("{id:?} is not an instance ID such as i-0123456789abcdef0")
}

pub(super) fn several_regions(regions: &[&str]) -> String {
    format!("the Nodes are in several regions ({}): use --region", regions.join(", "))
}

pub(super) fn not_listed(kind: &str, why: impl fmt::Display) -> String {
    format!("cannot list {kind}: {why}")
}

pub(super) fn interrupted(group: &str) -> String {
    format!("interrupted during the recycle of {group}")
}

pub(super) fn resumption(recycle: &Recycle, command: &str) -> String {
    let (group, step) = (&recycle.group, recycle.step.as_str());
    format!(
        "Interrupted: {group} is at step {step}, and its plan is stored in its tags.\nResume with: {command}"
    )
}

pub(super) fn incomplete(done: usize, of: usize, why: &str) -> String {
    format!("{done} of {of} groups recycled; then: {why}")
}

pub(super) fn recycled(group: &str) -> String {
    format!("recycled {group}")
}

pub(super) fn failure(recycle: &Recycle) -> Option<String> {
    let failure = recycle.failure?.as_str();
    let why = recycle.message.as_deref().unwrap_or("no reason given");
    Some(format!("recycle of {} failed ({failure}): {why}", recycle.group))
}

pub(super) fn watching(terms: &[String], threshold: u32, window: Duration) -> String {
    format!("watching for {}: threshold {threshold} events in {window:?}", quoted(terms))
}

pub(super) fn counts(counts: &[String], unmapped: Option<&str>) -> String {
    let unmapped = unmapped.map(|example| format!("without a group: {example}"));
    let counts = Some(counts.join(", ")).filter(|text| !text.is_empty());
    counts.into_iter().chain(unmapped).collect::<Vec<_>>().join("; ")
}

pub(super) fn would_recycle(group: &GroupRef, events: u64) -> String {
    format!("threshold reached ({events} events); would recycle {group} (dry run)")
}

pub(super) fn recycling(group: &GroupRef, events: u64) -> String {
    format!("threshold reached ({events} events); recycling {group}")
}

pub(super) fn retried(why: impl fmt::Display) -> String {
    format!("{why}; retrying")
}

fn quoted(terms: &[String]) -> String {
    let terms: Vec<_> = terms.iter().map(|term| format!("{term:?}")).collect();
    terms.join(", ")
}

#[cfg(test)]
mod tests {
    use machinist_api::event_recycler::recycle::RecycleFailure;
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn all_messages() {
        let text = str::to_owned;
        let group = || GroupRef::new("eu-west-3", "workers");
        let recycle: Recycle = serde_json::from_value(serde_json::json!({
            "id": "a1", "group": "workers", "region": "eu-west-3", "strategy": "Replace",
            "step": "Replacing", "original": {"min": 1, "max": 4, "desired": 3},
            "started": "2026-11-16T01:00:00Z", "stepSince": "2026-11-16T01:00:00Z",
        }))
        .unwrap();
        let failed = Recycle {
            failure: Some(RecycleFailure::TimedOut),
            message: Some(text("timed out after 5m")),
            ..recycle.clone()
        };
        let mut stderr = vec![
            no_event(&[text("no space left")]),
            unknown_instances("eu-west-3", &[text("i-1")]),
            not_an_instance("n1"),
            text(NO_REGION),
            several_regions(&["eu-west-1", "eu-west-3"]),
            text(NO_NODE_GROUPS),
            text(NO_SECRETS),
            not_listed("nodes", "connection refused"),
            text(NO_TERMINAL),
            text(NOT_CONFIRMED),
            interrupted("workers"),
            resumption(&recycle, "machinist recycle run --region eu-west-3 workers"),
            incomplete(1, 2, "recycle of workers failed (TimedOut): timed out after 5m"),
            failure(&failed).unwrap(),
        ];
        let errors = [
            PreviewError::Unreachable { group: group(), why: text("access denied") },
            PreviewError::NotFound(group()),
            PreviewError::Busy { group: group(), owner: text("recycler/night-shift") },
            PreviewError::Refused { group: group(), why: text("the group has no instances") },
            PreviewError::Changed { group: group(), change: FINISHED_ELSEWHERE },
            PreviewError::Changed { group: group(), change: PLAN_CHANGED },
            PreviewError::Changed { group: group(), change: ALL_REPLACED },
        ];
        stderr.extend(errors.iter().map(ToString::to_string));
        let stdout = vec![
            watching(&[text("no space left")], 5, Duration::from_mins(10)),
            counts(&[text("workers: 3")], Some("pod ns/web: the pod is not scheduled yet")),
            would_recycle(&group(), 5),
            recycling(&group(), 5),
            retried("cannot describe eu-west-3/workers: access denied"),
            recycled("workers"),
        ];
        let rows = stderr.into_iter().map(|text| ("stderr", "", text));
        let rows = rows.chain(stdout.into_iter().map(|text| ("stdout of `watch`", "", text)));
        insta::assert_snapshot!("messages", message_table(&rows.collect::<Vec<_>>()));
    }
}
