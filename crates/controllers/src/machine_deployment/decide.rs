//! Decides the next step for one MachineDeployment. Pure: no client, no clock.
//!
//! In this order: adopt or release MachineSets; create the set of the current template, with 0 replicas; number it;
//! copy what needs no new Machines to it; store what a guarded rollout found ([`guard`]); mark Nodes ([`nodes`]);
//! update in place ([`in_place`]); scale ([`scaling`]); copy it to Machines; delete old sets. A repeated step changes
//! nothing: the new set's name follows from the template, and sizes are written with the resourceVersion of the set.

mod guard;
mod in_place;
mod limits;
mod members;
mod nodes;
mod preserve;
mod push_down;
mod revisions;
mod scale;
mod scaling;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY};
use machinist_domain::remediation::MaxInFlight;

use self::guard::Guards;
use self::in_place::Orchestration;
use self::limits::limits;
pub(super) use self::members::is_available;
use self::revisions::{newest, number, set_of_template};
use super::error::Refusal;
use super::hot_fields::HotFields;
use super::plan::{Plan, Reason};
use super::snapshot::{Missing, SetView, Snapshot, View};
use super::template::{self, Parts};
use crate::kinds::MachineSet;

const DEFAULT_REPLICAS: i32 = 1;
const DEFAULT_HISTORY: usize = 10;
/// By which a user or autoscaler marks a Machine for deletion.
const MARKS: [&str; 2] = [ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY];

pub(super) fn decide(snapshot: &Snapshot, now: Timestamp) -> Plan {
    let view = match &snapshot.content {
        Err(Missing::Deleted(strays)) => return nodes::release(&snapshot.meta.key, strays),
        Ok(view) if snapshot.meta.deleting => {
            return nodes::release(&snapshot.meta.key, &view.nodes.strays);
        }
        _ if snapshot.meta.deleting => return Plan::NoOp(Reason::Deleting),
        Err(Missing::Undecodable(reason)) => {
            return Plan::Refuse(Refusal::Undecodable(reason.clone()));
        }
        Ok(view) => view,
    };
    if let Some(plan) = in_place::unfinished(view) {
        return plan;
    }
    match Desired::of(view) {
        Err(refusal) => nodes::unmark_all(view).unwrap_or(Plan::Refuse(refusal)),
        Ok(desired) => desired.plan(snapshot, view, now),
    }
}

/// The valid spec.
#[derive(Debug, Clone)]
pub(super) struct Desired {
    pub(super) replicas: usize,
    surge: usize,
    pub(super) unavailable: usize,
    recreate: bool,
    guards: Guards,
    in_place: Option<Orchestration>,
    /// Fields of the provider spec that are copied to living Machines.
    pub(super) hot: HotFields,
    pub(super) parts: Parts,
    hash: String,
    /// The set of the current template.
    pub(super) new: Option<usize>,
}

impl Desired {
    pub(super) fn of(view: &View) -> Result<Self, Refusal> {
        let spec = &view.deployment.spec;
        let selector = spec.selector.as_ref().map_err(|error| Refusal::Selector(error.clone()))?;
        if !selector.matches(&spec.template.labels) {
            return Err(Refusal::SelectorMismatch { selector: selector.to_string() });
        }
        let annotations = &spec.template.annotations;
        let is_set = |mark: &str| annotations.get(mark).is_some_and(|value| !value.is_empty());
        if let Some(mark) = MARKS.into_iter().find(|mark| is_set(mark)) {
            return Err(Refusal::MarkedTemplate(mark));
        }
        let replicas = spec.replicas.unwrap_or(DEFAULT_REPLICAS);
        let replicas = usize::try_from(replicas).map_err(|_| Refusal::Replicas(replicas))?;
        let (recreate, surge, unavailable) = limits(spec, replicas)?;
        MaxInFlight::read(spec.remediation.max_in_flight.as_ref()).map_err(Refusal::MaxInFlight)?;
        let in_place = match spec.strategy.kind.as_deref() {
            Some("InPlaceUpdate") => Some(in_place::limits(spec, replicas)?),
            _ => None,
        };
        let (surge, unavailable) =
            in_place.map_or((surge, unavailable), |(_, surge, unavailable)| (surge, unavailable));
        let in_place = in_place.map(|(orchestration, ..)| orchestration);
        let guards = match in_place {
            Some(_) => Guards::default(),
            None => Guards::read(&spec.strategy.rolling_update, recreate)?,
        };
        let invalid = |error: serde_json::Error| Refusal::Template(error.to_string());
        let new = set_of_template(view).map_err(invalid)?;
        let stored = new.and_then(|new| view.sets[new].set.state.hot_fields.as_deref());
        let hot = HotFields::stored(stored).with(HotFields::declared(spec.hot_fields));
        let parts = template::parts(&spec.template, &hot).map_err(invalid)?;
        if let Some(other) = &view.overlaps {
            return Err(Refusal::Overlap(other.clone()));
        }
        if let Some(set) = &view.undecodable {
            return Err(Refusal::UndecodableSet(set.clone()));
        }
        let hash = template::hash(&parts.recipe);
        let desired = Self {
            replicas,
            surge,
            unavailable,
            recreate,
            guards,
            in_place,
            hot,
            parts,
            hash,
            new,
        };
        match in_place.and_then(|_| in_place::refused(view, &desired)) {
            Some(changes) => Err(Refusal::NeedsInstance(changes)),
            None => Ok(desired),
        }
    }

    fn plan(&self, snapshot: &Snapshot, view: &View, now: Timestamp) -> Plan {
        let claimed = |sets: &[Arc<MachineSet>]| -> Vec<_> {
            sets.iter().filter(|set| !view.refused.has(&set.meta)).map(Arc::clone).collect()
        };
        let (adopt, release) = (claimed(&view.orphans), claimed(&view.unselected));
        if !adopt.is_empty() || !release.is_empty() {
            return Plan::Claim { adopt, release, rest: self.advance(view, now).rest() };
        }
        let machines = preserve::failed(view, now);
        if !machines.is_empty() {
            return Plan::Preserve { machines, rest: self.advance(view, now).rest() };
        }
        let paused = view.deployment.spec.paused;
        match self.new {
            None if !paused => return self.create(snapshot, view),
            Some(new) if !paused => {
                let set = &view.sets[new].set;
                let is_refused = view.refused.has(&set.meta);
                let number = number(view, new).filter(|(set, _)| match set {
                    Some(_) => !is_refused,
                    None => !view.refused.has(&snapshot.meta),
                });
                if let Some((set, revision)) = number {
                    let rest = self.advance(view, now).rest();
                    return match set {
                        None => Plan::AnnotateRevision { revision, rest },
                        Some(set) => {
                            let again = set.state.revision != Some(revision);
                            let started = again.then_some(now);
                            Plan::SetRevision { set, revision, started, rest }
                        }
                    };
                }
                let push = self.push_down(view, new, now).filter(|_| !is_refused);
                if let Some(plan) = push {
                    return plan;
                }
            }
            _ => {}
        }
        let plan = self.advance(view, now);
        // Marks of Nodes follow from what is stored.
        if let Some(found) = self.new.and_then(|new| self.finding(view, new, now, plan.rest())) {
            return found;
        }
        if let Some(marks) = self.mark_nodes(view, plan.rest(), now) {
            return marks;
        }
        match plan {
            Plan::NoOp(rest) => {
                let new = self.new.filter(|_| !paused);
                let push = new.and_then(|new| self.push_machines(view, new, rest));
                // After an abort the template to go back to stays, also without Machines.
                let delete = || {
                    let set = self.old_set(view).filter(|_| rest != Reason::Aborted)?;
                    Some(Plan::Delete { set, rest })
                };
                push.or_else(delete).unwrap_or(plan)
            }
            plan => plan,
        }
    }

    fn create(&self, snapshot: &Snapshot, view: &View) -> Plan {
        let collisions = view.deployment.status.collisions.unwrap_or(0);
        let deployment = &snapshot.meta.key.name;
        let name = template::set_name(deployment, &self.parts.recipe, collisions);
        // Its Machines count until they are gone, and it has the name.
        let has_name = |one: &SetView| one.set.meta.deleting && *one.set.meta.key.name == *name;
        if view.sets.iter().any(has_name) {
            return Plan::NoOp(Reason::SetDeleting);
        }
        // Those that can be claimed are claimed before.
        let mut others = view.orphans.iter().chain(&view.unselected);
        if others.any(|set| *set.meta.key.name == *name) {
            return Plan::NoOp(Reason::SetNotOwned);
        }
        let (hash, hot_fields) = (self.hash.clone(), self.hot.to_text());
        Plan::Create { name, hash, hot_fields, revision: newest(view, None) + 1 }
    }

    fn advance(&self, view: &View, now: Timestamp) -> Plan {
        match self.in_place {
            Some(orchestration) => self.update_in_place(orchestration, view, now),
            None => in_place::finish(view).unwrap_or_else(|| self.scale(view, now)),
        }
    }

    /// The oldest empty set beyond the history.
    fn old_set(&self, view: &View) -> Option<Arc<MachineSet>> {
        let limit = view.deployment.spec.history_limit;
        let limit = limit.map_or(DEFAULT_HISTORY, |limit| usize::try_from(limit).unwrap_or(0));
        let old = view.sets.iter().enumerate();
        let old = old.filter(|(at, one)| Some(*at) != self.new && !one.set.meta.deleting);
        let mut old: Vec<_> = old.map(|(_, one)| one).collect();
        if self.new.is_none() || old.len() <= limit {
            return None;
        }
        old.sort_by_key(|one| one.set.state.revision);
        let is_empty = |one: &&SetView| {
            one.set.state.spec.replicas == Some(0)
                && one.members.is_empty()
                && one.leaving + one.open == 0
                && !in_place::is_target(view, &one.set)
        };
        old.truncate(old.len() - limit);
        old.into_iter().find(is_empty).map(|one| Arc::clone(&one.set))
    }
}

pub(super) fn min_ready(view: &View) -> SignedDuration {
    SignedDuration::from_secs(view.deployment.spec.min_ready_seconds.max(0).into())
}

#[cfg(test)]
mod tests;
