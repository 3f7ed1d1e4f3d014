use std::fmt;
use std::time::Duration;

use machinist_controllers::machine_deployment::revision::Change;
use machinist_domain::messages::span;
use machinist_domain::texts;

use super::undo::Refusal;

pub(super) const NOT_OBSERVED: &str = "Waiting for machinedeployment spec update to be observed...";
pub(super) const NOT_ANSWERED: &str =
    "the API server has not answered the list of MachineDeployments";
pub(super) const CHANGED_MEANWHILE: &str = "it was changed by others at the same time; try again";

texts! {
    pub(super) fn not_a_deployment(got: &str) =
        "the MachineDeployment must be NAME, md/NAME, machinedeployment/NAME or md NAME (got {got:?})";
    pub(super) fn full_name(name: &str) = "machinedeployment.machine.openshift.io/{name}";
    pub(super) fn not_found(name: &str, namespace: &str) =
        "machinedeployment {name:?} not found in namespace {namespace:?}";
    pub(super) fn undecodable(name: &str, why: &str) = "machinedeployment {name:?} cannot be decoded: {why}";
    pub(super) fn cannot(verb: &str, what: &str) = "cannot {verb} {what}";
    pub(super) fn waits_updated(name: &str, updated: i32, of: i32) =
        "Waiting for machinedeployment {name:?} rollout to finish: \
         {updated} out of {of} new Machines have been updated...";
    pub(super) fn waits_old(name: &str, old: i32) =
        "Waiting for machinedeployment {name:?} rollout to finish: {} pending termination...",
        if old == 1 { "1 old Machine is".to_owned() } else { format!("{old} old Machines are") };
    pub(super) fn waits_available(name: &str, available: i32, updated: i32) =
        "Waiting for machinedeployment {name:?} rollout to finish: \
         {available} of {updated} updated Machines are available...";
    pub(super) fn waits_controller(name: &str, message: &str) =
        "Waiting for machinedeployment {name:?} rollout to finish: {message}";
    pub(super) fn paused_rollout(waits: &str, name: &str) =
        "{waits} It is paused: machinist rollout resume {name}";
    pub(super) fn complete(name: &str) = "machinedeployment {name:?} successfully rolled out";
    pub(super) fn deadline_exceeded(name: &str, message: &str) =
        "machinedeployment {name:?} exceeded its progress deadline: {message}";
    pub(super) fn aborted(name: &str, message: &str) =
        "machinedeployment {name:?} is not rolled out. {message}";
    pub(super) fn refused(name: &str, message: &str) =
        "machinedeployment {name:?} is not rolled out: {message}";
    pub(super) fn trouble(reason: &str, message: &str) = "{reason}: {message}";
    pub(super) fn deleting(name: &str) = "machinedeployment {name:?} is being deleted";
    pub(super) fn not_changed(name: &str) = "{}; nothing was changed", deleting(name);
    pub(super) fn deleted(name: &str) = "machinedeployment {name:?} was deleted";
    pub(super) fn timed_out(timeout: Duration, line: &str) = "timed out after {}: {line}", span(timeout);
    pub(super) fn no_history(name: &str) = "{}: no rollout history found", full_name(name);
    pub(super) fn revision_heading(name: &str, number: i64) = "{} with revision #{number}\n", full_name(name);
    pub(super) fn revision_details(set: &str, replicas: i32, cause: &str) =
        "MachineSet:   {set}\nMachines:     {replicas}\nChange-Cause: {cause}\n";
    pub(super) fn rolled_back(name: &str, number: i64) = "{} rolled back to revision {number}", full_name(name);
    pub(super) fn would_roll_back(name: &str, number: i64) =
        "{} would be rolled back to revision {number} (dry run)", full_name(name);
    pub(super) fn checked_roll_back(name: &str, number: i64) =
        "{} would be rolled back to revision {number} (server dry run)", full_name(name);
    pub(super) fn skipped(name: &str, number: i64) =
        "{} skipped rollback (current template already matches revision {number})", full_name(name);
    pub(super) fn paused(name: &str) = "{} paused", full_name(name);
    pub(super) fn resumed(name: &str) = "{} resumed", full_name(name);
    pub(super) fn restarted(name: &str) = "{} restarted", full_name(name);
    pub(super) fn already_paused(name: &str) = "machinedeployment {name:?} is already paused";
    pub(super) fn not_paused(name: &str) = "machinedeployment {name:?} is not paused";
    pub(super) fn restart_paused(name: &str) =
        "cannot restart paused machinedeployment {name:?}; run machinist rollout resume {name} first";
    pub(super) fn unknown_revision(name: &str, number: i64, known: &[i64]) =
        "machinedeployment {name:?} has no revision {number}; {}", existing(known);
}

pub(super) fn other_revision(name: &str, wanted: i64, running: Option<i64>) -> String {
    let running = running.map_or("unknown".to_owned(), |number| number.to_string());
    format!(
        "the revision of machinedeployment {name:?} is {running}, and not {wanted} (--revision)"
    )
}

pub(super) fn differences(base: i64, none: bool) -> String {
    let none = if none { " none" } else { "" };
    format!("Changes from revision {base}:{none}\n")
}

/// `instanceType: m5.large → m6i.large`, with the last part of the path.
pub(super) fn short_change(change: &Change) -> String {
    // A name with dots is in brackets.
    let bracket = change.path.strip_suffix(']').and_then(|path| path.rsplit_once('['));
    let name = bracket.or_else(|| change.path.rsplit_once('.')).map_or("", |(_, name)| name);
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    format!("{name}: {} → {}", value(&change.from), value(&change.to))
}

fn existing(known: &[i64]) -> String {
    let numbers: Vec<_> = known.iter().map(ToString::to_string).collect();
    match numbers.len() {
        0 => "there are no revisions".to_owned(),
        1 => format!("there is only revision {}", numbers.concat()),
        _ => format!("there are revisions {}", numbers.join(", ")),
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused { name, known } => write!(
                f,
                "cannot roll back paused machinedeployment {name:?}; run machinist rollout resume {name} \
                 first ({})",
                existing(known)
            ),
            Self::Unknown { name, number, known } => {
                f.write_str(&unknown_revision(name, *number, known))
            }
            Self::NoPrevious { name, known } => {
                write!(f, "machinedeployment {name:?} has no earlier revision; {}", existing(known))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let (name, text) = ("web", str::to_owned);
        let change = Change {
            path: text("spec.template.spec.providerSpec.value[a.b/c]"),
            from: None,
            to: Some(text("m6i.large")),
        };
        let waits = waits_updated(name, 0, 3);
        let progress = "Revision 2: 3 of 3 Machines updated, 3 available, 0 old";
        let stdout = [
            text(NOT_OBSERVED),
            waits.clone(),
            paused_rollout(&waits, name),
            waits_old(name, 1),
            waits_old(name, 2),
            waits_available(name, 2, 3),
            waits_controller(name, progress),
            trouble("Failed", "Revision 2: 1 of 3 Machines updated, 3 available, 3 old; …"),
            complete(name),
            full_name(name),
            no_history(name),
            short_change(&change),
            revision_heading(name, 2),
            revision_details("web-9fdb", 3, "faster disks"),
            differences(1, true),
            differences(1, false),
            rolled_back(name, 1),
            would_roll_back(name, 1),
            checked_roll_back(name, 1),
            skipped(name, 1),
            paused(name),
            resumed(name),
            restarted(name),
        ];
        let (one, known) = (vec![4], vec![1, 4]);
        let stderr = [
            not_a_deployment("deployment/web"),
            not_found(name, "machines"),
            undecodable(name, "spec.replicas: invalid type: string \"x\", expected a whole number"),
            cannot("list", "MachineSets"),
            timed_out(Duration::from_secs(1), NOT_ANSWERED),
            text(CHANGED_MEANWHILE),
            deadline_exceeded(name, "No progress for 600s; the rollout goes on. Revision 2: …"),
            aborted(
                name,
                "Rollout aborted: 1 new Machine failed or was not ready in time: web-a (Failed); …",
            ),
            refused(name, "spec.replicas must not be negative (got -1)"),
            deleting(name),
            not_changed(name),
            deleted(name),
            timed_out(Duration::from_mins(5), &waits),
            other_revision(name, 3, Some(2)),
            other_revision(name, 3, None),
            already_paused(name),
            not_paused(name),
            restart_paused(name),
            unknown_revision(name, 3, &[]),
            Refusal::Paused { name: text(name), known: known.clone() }.to_string(),
            Refusal::Unknown { name: text(name), number: 3, known }.to_string(),
            Refusal::NoPrevious { name: text(name), known: one }.to_string(),
        ];
        let rows = stdout.into_iter().map(|text| ("stdout", "", text));
        let rows = rows.chain(stderr.into_iter().map(|text| ("stderr", "", text)));
        insta::assert_snapshot!("messages", message_table(&rows.collect::<Vec<_>>()));
    }
}
