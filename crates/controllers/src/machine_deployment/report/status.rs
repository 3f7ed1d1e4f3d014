//! The status as a patch of what differs. `observedGeneration` is advanced by the first reconcile of a generation that
//! does not fail: its counts and conditions are about that generation.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{
    CONDITION_AVAILABLE, CONDITION_MACHINES_READY, CONDITION_PROGRESSING, CONDITION_READY,
    CONDITION_REPLICA_FAILURE, ERROR_INVALID_CONFIGURATION, REASON_CANARY_SOAKING,
    REASON_DEADLINE_EXCEEDED, REASON_DELETING, REASON_DEPLOYMENT_PAUSED, REASON_MINIMUM_AVAILABLE,
    REASON_MINIMUM_UNAVAILABLE, REASON_NEW_SET_AVAILABLE, REASON_NEW_SET_CREATED,
    REASON_ROLLOUT_ABORTED, REASON_SET_CHANGED, REASON_SET_UPDATED, SEVERITY_ERROR, SEVERITY_INFO,
    SEVERITY_WARNING, STATUS_FALSE,
};
use machinist_domain::conditions::{self, Condition};
use machinist_domain::report::EventReason;
use serde_json::{Map, Value, json};

use super::super::decide::{Desired, is_available};
use super::super::defaults;
use super::super::failed::FailedMachines;
use super::super::messages;
use super::super::plan::{Finding, Plan, Reason, set_name};
use super::super::snapshot::{SetView, View};
use super::super::template;
use super::nodes;

/// What the condition `ReplicaFailure` reports of this reconcile.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trouble<'a> {
    None,
    /// The reconcile failed and will be retried: the condition stays as it is.
    Unknown,
    Failure(EventReason, &'a str),
    /// A write was refused before and will be repeated. The rest of the spec is acted upon.
    Earlier(EventReason, &'a str),
}

pub(super) struct Status<'a> {
    pub(super) view: &'a View,
    pub(super) desired: &'a Desired,
    pub(super) plan: &'a Plan,
    pub(super) now: Timestamp,
}

const PRESERVED: &str = "preservedReplicas";

#[derive(Debug, Default)]
struct Counts {
    replicas: usize,
    updated: usize,
    ready: usize,
    available: usize,
    preserved: usize,
}

impl Status<'_> {
    /// An invalid spec: how many Machines it requires is not known, so a stored `Available` is about another one.
    pub(super) fn invalid(view: &View, text: &str, now: Timestamp) -> Option<Value> {
        let reason = ERROR_INVALID_CONFIGURATION;
        let invalid = Condition::no(CONDITION_PROGRESSING, SEVERITY_ERROR, reason, text);
        let unknown = Condition::unknown(CONDITION_AVAILABLE, reason, messages::AVAILABLE_UNKNOWN);
        let stored = &view.deployment.status.conditions;
        let unknown = conditions::find(stored, CONDITION_AVAILABLE).map(|_| unknown);
        let list = conditions::set(stored, [Some(invalid), unknown].into_iter().flatten(), now)?;
        Some(json!({"conditions": conditions::to_json(&list)}))
    }

    /// A deployment that is being deleted: what was reported of it does not hold any more.
    /// `failure`: why it is not deleted yet.
    pub(super) fn deleting(view: &View, failure: Option<&str>, now: Timestamp) -> Option<Value> {
        let stored = &view.deployment.status.conditions;
        let kinds = [CONDITION_AVAILABLE, CONDITION_PROGRESSING].into_iter();
        let kinds = kinds.filter(|kind| conditions::find(stored, kind).is_some());
        let text = failure.map_or_else(|| messages::DELETING.to_owned(), messages::deleting);
        let unknown = |kind| Condition::unknown(kind, REASON_DELETING, text.as_str());
        let list = conditions::set(stored, kinds.map(unknown), now)?;
        Some(json!({"conditions": conditions::to_json(&list)}))
    }

    pub(super) fn collision(&self) -> Value {
        let collisions = self.view.deployment.status.collisions.unwrap_or(0);
        json!({"collisionCount": collisions.saturating_add(1)})
    }

    /// The patch, and after which time without progress the deadline is exceeded.
    pub(super) fn patch(&self, trouble: Trouble<'_>) -> (Option<Value>, Option<Duration>) {
        let (deployment, counts) = (&self.view.deployment, self.count());
        let status = &deployment.status;
        let unavailable = self.desired.replicas.max(counts.replicas) - counts.available;
        let mut patch = Map::new();
        let mut progress = false;
        for (name, stored, current) in [
            ("replicas", status.replicas, counts.replicas),
            ("updatedReplicas", status.updated, counts.updated),
            ("readyReplicas", status.ready, counts.ready),
            ("availableReplicas", status.available, counts.available),
            ("unavailableReplicas", status.unavailable, unavailable),
            (PRESERVED, status.preserved, counts.preserved),
        ] {
            // A definition of an earlier version does not have this counter.
            let optional = name == PRESERVED && stored.is_none() && current == 0;
            if !optional && stored.and_then(|count| usize::try_from(count).ok()) != Some(current) {
                patch.insert(name.to_owned(), json!(current));
                progress |= name != PRESERVED;
            }
        }
        let selector = deployment.spec.selector.as_ref().ok().map(ToString::to_string);
        if status.label_selector != selector {
            patch.insert("labelSelector".to_owned(), json!(selector));
        }
        let new_spec = status.observed_generation != Some(deployment.generation);
        if matches!(trouble, Trouble::None | Trouble::Earlier(..)) && new_spec {
            patch.insert("observedGeneration".to_owned(), json!(deployment.generation));
        }
        let progressing = nodes::noted(self.progressing(&counts, trouble), self.view);
        let running = self.is_running(trouble) && !progress && !new_spec;
        let (progressing, deadline) = self.within_deadline(progressing, running);
        let failure = self.failure(trouble);
        let without = match (&failure, trouble) {
            (None, Trouble::None) => {
                conditions::without(&status.conditions, CONDITION_REPLICA_FAILURE)
            }
            _ => None,
        };
        let current = without.as_deref().unwrap_or(&status.conditions);
        let wanted = [Some(self.available(&counts)), Some(progressing), failure];
        let list = conditions::set(current, wanted.into_iter().flatten(), self.now).or(without);
        if let Some(list) = list {
            patch.insert("conditions".to_owned(), conditions::to_json(&list));
        }
        ((!patch.is_empty()).then_some(Value::Object(patch)), deadline)
    }

    /// Preserved Machines that are beside the deployment have a counter of their own only.
    fn count(&self) -> Counts {
        let mut counts = Counts::default();
        let current = self.desired.current(self.view, self.now);
        for (at, one) in self.view.sets.iter().enumerate() {
            let (preserved, others): (Vec<_>, Vec<_>) =
                one.members.iter().partition(|member| member.preserved(self.now).is_some());
            counts.preserved += preserved.len();
            let is_counted = self.desired.counts_preserved(at, current);
            let counted = if is_counted { preserved } else { Vec::new() };
            for member in others.into_iter().chain(counted) {
                counts.replicas += 1;
                counts.ready += usize::from(member.ready.is_some());
                counts.available += usize::from(is_available(member, self.view, self.now));
                counts.updated += usize::from(self.desired.new == Some(at));
            }
        }
        counts
    }

    /// The only Machine of the set that is not available, and the reason of its condition `Ready`.
    fn only_missing<'a>(&self, one: &'a SetView) -> Option<(&'a str, Option<&'a str>)> {
        let members = one.members.iter();
        let mut missing = members.filter(|member| !is_available(member, self.view, self.now));
        let (Some(member), None) = (missing.next(), missing.next()) else { return None };
        let ready = member.machine.as_ref().and_then(|one| one.condition(CONDITION_READY));
        let ready = ready.filter(|ready| !ready.is_true());
        Some((&*member.key.name, ready.and_then(|ready| ready.reason.as_deref())))
    }

    /// What is kept for debugging, for the end of a message.
    fn preserved(&self) -> String {
        let members = self.view.sets.iter().flat_map(|one| &one.members);
        let preserved = members
            .filter_map(|member| Some((&*member.key.name, member.preserved(self.now)?.until)));
        messages::preserved(preserved.collect())
    }

    fn available(&self, counts: &Counts) -> Condition {
        let preserved = self.desired.preserved(self.view, self.now);
        let minimum = self.desired.replicas.saturating_sub(self.desired.unavailable + preserved);
        let text = messages::available(counts.available, minimum);
        if counts.available >= minimum {
            Condition::yes(CONDITION_AVAILABLE).because(REASON_MINIMUM_AVAILABLE, text)
        } else {
            let reason = REASON_MINIMUM_UNAVAILABLE;
            Condition::no(CONDITION_AVAILABLE, SEVERITY_WARNING, reason, text)
        }
    }

    fn progressing(&self, counts: &Counts, trouble: Trouble<'_>) -> Condition {
        let yes = Condition::yes(CONDITION_PROGRESSING);
        if self.view.deployment.spec.paused {
            let reason = REASON_DEPLOYMENT_PAUSED;
            let text = messages::paused(&self.view.deployment.meta.key.name);
            return Condition::unknown(CONDITION_PROGRESSING, reason, text);
        }
        let new = self.desired.new.map(|new| &self.view.sets[new]);
        if let Some(text) = self.aborted(new, counts, trouble) {
            let (kind, reason) = (CONDITION_PROGRESSING, REASON_ROLLOUT_ABORTED);
            return Condition::no(kind, SEVERITY_WARNING, reason, text);
        }
        let changed = new.and_then(|one| self.changed(one));
        let not_wanted = |text| {
            let (kind, reason) = (CONDITION_PROGRESSING, REASON_SET_CHANGED);
            Condition::no(kind, SEVERITY_WARNING, reason, text)
        };
        let revision = new.and_then(|one| one.set.state.revision).unwrap_or(0);
        let old = counts.replicas - counts.updated;
        let mut failure = None;
        let rest = self.rest(trouble);
        let waits = match (rest, new) {
            (Some(Reason::Complete), Some(one)) => {
                if let Some(changed) = changed {
                    return not_wanted(changed);
                }
                let name = set_name(&one.set);
                let text = messages::complete(name, revision, counts.available);
                let text = format!("{text}{}", self.preserved());
                return yes.because(REASON_NEW_SET_AVAILABLE, text);
            }
            (Some(Reason::SetDeleting), _) => {
                return yes.because(REASON_SET_UPDATED, messages::SET_DELETING);
            }
            (Some(Reason::SetNotOwned), _) => {
                return yes.because(REASON_SET_UPDATED, messages::SET_NOT_OWNED);
            }
            (Some(Reason::Available(count)), Some(one)) => {
                failure = cause(one);
                let text = failure.and_then(|cause| cause.message.as_deref());
                let machine = self.only_missing(one);
                Some(waits(set_name(&one.set), count, old, text, machine))
            }
            (Some(Reason::InPlace(progress)), _) => {
                let stuck = self.desired.not_updatable(self.view, self.now);
                let text = messages::waits_in_place(progress);
                Some(format!("{text}{}", messages::not_updatable(stuck)))
            }
            (Some(Reason::Moving), _) => Some(messages::WAITS_MOVE.to_owned()),
            (Some(Reason::Gone), _) => Some(match &self.view.drained {
                None => messages::WAITS_GONE.to_owned(),
                Some(machine) => messages::waits_drained(machine),
            }),
            (Some(Reason::Canary(soak)), _) => Some(messages::soaks(soak)),
            _ => None,
        };
        let (revision, reason) = match (self.plan, rest) {
            (Plan::Create { revision, .. }, _) => (*revision, REASON_NEW_SET_CREATED),
            (_, Some(Reason::Canary(_))) => (revision, REASON_CANARY_SOAKING),
            _ => (revision, REASON_SET_UPDATED),
        };
        let numbers = messages::Counts {
            revision,
            updated: counts.updated,
            available: counts.available,
            replicas: self.desired.replicas,
            old,
        };
        let text = messages::rollout(numbers, waits.as_deref(), &self.why(trouble));
        let text = format!("{text}{}", self.preserved());
        if let Some(changed) = changed {
            return not_wanted(messages::amid_rollout(&changed, &text));
        }
        let condition = yes.because(reason, text);
        match failure.and_then(|cause| cause.reason.clone()) {
            None => condition,
            reason => Condition { reason, ..condition },
        }
    }

    /// Why the rollout is stopped, if that is stored or refused. It is not if the write may be stored with the next
    /// try.
    fn aborted(
        &self,
        new: Option<&SetView>,
        counts: &Counts,
        trouble: Trouble<'_>,
    ) -> Option<String> {
        let stored = new.map(|one| &one.set.state.guard).filter(|guard| guard.aborted);
        let failed = match (self.plan, stored) {
            (Plan::Guard { finding: Finding::Failed(failed, Some(_)), .. }, _) => match trouble {
                Trouble::Unknown => return None,
                Trouble::None | Trouble::Failure(..) | Trouble::Earlier(..) => failed.clone(),
            },
            (_, Some(guard)) => FailedMachines::read(guard.failed.as_deref()).unwrap_or_default(),
            _ => self.desired.unstored_abort(self.view, self.now)?,
        };
        let cause = new.and_then(cause).and_then(|cause| cause.message.as_deref());
        let old = counts.replicas - counts.updated;
        let deployment = &self.view.deployment.meta.key.name;
        Some(messages::aborted(deployment, &failed, cause, old))
    }

    /// How the template of the current set differs from the one that its hash stands for: a user changed it. It is not
    /// overwritten, because a webhook that changes it again would be another writer without an end.
    fn changed(&self, one: &SetView) -> Option<String> {
        let stored = template::parts(&one.set.state.spec.template, &self.desired.hot).ok()?.recipe;
        let wanted = &self.desired.parts.recipe;
        if template::includes(&stored, wanted) {
            return None;
        }
        let changes = template::changes(&stored, wanted);
        // Without what only the set has.
        let changes: Vec<_> = changes.into_iter().filter(|one| one.to.is_some()).collect();
        let deployment = &self.view.deployment.meta.key.name;
        Some(messages::set_changed(set_name(&one.set), deployment, &changes))
    }

    /// Why the MachineSets are not scaled. While a change is copied to Machines, a rollout is not complete; if that is
    /// refused, it is as if there was nothing to copy, as until the next attempt.
    fn rest(&self, trouble: Trouble<'_>) -> Option<Reason> {
        self.plan.rest().filter(|_| !self.copies(trouble))
    }

    fn copies(&self, trouble: Trouble<'_>) -> bool {
        matches!(self.plan, Plan::PushDown { .. } | Plan::PushMachines { .. })
            && !matches!(trouble, Trouble::Failure(..))
    }

    /// Whether the rollout should make progress.
    fn is_running(&self, trouble: Trouble<'_>) -> bool {
        let rest = self.rest(trouble);
        let waits = matches!(rest, Some(Reason::Complete | Reason::Canary(_) | Reason::Aborted));
        let at_rest = waits || matches!(self.plan, Plan::Create { .. });
        !at_rest && !self.view.deployment.spec.paused
    }

    /// What the current template changes: on living Machines, or compared with the latest other revision.
    fn why(&self, trouble: Trouble<'_>) -> String {
        match self.plan {
            Plan::PushDown { changes, .. } if self.copies(trouble) => {
                return messages::changes(changes);
            }
            Plan::PushMachines { .. } if self.copies(trouble) => return String::new(),
            _ => {}
        }
        let others = self.view.sets.iter().enumerate();
        let others =
            others.filter(|(at, one)| Some(*at) != self.desired.new && !one.set.meta.deleting);
        let latest = others.max_by_key(|(_, one)| one.set.state.revision);
        let like = &self.view.deployment.spec.template;
        let old =
            latest.and_then(|(_, one)| defaults::recipe(&one.set, like, &self.desired.hot).ok());
        old.map(|old| template::changes(&old, &self.desired.parts.recipe))
            .map(|changes| messages::changes(&changes))
            .unwrap_or_default()
    }

    /// The condition of a rollout that made no progress for too long. Its time is that of the last change.
    fn within_deadline(&self, now: Condition, running: bool) -> (Condition, Option<Duration>) {
        let deployment = &self.view.deployment;
        let (Some(seconds), true) = (deployment.spec.progress_deadline, running) else {
            return (now, None);
        };
        let stored = conditions::find(&deployment.status.conditions, CONDITION_PROGRESSING);
        let Some(stored) = stored else { return (now, None) };
        let late = || {
            let message = now.message.as_deref().unwrap_or_default();
            let (kind, reason) = (CONDITION_PROGRESSING, REASON_DEADLINE_EXCEEDED);
            let text = messages::deadline(seconds, message);
            Condition::no(kind, SEVERITY_WARNING, reason, text)
        };
        match stored.reason.as_deref() {
            Some(REASON_DEADLINE_EXCEEDED) => return (late(), None),
            // The stored time is that of a rollout that is complete, or of its canaries: this one begins now.
            Some(REASON_NEW_SET_AVAILABLE | REASON_CANARY_SOAKING) => {
                return (now, u64::try_from(seconds).ok().map(Duration::from_secs));
            }
            // It may be that of a complete one.
            Some(REASON_SET_CHANGED) if !stored.is_equivalent_to(&now) => {
                return (now, u64::try_from(seconds).ok().map(Duration::from_secs));
            }
            _ => {}
        }
        let may_be_late = stored.is_true() || stored.reason.as_deref() == Some(REASON_SET_CHANGED);
        let at = stored
            .last_transition
            .and_then(|since| since.checked_add(SignedDuration::from_secs(seconds.into())).ok());
        match at {
            Some(at) if may_be_late && at <= self.now => (late(), None),
            Some(at) => (now, self.now.duration_until(at).try_into().ok()),
            None => (now, None),
        }
    }

    /// The failure of this reconcile, or that of a MachineSet.
    fn failure(&self, trouble: Trouble<'_>) -> Option<Condition> {
        let yes = Condition::yes(CONDITION_REPLICA_FAILURE);
        if let Trouble::Failure(reason, text) | Trouble::Earlier(reason, text) = trouble {
            return Some(yes.because(reason.as_str(), text));
        }
        self.view.sets.iter().rev().find_map(|one| {
            let list = &one.set.state.status.conditions;
            let found = conditions::find(list, CONDITION_REPLICA_FAILURE);
            let found = found.filter(|found| found.is_true())?;
            let message = found.message.as_deref().unwrap_or_default();
            let message = messages::set_failure(set_name(&one.set), message).into_boxed_str();
            let reason = found.reason.clone();
            let (kind, message) = (CONDITION_REPLICA_FAILURE, Some(message));
            Some(Condition { reason, message, ..Condition::yes(kind) })
        })
    }
}

/// Why Machines of a set do not become available, as its own controller reports it. A set whose Machines only start
/// reports that as information.
fn cause(one: &SetView) -> Option<&Condition> {
    let list = &one.set.state.status.conditions;
    let failed = conditions::find(list, CONDITION_REPLICA_FAILURE).filter(|one| one.is_true());
    failed.or_else(|| {
        let ready = conditions::find(list, CONDITION_MACHINES_READY);
        ready.filter(|one| {
            one.status == STATUS_FALSE && one.severity.as_deref() != Some(SEVERITY_INFO)
        })
    })
}

/// What is waited for, why it does not happen, and what a user can do while there are old Machines to go back to.
fn waits(
    set: &str,
    count: usize,
    old: usize,
    cause: Option<&str>,
    missing: Option<(&str, Option<&str>)>,
) -> String {
    let text = match old {
        0 => messages::waits_more(count),
        _ => messages::waits_available(count),
    };
    let text = match (cause, missing) {
        (Some(cause), _) => messages::waits_failed(&text, set, cause),
        (None, Some((machine, reason))) if count == 1 => {
            messages::waits_for(&text, machine, reason)
        }
        _ => text,
    };
    match (old, cause) {
        (0, _) => text,
        (_, None) => format!("{text}; {}", messages::old_stay(old)),
        (_, Some(_)) => {
            format!("{text}; {}; {}", messages::old_stay(old), messages::CORRECT_TEMPLATE)
        }
    }
}
