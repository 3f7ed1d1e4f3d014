use std::fmt;
use std::path::Path;
use std::time::Duration;

use machinist_api::event_recycler::recycle::Recycle;
use machinist_api::event_recycler::spec::{CountBy, Strategy};
use machinist_controllers::recycler::unit;
use machinist_domain::messages::span;
use machinist_domain::texts;
pub(super) use machinist_provider::messages::NO_NODE_GROUPS;
use machinist_provider::node_groups::{GroupRef, Hook};

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
pub(super) const MANAGED_BY_EKS: &str = "EKS manages this group";
pub(super) const NO_NODE: &str = "no node";
pub(super) const NO_SECRETS: &str = "Secrets are not read by this command";
pub(super) const NO_TERMINAL: &str =
    "cannot ask for confirmation, because stdin is not a terminal; use --yes or --dry-run";
pub(super) const NOT_CONFIRMED: &str = "not confirmed; nothing was changed";
pub(super) const FINISHED_ELSEWHERE: &str = "another command has finished its recycle";
pub(super) const PLAN_CHANGED: &str = "another command has changed the plan in its tags";
pub(super) const ALL_REPLACED: &str = "all of its instances were replaced";

texts! {
    pub(super) fn no_event(terms: &[String]) = "no Event has {} in its message", quoted(terms);
    pub(super) fn unknown_instances(region: &str, ids: &[String]) =
        "EC2 has no such instances in {region}: {}", ids.join(", ");
    pub(super) fn not_an_instance(id: &str) = "{id:?} is not an instance ID such as i-0123456789abcdef0";
    pub(super) fn several_regions(regions: &[&str]) =
        "the Nodes are in several regions ({}): use --region", regions.join(", ");
    pub(super) fn not_listed(kind: &str, why: impl fmt::Display) = "cannot list {kind}: {why}";
    pub(super) fn interrupted(group: &str) = "interrupted during the recycle of {group}";
    pub(super) fn incomplete(done: usize, of: usize, why: &str) =
        "{done} of {of} groups recycled; then: {why}";
    pub(super) fn recycled(group: &str) = "recycled node group {group}";
    pub(super) fn config_unreadable(path: &Path, why: &str) =
        "config file {} cannot be read: {why}", path.display();
    pub(super) fn watch_recycles(threshold: u32, by: CountBy, window: Duration, how: &str) =
        "Every node group that reaches the threshold ({threshold} {} in {}) will be recycled: {how}",
        unit(by), span(window);
    pub(super) fn watching(terms: &[String], threshold: u32, by: CountBy, window: Duration) =
        "watching for {}: threshold {threshold} {} in {}", quoted(terms), unit(by), span(window);
    pub(super) fn would_recycle(group: &GroupRef, count: u64, by: CountBy) =
        "threshold reached ({count} {}); would recycle {group} (dry run)", unit(by);
    pub(super) fn recycling(group: &GroupRef, count: u64, by: CountBy) =
        "threshold reached ({count} {}); recycling {group}", unit(by);
    pub(super) fn protected(instances: usize) = "{instances} of its instances are protected from scale-in";
    pub(super) fn hook(hook: &Hook) =
        "lifecycle hook {:?} ({}) may delay each instance by up to {}", hook.name, hook.transition, span(hook.patience);
    pub(super) fn warm_pool(size: impl fmt::Display) = "it has a warm pool of {size}";
    pub(super) fn resumed_by(owner: &str) = "  resumed: it was started by {owner}";
    pub(super) fn final_size(min: u32, max: u32, desired: u32) =
        "  final size: min {min}, max {max}, desired {desired}";
    pub(super) fn remark(remark: &str) = "  note: {remark}";
    pub(super) fn problem(why: &str) = "last error: {why}";
    pub(super) fn replaced(group: &str, step: &str, gone: usize, all: usize) =
        "{group}: {step}, {gone} of {all} replaced";
    pub(super) fn retried(why: impl fmt::Display) = "{why}; retrying";
}

pub(super) fn resumption(recycle: &Recycle, command: &str) -> String {
    let (group, step) = (&recycle.group, recycle.step.as_str());
    format!(
        "Interrupted: {group} is at step {step}, and its plan is stored in its tags.\nResume with: {command}"
    )
}

pub(super) fn failure(recycle: &Recycle) -> Option<String> {
    let failure = recycle.failure?.as_str();
    let why = recycle.message.as_deref().unwrap_or("no reason given");
    Some(format!("recycle of {} failed ({failure}): {why}", recycle.group))
}

pub(super) fn strategy(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Replace => {
            "every instance is drained, terminated and replaced, one after the other"
        }
        Strategy::InstanceRefresh => "AWS replaces every instance, by an instance refresh",
        Strategy::ScaleToZero => {
            "ALL instances are terminated AT ONCE, without a drain; then the group is scaled up again"
        }
    }
}

pub(super) fn counts(counts: &[String], unmapped: Option<&str>) -> String {
    let unmapped =
        unmapped.map(|example| format!("some events belong to no group, for example of {example}"));
    let counts = Some(counts.join(", ")).filter(|text| !text.is_empty());
    counts.into_iter().chain(unmapped).collect::<Vec<_>>().join("; ")
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
            config_unreadable(Path::new("/home/jane/.kaws.yaml"), "permission denied"),
            watch_recycles(5, CountBy::Nodes, Duration::from_mins(10), strategy(Strategy::Replace)),
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
        let hook = Hook {
            name: "drain".into(),
            transition: "Terminating",
            patience: Duration::from_hours(1),
        };
        let mut preview = [Strategy::Replace, Strategy::InstanceRefresh, Strategy::ScaleToZero]
            .map(|one| text(strategy(one)))
            .to_vec();
        preview.extend([
            resumed_by("by-hand/a@b at 2026-11-16T01:00:00Z"),
            final_size(1, 4, 3),
            text(NO_NODE),
            remark(MANAGED_BY_EKS),
            remark(&protected(2)),
            remark(&super::hook(&hook)),
            remark(&warm_pool(2)),
        ]);
        stderr.extend([replaced("workers", "Replacing", 1, 3), problem("access denied")]);
        let stdout = vec![
            watching(&[text("no space left")], 5, CountBy::Nodes, Duration::from_mins(10)),
            counts(&[text("workers: 3")], Some("pod ns/web: the pod is not scheduled yet")),
            would_recycle(&group(), 5, CountBy::Pods),
            recycling(&group(), 5, CountBy::Events),
            retried("cannot describe eu-west-3/workers: access denied"),
            recycled("workers"),
        ];
        let rows = stderr.into_iter().map(|text| ("stderr", "", text));
        let rows = rows.chain(preview.into_iter().map(|text| ("preview of `run`", "", text)));
        let rows = rows.chain(stdout.into_iter().map(|text| ("stdout of `watch`", "", text)));
        insta::assert_snapshot!("messages", message_table(&rows.collect::<Vec<_>>()));
    }
}
