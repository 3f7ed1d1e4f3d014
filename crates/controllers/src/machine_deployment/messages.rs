use jiff::Timestamp;
use machinist_api::names::{ANNOTATION_PRESERVE, IN_PLACE_SELECTED, LABEL_IN_PLACE};
use machinist_domain::conditions;
use machinist_domain::texts;

use super::error::{GuardField, Refusal};
use super::failed::FailedMachines;
use super::in_place::{Obstacle, Progress};
use super::plan::{Resize, Soak, set_name};
use super::template::Change;
use crate::machine::messages::{CORRECT_AND_DELETE, DELETE_TO_REPLACE};

const NAMES_SHOWN: usize = 5;
const CHANGES_SHOWN: usize = 3;
/// How much of a value is shown.
const VALUE_LENGTH: usize = 60;
/// How much of a MachineSet's message is repeated on its deployment.
const MESSAGE_LENGTH: usize = 240;

/// One name; or the first ones.
pub(super) fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    let first = &names[..names.len().min(NAMES_SHOWN)];
    let rest = if names.len() > first.len() { ", …" } else { "" };
    format!("{}{rest}", first.join(", "))
}

pub(super) fn sizes(sizes: &[Resize]) -> String {
    let one = |one: &Resize| format!("{} from {} to {}", set_name(&one.set), one.from, one.to);
    format!("scale {}", sizes.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// What a new revision changes: `path: old → new`.
pub(super) fn changes(changes: &[Change]) -> String {
    let value = |value: &Option<String>| match value {
        None => "none".to_owned(),
        Some(text) if text.chars().count() > VALUE_LENGTH => {
            format!("{}…", text.chars().take(VALUE_LENGTH).collect::<String>())
        }
        Some(text) => text.clone(),
    };
    let shown = changes.iter().take(CHANGES_SHOWN);
    let shown: Vec<_> = shown
        .map(|one| format!("{}: {} → {}", one.path, value(&one.from), value(&one.to)))
        .collect();
    let mut text = shown.join(", ");
    let rest = changes.len().saturating_sub(CHANGES_SHOWN);
    if rest > 0 {
        text.extend([format!(" and {rest} more")]);
    }
    text
}

/// The counts of a rollout.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub(super) revision: i64,
    pub(super) updated: usize,
    pub(super) available: usize,
    pub(super) replicas: usize,
    pub(super) old: usize,
}

/// The state of a rollout: counts, what it waits for, and what it changes.
pub(super) fn rollout(counts: Counts, waits: Option<&str>, why: &str) -> String {
    let Counts { revision, updated, available, replicas, old } = counts;
    let mut text = format!(
        "Revision {revision}: {updated} of {replicas} Machines updated, {available} available, {old} old"
    );
    for part in [waits, Some(why).filter(|why| !why.is_empty())].into_iter().flatten() {
        text.push_str("; ");
        text.push_str(part);
    }
    text
}

/// What an update in place waits for.
pub(super) fn waits_in_place(progress: Progress) -> String {
    let Progress { updating, failed, waiting, stuck, manual } = progress;
    let mut parts = Vec::new();
    if updating > 0 {
        parts.push(format!("{} being updated in place", machines(updating, "")));
    }
    if failed > 0 {
        let verb = if failed == 1 { "needs" } else { "need" };
        parts.push(format!("{} {verb} attention (condition InPlaceUpdate)", machines(failed, "")));
    }
    if waiting > 0 && manual {
        let label = format!("{LABEL_IN_PLACE}={IN_PLACE_SELECTED}");
        parts.push(format!("{} to be selected with the label {label}", machines(waiting, "")));
    } else if waiting > 0 {
        parts.push(format!("{} waiting", machines(waiting, "")));
    }
    if stuck > 0 {
        parts.push(format!("{} cannot be updated in place now", machines(stuck, "")));
    }
    parts.join(", ")
}

/// The names for the end of that, each with the reason and what to do.
pub(super) fn not_updatable(mut list: Vec<(&str, Obstacle)>) -> String {
    if list.is_empty() {
        return String::new();
    }
    list.sort_unstable();
    let one = |(name, obstacle): &(&str, Obstacle)| match obstacle {
        Obstacle::Failed => {
            format!("{name} (has failed: delete it, then its replacement is updated)")
        }
        Obstacle::WithoutNode => format!(
            "{name} (has no Node: it is selected when its Node has joined; see its condition Ready)"
        ),
        Obstacle::Kept(until) => format!(
            "{name} (is kept for debugging until {until}; to end that, set {ANNOTATION_PRESERVE} to false)"
        ),
    };
    let all: Vec<_> = list.iter().map(one).collect();
    format!(": {}", names(all.iter().map(String::as_str)))
}

/// The end of a message: what is kept for debugging, each with the time at which that ends, if it is stored.
pub(super) fn preserved(mut list: Vec<(&str, Option<Timestamp>)>) -> String {
    if list.is_empty() {
        return String::new();
    }
    list.sort_unstable();
    let one = |(name, until): &(&str, Option<Timestamp>)| match until {
        Some(until) => format!("{name} (until {until})"),
        None => (*name).to_owned(),
    };
    let all: Vec<_> = list.iter().map(one).collect();
    format!("; kept for debugging: {}", names(all.iter().map(String::as_str)))
}

/// `1 new Machine`, `2 new Machines`.
pub(super) fn machines(count: usize, kind: &str) -> String {
    format!("{count} {kind}Machine{}", if count == 1 { "" } else { "s" })
}

/// `1 new Machine failed or was not ready in time: web-a (NotReady)`, with the first names.
pub(super) fn failed_machines(failed: &FailedMachines) -> String {
    let was = if failed.len() == 1 { "was" } else { "were" };
    let list: Vec<_> =
        failed.iter().map(|(name, defect)| format!("{name} ({})", defect.as_str())).collect();
    format!(
        "{} failed or {was} not ready in time: {}",
        machines(failed.len(), "new "),
        names(list.iter().map(String::as_str))
    )
}

/// Why a rollout is stopped, and what a user can do.
pub(super) fn aborted(
    deployment: &str,
    failed: &FailedMachines,
    cause: Option<&str>,
    old: usize,
) -> String {
    let mut text = rollout_aborted(failed);
    for part in [cause.map(shortened), (old > 0).then(|| kept(old))].into_iter().flatten() {
        text.push_str("; ");
        text.push_str(&part);
    }
    format!(
        "{text}; {CORRECT_TEMPLATE} (machinist rollout undo {deployment}), or delete the failed Machines and run \
         machinist rollout resume {deployment}"
    )
}

fn kept(old: usize) -> String {
    if old == 1 {
        "the old Machine stays".to_owned()
    } else {
        format!("the {old} old Machines stay")
    }
}

/// What the rollout waits for while canaries are observed.
pub(super) fn soaks(soak: Soak) -> String {
    let Soak { canaries, seconds, ends } = soak;
    let canaries =
        if canaries == 1 { "1 canary".to_owned() } else { format!("{canaries} canaries") };
    let until = ends.map(|at| format!(", which ends at {}", conditions::whole_seconds(at)));
    format!("{canaries} must be available for {seconds}s{}", until.unwrap_or_default())
}

/// The message of a MachineSet, without what to do with one of its Machines: that is not what to do here.
fn shortened(message: &str) -> String {
    let advice = [CORRECT_AND_DELETE, DELETE_TO_REPLACE].into_iter();
    let message =
        advice.fold(message, |text, advice| text.split_once(advice).map_or(text, |(head, _)| head));
    message.chars().take(MESSAGE_LENGTH).collect()
}

pub(super) const CORRECT_TEMPLATE: &str = "correct spec.template, or put the earlier one back";
pub(super) const WAITS_GONE: &str = "waiting until deleted Machines are gone";
pub(super) const WAITS_MOVE: &str = "waiting to move a Machine to another MachineSet: the Machine that the annotation \
     machinist.dev/hold of a MachineSet names cannot be decoded, or the MachineSet cannot be written";
pub(super) const DELETING: &str =
    "The MachineDeployment is being deleted; nothing is scaled or rolled out any more";
pub(super) const AVAILABLE_UNKNOWN: &str = "The required number of Machines is not known until the spec is corrected; \
     see the condition Progressing";
pub(super) const NODE_UNCHANGED: &str =
    "the API server accepted the change and stored nothing; a webhook may have removed it";
pub(super) const SET_DELETING: &str =
    "Waiting until the MachineSet of the same template is deleted; then it is created again";
pub(super) const SET_NOT_OWNED: &str = "The MachineSet with the name for spec.template cannot be adopted or released; \
     correct what the condition ReplicaFailure names";

texts! {
    pub(super) fn waits_available(count: usize) =
        "waiting for {} to become available", machines(count, "new ");
    pub(super) fn waits_for(waits: &str, machine: &str, reason: Option<&str>) =
        "{waits}: {machine}{}", reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    pub(super) fn waits_more(count: usize) =
        "waiting for {} to become available", machines(count, "");
    pub(super) fn waits_failed(waits: &str, set: &str, cause: &str) =
        "{waits}: MachineSet {set}: {}", shortened(cause);
    pub(super) fn waits_drained(machine: &str) =
        "{WAITS_GONE}: Machine {machine} is being drained, see its condition Drained";
    pub(super) fn old_stay(old: usize) =
        "the {} until then", if old == 1 { "old Machine stays".to_owned() } else { format!("{old} old Machines stay") };
    pub(super) fn complete(set: &str, revision: i64, replicas: usize) =
        "Revision {revision} is complete: MachineSet {set} has {}", machines(replicas, "available ");
    pub(super) fn paused(deployment: &str) =
        "The rollout is paused; to go on, set spec.paused to false (machinist rollout resume {deployment})";
    pub(super) fn set_changed(set: &str, deployment: &str, differs: &[Change]) =
        "The template of MachineSet {set} was changed and is not spec.template: {}; put it back in the MachineSet, or \
         replace all Machines by those of spec.template (machinist rollout restart {deployment})", changes(differs);
    pub(super) fn amid_rollout(changed: &str, rollout: &str) = "{changed}. {rollout}";
    pub(super) fn available(count: usize, minimum: usize) =
        "{} available, at least {minimum} required", machines(count, "");
    pub(super) fn deadline(seconds: i32, message: &str) =
        "No progress for {seconds}s; the rollout goes on. {message}";
    pub(super) fn set_failure(set: &str, message: &str) =
        "MachineSet {set}: {}", shortened(message);
    pub(super) fn created(set: &str, revision: i64) = "Created MachineSet {set} of revision {revision}";
    pub(super) fn scaled(set: &str, from: usize, to: usize) = "Scaled MachineSet {set} from {from} to {to}";
    pub(super) fn canary_passed(set: &str) =
        "The canaries of MachineSet {set} have been available for long enough; the rollout goes on";
    pub(super) fn rollout_aborted(failed: &FailedMachines) = "Rollout aborted: {}", failed_machines(failed);
    pub(super) fn deleted(set: &str) = "Deleted old MachineSet {set}";
    pub(super) fn adopted(sets: &str) = "Adopted {sets}: labels match the selector";
    pub(super) fn released(sets: &str) = "Released {sets}: labels no longer match the selector";
    pub(super) fn pushed(set: &str, count: usize, changed: &[Change]) =
        "Updated MachineSet {set}, and {} next, without replacing Machines: {}", machines(count, ""), changes(changed);
    pub(super) fn collision(set: &str) =
        "The name {set} is taken by a MachineSet of another owner; another name is used";
    pub(super) fn selected(names: &str) = "Selected for an update in place: {names}";
    pub(super) fn moved(machine: &str, set: &str) =
        "Updated {machine} in place; it belongs to MachineSet {set} now";
    pub(super) fn unchanged(name: &str) =
        "the API server accepted the patch of {name} and stored nothing; an admission webhook may have removed the \
         change";
    pub(super) fn claim_failed(cause: &str) = "Cannot adopt or release a MachineSet: {cause}";
    pub(super) fn create_failed(cause: &str) = "Cannot create a MachineSet: {cause}";
    pub(super) fn node_failed(node: &str, cause: &str) = "Node {node}: {cause}";
    pub(super) fn marks_failed(cause: &str) =
        "Cannot mark Nodes, or remove marks from them: {cause}. The rollout goes on; allow patch of nodes, or set \
         spec.strategy.markNodes to false";
    pub(super) fn without_marks(text: &str, cause: &str) = "{text}; cannot change marks on Nodes: {}", shortened(cause);
    pub(super) fn deleting(cause: &str) = "{DELETING}; cannot remove marks from Nodes: {}", shortened(cause);
    pub(super) fn update_failed(cause: &str) = "Cannot update a MachineSet or Machine: {cause}";
    pub(super) fn list_failed(cause: &str) = "Cannot list Machines before sets are scaled: {cause}";
    pub(super) fn delete_failed(cause: &str) = "Cannot delete an old MachineSet: {cause}";
}

/// What is refused, and what that means for the deployment.
pub(super) fn refusal(refusal: &Refusal) -> String {
    // Those that end with what to do.
    let until = match refusal {
        Refusal::MarkedTemplate(_)
        | Refusal::NoRoom(_)
        | Refusal::NeedsInstance(_)
        | Refusal::Overlap(_)
        | Refusal::UndecodableSet(_) => "then",
        _ => "it is corrected",
    };
    format!("{}; nothing is scaled until {until}", cause(refusal))
}

fn cause(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Undecodable(reason) => format!("MachineDeployment cannot be decoded: {reason}"),
        Refusal::Selector(error) => error.to_string(),
        Refusal::SelectorMismatch { selector } => format!(
            "spec.selector {selector} does not match the labels in spec.template.metadata.labels"
        ),
        Refusal::MarkedTemplate(mark) => format!(
            "spec.template.metadata.annotations[{mark}] marks every new Machine for deletion; remove it, and mark \
             single Machines"
        ),
        Refusal::Replicas(replicas) => {
            format!("spec.replicas must not be negative (got {replicas})")
        }
        Refusal::Strategy(kind) => {
            format!(
                "spec.strategy.type must be RollingUpdate, Recreate or InPlaceUpdate (got {kind:?})"
            )
        }
        Refusal::Limit(field, value) => format!(
            "spec.strategy.{field} must be a number from 0 or a percentage such as 25% \
             (maxUnavailable: at most 100%; got {value:?})"
        ),
        Refusal::MaxInFlight(value) => format!(
            "spec.remediation.maxInFlight must be a number from 0 or a percentage such as 25% (got {value:?})"
        ),
        Refusal::Guard(field, value) => {
            let (field, valid) = match field {
                GuardField::CanaryReplicas => {
                    ("canary.replicas", "a number from 1 or a percentage from 1% to 100%")
                }
                GuardField::SoakSeconds => ("canary.soakSeconds", "a number from 0"),
                GuardField::FailedMachines => ("abort.failedMachines", "a number from 1 to 1000"),
                GuardField::ReadyTimeoutSeconds => ("abort.readyTimeoutSeconds", "a number from 1"),
            };
            format!("spec.strategy.rollingUpdate.{field} must be {valid} (got {value})")
        }
        Refusal::GuardedRecreate(name) => format!(
            "spec.strategy.rollingUpdate.{name} needs the strategy type RollingUpdate (got Recreate)"
        ),
        Refusal::NoRoom(strategy) => format!(
            "spec.strategy.{strategy}: maxSurge and maxUnavailable must not both be 0 \
             (no Machine could be replaced or updated); set one of them to at least 1"
        ),
        Refusal::Orchestration(kind) => format!(
            "spec.strategy.inPlaceUpdate.orchestrationType must be Auto or Manual (got {kind:?})"
        ),
        Refusal::NeedsInstance(needed) => format!(
            "Not possible in place, because it needs new instances: {}; put it back, or set spec.strategy.type to \
             RollingUpdate",
            changes(needed)
        ),
        Refusal::Template(error) => format!("spec.template.spec: {error}"),
        Refusal::Overlap(other) => format!(
            "spec.selector overlaps that of the older MachineDeployment {}; use labels of its own",
            other.name
        ),
        Refusal::UndecodableSet(set) => {
            format!("MachineSet {} cannot be decoded; correct it first", set.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use machinist_api::names::{
        ERROR_INVALID_CONFIGURATION, REASON_CANARY_SOAKING, REASON_DEADLINE_EXCEEDED,
        REASON_DELETING, REASON_DEPLOYMENT_PAUSED, REASON_MINIMUM_AVAILABLE,
        REASON_NEW_SET_AVAILABLE, REASON_ROLLOUT_ABORTED, REASON_SET_CHANGED, REASON_SET_UPDATED,
    };
    use machinist_domain::key::ObjectKey;
    use machinist_domain::message_table::message_table;
    use machinist_domain::report::EventReason;

    use super::super::failed::Defect;
    use super::*;

    const NORMAL: &str = "Event Normal";
    const FAILURE: &str = "Event Warning, condition ReplicaFailure=True";
    const BOTH_UNKNOWN: &str = "condition Available=Unknown, condition Progressing=Unknown";

    fn change(field: &str) -> Change {
        Change {
            path: format!("spec.template.spec.providerSpec.value.{field}"),
            from: Some("m5.large".to_owned()),
            to: Some("m6i.large".to_owned()),
        }
    }

    fn in_place(updating: usize, failed: usize, waiting: usize, manual: bool) -> String {
        waits_in_place(Progress { updating, failed, waiting, stuck: 0, manual })
    }

    fn stuck() -> String {
        let until = "2026-06-05T12:00:00Z".parse().unwrap();
        let progress = Progress { updating: 1, failed: 0, waiting: 0, stuck: 3, manual: true };
        let list = vec![
            ("web-x7kq-2", Obstacle::Kept(until)),
            ("web-x7kq-1", Obstacle::WithoutNode),
            ("web-x7kq-0", Obstacle::Failed),
        ];
        format!("{}{}", waits_in_place(progress), not_updatable(list))
    }

    fn complete_beside_kept(set: &str) -> String {
        let until = "2026-06-05T12:00:00Z".parse().ok();
        let kept = preserved(vec![("web-x7kq-4", None), ("web-x7kq-3", until)]);
        format!("{}{kept}", complete(set, 2, 3))
    }

    fn refusals(set: &str, key: &ObjectKey) -> Vec<Refusal> {
        vec![
            Refusal::Selector(crate::machine_set::selector::SelectorError::Empty),
            Refusal::SelectorMismatch { selector: "a=b".to_owned() },
            Refusal::MarkedTemplate("machine.openshift.io/delete-machine"),
            Refusal::Replicas(-1),
            Refusal::MaxInFlight("lots".to_owned()),
            Refusal::Guard(GuardField::CanaryReplicas, "0%".to_owned()),
            Refusal::Guard(GuardField::SoakSeconds, "-1".to_owned()),
            Refusal::Guard(GuardField::FailedMachines, "0".to_owned()),
            Refusal::Guard(GuardField::ReadyTimeoutSeconds, "0".to_owned()),
            Refusal::GuardedRecreate("canary"),
            Refusal::Strategy("Canary".to_owned()),
            Refusal::Limit("rollingUpdate.maxSurge", "lots".to_owned()),
            Refusal::NoRoom("rollingUpdate"),
            Refusal::Orchestration("Magic".to_owned()),
            Refusal::NeedsInstance(vec![change("instanceType")]),
            Refusal::Template("invalid type: string \"x\", expected a map".to_owned()),
            Refusal::Overlap(key.clone()),
            Refusal::UndecodableSet(ObjectKey::new("ns", set)),
        ]
    }

    #[test]
    fn all_messages() {
        let (set, key) = ("web-bcdfghjklm", ObjectKey::new("ns", "web"));
        let refused = "the API server answered 403 Forbidden: machinesets is forbidden";
        let one = changes(&[change("instanceType")]);
        let removed = Change { to: None, from: Some("x".repeat(99)), ..change("userData") };
        let many = changes(&[change("a"), removed, change("c"), change("d")]);
        let counts = Counts { revision: 2, updated: 1, available: 3, replicas: 3, old: 3 };
        let (progress, is_false) = ("condition Progressing=True", "condition Progressing=False");
        let waits = format!("{}; {}", waits_available(1), old_stay(3));
        let text = rollout(counts, Some(&waits), &one);
        let cause = waits_failed(&waits_available(2), set, "2 of 2 Machines failed: no capacity");
        let blocked = format!("{cause}; {}; {CORRECT_TEMPLATE}", old_stay(1));
        let (mut failed, ends) = (FailedMachines::default(), "2026-06-01T12:10:00Z".parse().ok());
        failed.add("web-bcdfghjklm-x2f4k", Defect::NotReady);
        let one_failed = aborted("web", &failed, None, 1);
        failed.add("web-bcdfghjklm-9q7zt", Defect::Failed);
        let stopped = aborted("web", &failed, Some("1 of 2 Machines failed: no capacity"), 3);
        let soak = soaks(Soak { canaries: 1, seconds: 600, ends });
        let many_soak = soaks(Soak { canaries: 3, seconds: 600, ends: None });
        let changed = set_changed(set, "web", &[change("instanceType")]);
        let mut rows = vec![
            (progress, REASON_CANARY_SOAKING, rollout(counts, Some(&soak), &one)),
            (progress, REASON_CANARY_SOAKING, rollout(counts, Some(&many_soak), "")),
            (is_false, REASON_ROLLOUT_ABORTED, one_failed),
            (is_false, REASON_ROLLOUT_ABORTED, stopped),
            (NORMAL, EventReason::CanaryPassed.as_str(), canary_passed(set)),
            ("Event Warning", EventReason::RolloutAborted.as_str(), rollout_aborted(&failed)),
            (progress, REASON_SET_UPDATED, rollout(counts, Some(&in_place(1, 1, 2, false)), &one)),
            (progress, REASON_SET_UPDATED, rollout(counts, Some(&in_place(0, 0, 3, true)), &one)),
            (progress, REASON_SET_UPDATED, rollout(counts, Some(&stuck()), &one)),
            (NORMAL, EventReason::Update.as_str(), selected(set)),
            (NORMAL, EventReason::Update.as_str(), moved("web-kq7x-0", set)),
            (progress, REASON_SET_UPDATED, rollout(counts, None, &many)),
            (progress, REASON_SET_UPDATED, rollout(counts, Some(WAITS_GONE), &one)),
            (progress, REASON_SET_UPDATED, rollout(counts, Some(WAITS_MOVE), &one)),
            (
                progress,
                REASON_SET_UPDATED,
                rollout(counts, Some(&waits_drained("web-bcdfghjklm-m6vt-3")), &one),
            ),
            (progress, REASON_SET_UPDATED, text.clone()),
            (
                progress,
                REASON_SET_UPDATED,
                waits_for(&waits_available(1), "web-x7kq-0", Some("InstancePending")),
            ),
            (progress, "CapacityExhausted", rollout(counts, Some(&blocked), &one)),
            (progress, REASON_SET_UPDATED, rollout(counts, Some(&waits_more(2)), "")),
            (progress, REASON_SET_UPDATED, SET_DELETING.to_owned()),
            (progress, REASON_SET_UPDATED, SET_NOT_OWNED.to_owned()),
            (is_false, REASON_SET_CHANGED, changed.clone()),
            (is_false, REASON_SET_CHANGED, amid_rollout(&changed, &text)),
            (progress, REASON_NEW_SET_AVAILABLE, complete(set, 2, 3)),
            (progress, REASON_NEW_SET_AVAILABLE, complete_beside_kept(set)),
            ("condition Progressing=Unknown", REASON_DEPLOYMENT_PAUSED, paused("web")),
            ("condition Progressing=False", REASON_DEADLINE_EXCEEDED, deadline(600, &text)),
            ("condition Available", REASON_MINIMUM_AVAILABLE, available(3, 3)),
            (
                "condition Available=Unknown",
                ERROR_INVALID_CONFIGURATION,
                AVAILABLE_UNKNOWN.to_owned(),
            ),
            (BOTH_UNKNOWN, REASON_DELETING, DELETING.to_owned()),
            (BOTH_UNKNOWN, REASON_DELETING, deleting(&node_failed("n", refused))),
            ("condition ReplicaFailure=True", "FailedCreate", set_failure(set, "Cannot create")),
            (NORMAL, EventReason::Create.as_str(), created(set, 2)),
            (NORMAL, EventReason::Scaled.as_str(), scaled(set, 0, 1)),
            (NORMAL, EventReason::Delete.as_str(), deleted(set)),
            (NORMAL, EventReason::Adopted.as_str(), adopted(&names([set, "b"].into_iter()))),
            (NORMAL, EventReason::Released.as_str(), released(&names([set; 6].into_iter()))),
            (NORMAL, EventReason::Update.as_str(), pushed(set, 3, &[change("tags")])),
            ("Event Warning", EventReason::ReconcileError.as_str(), collision(set)),
            (FAILURE, EventReason::ReconcileError.as_str(), claim_failed(refused)),
            (FAILURE, EventReason::FailedCreate.as_str(), create_failed(refused)),
            (FAILURE, EventReason::FailedUpdate.as_str(), update_failed(refused)),
            (FAILURE, EventReason::FailedUpdate.as_str(), update_failed(&unchanged(set))),
            (FAILURE, EventReason::ReconcileError.as_str(), list_failed(refused)),
            (
                "Event Warning",
                EventReason::FailedUpdate.as_str(),
                marks_failed(&node_failed("n", refused)),
            ),
            (
                progress,
                REASON_NEW_SET_AVAILABLE,
                without_marks(&complete(set, 2, 3), &node_failed("n", NODE_UNCHANGED)),
            ),
            (FAILURE, EventReason::FailedDelete.as_str(), delete_failed(refused)),
        ];
        let undecodable = "spec.replicas: invalid type: string \"x\", expected i32".to_owned();
        rows.push((
            "Event Warning",
            EventReason::ReconcileError.as_str(),
            refusal(&Refusal::Undecodable(undecodable)),
        ));
        let invalid = "condition Progressing=False, Event Warning";
        for refused in refusals(set, &key) {
            rows.push((invalid, ERROR_INVALID_CONFIGURATION, refusal(&refused)));
        }
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
