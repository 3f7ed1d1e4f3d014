//! Guarded rollouts: what is found out about new Machines and stored on their MachineSet, before `scaling` follows it.
//! Pure. Stored facts only, so another leader continues where this one stopped.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::CONDITION_READY;
use machinist_api::wire::RollingUpdate;

use super::super::error::{GuardField, Refusal};
use super::super::failed::{Defect, FailedMachines};
use super::super::plan::{Finding, Plan, Reason, Soak};
use super::super::snapshot::{Member, SetView, View};
use super::limits::Limit;
use super::revisions::newest;
use super::scaling::Guard;
use super::{Desired, min_ready};
use crate::kinds::Machine;

const DEFAULT_CANARIES: usize = 1;
const DEFAULT_FAILED: usize = 1;
/// As long as a Machine may need before its condition reports that it is slow.
const DEFAULT_READY_TIMEOUT: i64 = 1200;
/// An annotation with the names of more Machines could be too long.
const MOST_FAILED: usize = 1000;

/// The valid part of the spec.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Guards {
    canary: Option<Canary>,
    abort: Option<Abort>,
}

#[derive(Debug, Clone, Copy)]
struct Canary {
    replicas: Limit,
    soak: SignedDuration,
}

#[derive(Debug, Clone, Copy)]
struct Abort {
    failed: usize,
    timeout: SignedDuration,
}

impl Guards {
    pub(super) fn read(spec: &RollingUpdate, recreate: bool) -> Result<Self, Refusal> {
        let names = [("canary", spec.canary.is_some()), ("abort", spec.abort.is_some())];
        if let Some((name, _)) = names.into_iter().find(|(_, is_set)| recreate && *is_set) {
            return Err(Refusal::GuardedRecreate(name));
        }
        let canary = spec.canary.as_ref().map(|canary| {
            let field = GuardField::CanaryReplicas;
            let value = canary.replicas.as_ref();
            let replicas = Limit::read("canary.replicas", value);
            let replicas = replicas.map_err(|refusal| match refusal {
                Refusal::Limit(_, value) => Refusal::Guard(field, value),
                other => other,
            })?;
            let replicas = replicas.unwrap_or(Limit::Count(DEFAULT_CANARIES));
            match replicas {
                Limit::Percent(percent @ (0 | 101..)) => {
                    return Err(Refusal::Guard(field, format!("{percent}%")));
                }
                Limit::Count(0) => return Err(Refusal::Guard(field, 0.to_string())),
                _ => {}
            }
            let seconds = canary.soak_seconds.unwrap_or(0);
            let soak = number(GuardField::SoakSeconds, seconds, 0, i32::MAX.into())?;
            Ok(Canary { replicas, soak: SignedDuration::from_secs(soak) })
        });
        let abort = spec.abort.as_ref().map(|abort| {
            let most = i64::try_from(MOST_FAILED).unwrap_or(i64::MAX);
            let failed = match abort.failed_machines {
                None => DEFAULT_FAILED,
                Some(count) => {
                    let count = number(GuardField::FailedMachines, count, 1, most)?;
                    usize::try_from(count).unwrap_or(MOST_FAILED)
                }
            };
            let seconds = abort.ready_timeout_seconds.unwrap_or(DEFAULT_READY_TIMEOUT);
            let timeout = number(GuardField::ReadyTimeoutSeconds, seconds, 1, i32::MAX.into())?;
            Ok(Abort { failed, timeout: SignedDuration::from_secs(timeout) })
        });
        Ok(Self { canary: canary.transpose()?, abort: abort.transpose()? })
    }
}

fn number(field: GuardField, value: i64, least: i64, most: i64) -> Result<i64, Refusal> {
    let valid = (least..=most).contains(&value);
    if valid { Ok(value) } else { Err(Refusal::Guard(field, value.to_string())) }
}

impl Desired {
    /// What holds the rollout. Without Machines of another template there is nothing to guard; an abort is stored until
    /// a user resumes the rollout.
    pub(super) fn guard(&self, view: &View, now: Timestamp) -> Guard {
        let Some(new) = self.new else { return Guard::None };
        let stored = &view.sets[new].set.state.guard;
        match self.guards.canary {
            _ if stored.aborted => Guard::Aborted,
            _ if self.unstored_abort(view, now).is_some() => Guard::Aborted,
            Some(canary) if !stored.canary_passed && self.is_rolling(view, new, now) => {
                Guard::Canary(canary.replicas.of(self.replicas, true))
            }
            _ => Guard::None,
        }
    }

    /// What is stored before Machines are created or deleted because of it. `rest`: what else would be done.
    pub(super) fn finding(
        &self,
        view: &View,
        new: usize,
        now: Timestamp,
        rest: Option<Reason>,
    ) -> Option<Plan> {
        let one = &view.sets[new];
        // What is refused does not hold up scaling.
        let is_refused = view.refused.has(&one.set.meta);
        if one.set.state.guard.aborted || is_refused || view.deployment.spec.paused {
            return None;
        }
        let finding = self.failures(view, new, now).or_else(|| {
            let unstored = self.guards.canary.is_some() && !one.set.state.guard.canary_passed;
            // A template whose rollout is complete works: an `undo` to it is not held up.
            let complete = rest == Some(Reason::Complete) && self.replicas > 0;
            let soaked = self.is_rolling(view, new, now)
                && self
                    .soak(view, new, now)
                    .is_some_and(|soak| soak.ends.is_some_and(|at| at < now));
            let passed = (unstored && soaked).then_some(Finding::CanaryPassed(now));
            passed.or((unstored && complete).then_some(Finding::Complete(now)))
        })?;
        Some(Plan::Guard { set: Arc::clone(&one.set), finding, rest })
    }

    /// The failed Machines that abort the rollout although that is not stored yet. It counts at once: while the write
    /// is refused and tried again, what follows from an abort must not change to and fro.
    pub(in super::super) fn unstored_abort(
        &self,
        view: &View,
        now: Timestamp,
    ) -> Option<FailedMachines> {
        let new = self.new.filter(|_| !view.deployment.spec.paused)?;
        match self.failures(view, new, now) {
            Some(Finding::Failed(failed, Some(_))) => Some(failed),
            _ => None,
        }
    }

    /// The state of the canaries of the new set. Preserved Machines are beside the deployment.
    pub(super) fn soak(&self, view: &View, new: usize, now: Timestamp) -> Option<Soak> {
        let canary = self.guards.canary?;
        let canaries = canary.replicas.of(self.replicas, true).min(self.replicas).max(1);
        let soak = min_ready(view).checked_add(canary.soak)?;
        let counts = |member: &&Member| !member.is_marked() && member.preserved(now).is_none();
        let members = view.sets[new].members.iter().filter(counts);
        let mut ends: Vec<_> = members.filter_map(|member| member.available_at(soak)).collect();
        ends.sort_unstable();
        let ends = ends.get(canaries - 1).copied();
        Some(Soak { canaries, seconds: canary.soak.as_secs(), ends })
    }

    /// All failed Machines, preserved ones included, if there are more than those that are stored.
    fn failures(&self, view: &View, new: usize, now: Timestamp) -> Option<Finding> {
        let abort = self.guards.abort.filter(|_| self.is_rolling(view, new, now))?;
        let one = &view.sets[new];
        // Until the set has its revision, its Machines may be from before this rollout. If that write is refused,
        // scaling goes on, and so must the guard.
        let has_revision =
            one.set.state.revision.is_some_and(|revision| revision > newest(view, Some(new)));
        if !has_revision && !view.refused.has(&one.set.meta) {
            return None;
        }
        let mut failed = FailedMachines::read(one.set.state.guard.failed.as_deref())?;
        let known = failed.len();
        for (machine, member) in new_machines(one) {
            let defect = if member.has_failed() {
                Defect::Failed
            } else if not_ready_at(machine, member, abort).is_some_and(|at| at < now) {
                Defect::NotReady
            } else {
                continue;
            };
            let name = &machine.meta.key.name;
            if !failed.contains(name) && failed.len() < MOST_FAILED {
                failed.add(name, defect);
            }
        }
        let aborts = (failed.len() >= abort.failed).then_some(now);
        (failed.len() > known).then_some(Finding::Failed(failed, aborts))
    }

    /// When the next new Machine will not have been ready in time, or the canaries will have been available for long
    /// enough. There is no watch event for that. In the past if that time came after the decision.
    pub(in super::super) fn guard_requeue(&self, view: &View, now: Timestamp) -> Option<Timestamp> {
        let new = self.new.filter(|new| self.is_rolling(view, *new, now))?;
        let one = &view.sets[new];
        let stored = &one.set.state.guard;
        // A refused set is tried again at a time of its own.
        let is_refused = view.refused.has(&one.set.meta);
        if stored.aborted || is_refused || view.deployment.spec.paused {
            return None;
        }
        let late = self.guards.abort.and_then(|abort| {
            let known = FailedMachines::read(stored.failed.as_deref())?;
            let machines = new_machines(one);
            let others = machines.filter(|(machine, _)| !known.contains(&machine.meta.key.name));
            others.filter_map(|(machine, member)| not_ready_at(machine, member, abort)).min()
        });
        let soaked = self.soak(view, new, now).filter(|_| !stored.canary_passed);
        let soaked = soaked.and_then(|soak| soak.ends);
        [late, soaked].into_iter().flatten().min()
    }
}

/// The Machines that were created for this rollout.
fn new_machines(one: &SetView) -> impl Iterator<Item = (&Machine, &Member)> {
    let started = one.set.state.guard.started;
    let members = one.members.iter();
    members
        .filter_map(|member| Some((member.machine.as_deref()?, member)))
        .filter(move |(machine, _)| started.is_none_or(|started| machine.created >= started))
}

/// When the Machine will have had no ready Node for too long; `None` if it has one.
fn not_ready_at(machine: &Machine, member: &Member, abort: Abort) -> Option<Timestamp> {
    if member.ready.is_some() || member.has_failed() {
        return None;
    }
    let since = unready_since(machine, member)?.max(machine.created);
    since.checked_add(abort.timeout).ok()
}

/// `None` if it is not known yet: the Node is gone, and the Machine's condition still says that it is ready.
fn unready_since(machine: &Machine, member: &Member) -> Option<Timestamp> {
    if member.unready_since.is_some() {
        return member.unready_since;
    }
    if machine.status.node_ref.is_none() {
        return Some(machine.created);
    }
    machine.condition(CONDITION_READY).filter(|ready| !ready.is_true())?.last_transition
}

#[cfg(test)]
mod tests;
