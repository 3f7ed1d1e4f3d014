//! Updates in place: which Machines are marked, admitted and moved ([`moves`]). Pure.
//!
//! A Machine whose template is not the current one is a candidate, then selected (by this controller or a user), and
//! admitted by its target as far as maxUnavailable permits. A Machine on which the agent may be at work keeps its
//! target, whatever the template is meanwhile: it is moved to the MachineSet of what it was updated to, and from there
//! it is a candidate again. All others follow the template at once.

mod moves;

use std::sync::Arc;

use jiff::Timestamp;
use machinist_domain::machine::Phase;
use serde_json::{Map, Value};

use super::super::defaults;
use super::super::error::Refusal;
use super::super::in_place::{Mark, Obstacle, Progress, Step};
use super::super::plan::{Plan, Reason, set_name};
use super::super::snapshot::{Member, SetView, View};
use super::super::template::{self, Change};
use super::Desired;
use super::limits::Limit;
use super::members::{is_available, numbers};
use super::scaling::{Guard, Numbers, Role};
use crate::in_place::{self as marks, UpdateResult};
use crate::kinds::{Machine, MachineDeploymentSpec, MachineSet};
use crate::preservation;

pub(super) use self::moves::unfinished;

/// Who selects the Machines that are updated next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Orchestration {
    Auto,
    Manual,
}

pub(super) fn limits(
    spec: &MachineDeploymentSpec,
    replicas: usize,
) -> Result<(Orchestration, usize, usize), Refusal> {
    let strategy = &spec.strategy.in_place_update;
    let orchestration = match strategy.orchestration_type.as_deref() {
        None | Some("" | "Auto") => Orchestration::Auto,
        Some("Manual") => Orchestration::Manual,
        Some(other) => return Err(Refusal::Orchestration(other.to_owned())),
    };
    let surge = Limit::read("inPlaceUpdate.maxSurge", strategy.max_surge.as_ref())?;
    let unavailable =
        Limit::read("inPlaceUpdate.maxUnavailable", strategy.max_unavailable.as_ref())?;
    let surge = surge.unwrap_or(Limit::Count(0));
    let unavailable = unavailable.unwrap_or(Limit::Count(1));
    if surge.is_zero() && unavailable.is_zero() {
        return Err(Refusal::NoRoom("inPlaceUpdate"));
    }
    if let Limit::Percent(percent @ 101..) = unavailable {
        return Err(Refusal::Limit("inPlaceUpdate.maxUnavailable", format!("{percent}%")));
    }
    Ok(match (surge.of(replicas, true), unavailable.of(replicas, false)) {
        (0, 0) => (orchestration, 0, 1),
        (surge, unavailable) => (orchestration, surge, unavailable),
    })
}

/// What of the current template needs new instances, compared with a set that has Machines.
pub(super) fn refused(view: &View, desired: &Desired) -> Option<Vec<Change>> {
    let fields = view.deployment.spec.in_place_fields;
    let wanted = instance_part(desired.parts.recipe.clone(), fields);
    let others = view.sets.iter().enumerate();
    let others = others.filter(|(at, one)| {
        Some(*at) != desired.new && !one.set.meta.deleting && !one.members.is_empty()
    });
    others.map(|(_, one)| one).find_map(|one| {
        let recipe =
            defaults::recipe(&one.set, &view.deployment.spec.template, &desired.hot).ok()?;
        let changes = template::changes(&instance_part(recipe, fields), &wanted);
        (!changes.is_empty()).then_some(changes)
    })
}

/// A recipe without labels and annotations, and without the fields that may change in place.
fn instance_part(mut recipe: Value, fields: &[&str]) -> Value {
    if let Some(recipe) = recipe.as_object_mut() {
        recipe.remove("metadata");
    }
    let value = recipe.pointer_mut("/spec/providerSpec/value").and_then(Value::as_object_mut);
    let remove =
        |value: &mut Map<String, Value>| fields.iter().for_each(|name| drop(value.remove(*name)));
    value.map(remove);
    recipe
}

/// With another strategy no Machine is updated in place any more, unless the agent may be at work on it. Those that are
/// updated are moved all the same: that puts their Nodes back into service.
pub(super) fn finish(view: &View) -> Option<Plan> {
    let abandon = || mark(view, |_, machine| (!is_bound(machine)).then_some(Mark::Removed));
    moves::begin(view).or_else(abandon)
}

/// Whether the agent may be at work on it, or has been successful.
fn is_bound(machine: &Machine) -> bool {
    let result = UpdateResult::of(&machine.labels);
    let undecided = result.is_none() && marks::is_offered(machine);
    marks::target(machine).is_some() && (undecided || result == Some(UpdateResult::Successful))
}

/// Changes the marks of Machines that have others than `wanted`; that is called for Machines with marks, or of a set of
/// another template.
fn mark(view: &View, wanted: impl Fn(&SetView, &Machine) -> Option<Mark>) -> Option<Plan> {
    let mut changed = Vec::new();
    for one in view.sets.iter().filter(|one| !one.set.meta.deleting) {
        for machine in writable(view, one) {
            let mark = wanted(one, machine).filter(|mark| !has(machine, mark));
            changed.extend(mark.map(|mark| (Arc::clone(machine), mark)));
        }
    }
    (!changed.is_empty()).then_some(Plan::InPlace(Step::Mark(changed)))
}

/// Those that can be decoded, and whose last write was not refused.
fn writable<'a>(view: &'a View, one: &'a SetView) -> impl Iterator<Item = &'a Arc<Machine>> {
    let known = one.members.iter().filter_map(|member| member.machine.as_ref());
    known.filter(|machine| !view.refused.has(&machine.meta))
}

/// Whether it has this mark, and no result.
fn has(machine: &Machine, mark: &Mark) -> bool {
    let result = UpdateResult::of(&machine.labels).is_some();
    match mark {
        Mark::Removed => !marks::is_marked(machine),
        Mark::Candidate => !result && marks::is_candidate(machine),
        Mark::Admitted(target) => !result && marks::target(machine) == Some(target),
    }
}

impl Desired {
    pub(super) fn update_in_place(
        &self,
        orchestration: Orchestration,
        view: &View,
        now: Timestamp,
    ) -> Plan {
        if let Some(plan) = moves::begin(view) {
            return plan;
        }
        let (Some(new), false) = (self.new, view.deployment.spec.paused) else {
            return self.scale(view, now);
        };
        let current = &view.sets[new].set;
        let aborted = self.guard(view, now) == Guard::Aborted;
        let follow = |one: &SetView, machine: &Machine| {
            let is_current = one.set.meta.uid == current.meta.uid;
            match marks::target(machine) {
                _ if is_bound(machine) => None,
                _ if is_current => Some(Mark::Removed),
                // Its drain ends, and its Node is put back into service. One whose update failed stays cordoned.
                Some(_) if aborted => {
                    UpdateResult::of(&machine.labels).is_none().then_some(Mark::Candidate)
                }
                Some(target) if target == set_name(current) => None,
                Some(_) => Some(Mark::Admitted(set_name(current).into())),
                None if marks::is_selected(machine) => None,
                None => Some(Mark::Candidate),
            }
        };
        if let Some(plan) = mark(view, follow) {
            return plan;
        }
        let plan = self.scale(view, now);
        let Plan::NoOp(rest) = plan else { return plan };
        if aborted {
            return plan;
        }
        let admitted = self.admit(orchestration, view, new, now);
        if !admitted.is_empty() {
            let target: Arc<str> = set_name(current).into();
            let mark = |machine| (machine, Mark::Admitted(Arc::clone(&target)));
            return Plan::InPlace(Step::Mark(admitted.into_iter().map(mark).collect()));
        }
        let progress = self.progress(orchestration, view, new, now);
        if progress.has_machines() {
            return Plan::NoOp(Reason::InPlace(progress));
        }
        Plan::NoOp(rest)
    }

    /// Those that are not available first, because they cost nothing; then those that a user has selected. In all, as
    /// many as may be unavailable, without those that are being updated and those that are not available in the new
    /// set: whatever the state of the others is, an update that breaks Machines ends there.
    fn admit(
        &self,
        orchestration: Orchestration,
        view: &View,
        new: usize,
        now: Timestamp,
    ) -> Vec<Arc<Machine>> {
        let members = || view.sets.iter().flat_map(|one| &one.members);
        let minimum = self.replicas - self.unavailable.min(self.replicas);
        let of = |one| numbers(one, view, Role::Members, now).numbers;
        let sets: Vec<_> = view.sets.iter().map(of).collect();
        let sure = |numbers: &Numbers| numbers.sure(numbers.desired);
        let mut spare = sets.iter().map(sure).sum::<usize>().saturating_sub(minimum);
        let updating = members().filter(|member| is_updating(member)).count();
        let out = |(_, machine): &(&Member, &Arc<Machine>)| marks::is_unavailable(machine);
        let out = old_members(view, new).filter(out).count()
            + sets[new].desired.max(sets[new].members).saturating_sub(sure(&sets[new]));
        let wanted: usize = sets.iter().filter(|set| !set.deleting).map(|set| set.desired).sum();
        let slots = wanted.saturating_sub(minimum + out);
        // With a surge, new Machines take the place of the last old ones.
        let room = self.replicas.saturating_sub(view.sets[new].members.len() + updating);
        let mut room = room.min(slots);
        let mut waiting: Vec<_> = old_members(view, new)
            .filter(|(member, machine)| {
                let selected = marks::is_selected(machine);
                let picked = selected || orchestration == Orchestration::Auto;
                let picked = picked && !view.refused.has(&machine.meta);
                picked && !is_updating(member) && obstacle(machine, now).is_none()
            })
            .map(|(member, machine)| {
                (is_available(member, view, now), !marks::is_selected(machine), machine)
            })
            .collect();
        waiting.sort_by_key(|(available, unselected, machine)| {
            (*available, *unselected, machine.meta.key.clone())
        });
        let mut admitted = Vec::new();
        for (available, _, machine) in waiting {
            if room == 0 || (available && spare == 0) {
                break;
            }
            room -= 1;
            spare -= usize::from(available);
            admitted.push(Arc::clone(machine));
        }
        admitted
    }
}

impl Desired {
    /// How an update in place stands.
    fn progress(
        &self,
        orchestration: Orchestration,
        view: &View,
        new: usize,
        now: Timestamp,
    ) -> Progress {
        let manual = orchestration == Orchestration::Manual;
        let stuck = self.not_updatable(view, now).len();
        let mut progress = Progress { updating: 0, failed: 0, waiting: 0, stuck, manual };
        for (member, machine) in old_members(view, new) {
            let failed = UpdateResult::of(&machine.labels) == Some(UpdateResult::Failed);
            if !is_updating(member) {
                progress.waiting += usize::from(obstacle(machine, now).is_none());
            } else if failed || marks::is_late(machine) {
                progress.failed += 1;
            } else {
                progress.updating += 1;
            }
        }
        progress
    }

    /// Machines of other templates that are not selected, also with Manual.
    pub(in super::super) fn not_updatable<'a>(
        &self,
        view: &'a View,
        now: Timestamp,
    ) -> Vec<(&'a str, Obstacle)> {
        let Some(new) = self.new.filter(|_| self.in_place.is_some()) else { return Vec::new() };
        let waiting = old_members(view, new).filter(|(member, _)| !is_updating(member));
        let name = |machine: &'a Arc<Machine>| &*machine.meta.key.name;
        waiting.filter_map(|(_, machine)| Some((name(machine), obstacle(machine, now)?))).collect()
    }
}

/// Whether a Machine is being updated to this set.
pub(super) fn is_target(view: &View, set: &Arc<MachineSet>) -> bool {
    let mut members = view.sets.iter().flat_map(|one| &one.members);
    members.any(|member| {
        let target = member.machine.as_deref().and_then(marks::target);
        target == Some(set_name(set))
    })
}

/// Why a Machine cannot be selected: the agent is on its Node, and one that is kept for debugging stays as it is.
fn obstacle(machine: &Machine, now: Timestamp) -> Option<Obstacle> {
    let kept = preservation::until(machine).filter(|until| now < *until);
    if let Some(until) = kept {
        Some(Obstacle::Kept(until))
    } else if machine.status.phase == Some(Phase::Failed) {
        Some(Obstacle::Failed)
    } else if machine.status.node_ref.is_none() {
        Some(Obstacle::WithoutNode)
    } else {
        None
    }
}

fn is_updating(member: &Member) -> bool {
    member.machine.as_deref().is_some_and(|machine| marks::target(machine).is_some())
}

/// Machines of other templates.
fn old_members(view: &View, new: usize) -> impl Iterator<Item = (&Member, &Arc<Machine>)> {
    let old = view.sets.iter().enumerate();
    let old = old.filter(move |(at, one)| *at != new && !one.set.meta.deleting);
    let members = old.flat_map(|(_, one)| &one.members);
    members.filter_map(|member| Some((member, member.machine.as_ref()?)))
}

#[cfg(test)]
mod tests;
