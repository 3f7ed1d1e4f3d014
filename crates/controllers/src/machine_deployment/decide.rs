//! Decides the next step for one MachineDeployment. Pure: no client, no clock.
//!
//! In this order: adopt or release MachineSets; create the set of the current template, with 0 replicas; number it;
//! copy what needs no new Machines to it; mark Nodes ([`nodes`]); update in place ([`in_place`]); scale ([`scaling`]);
//! copy it to Machines; delete old sets. A repeated step changes nothing: the new set's name follows from the template,
//! and sizes are written with the resourceVersion of the set.

mod guard;
mod in_place;
mod nodes;
mod preserve;
mod push_down;
mod scaling;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{
    ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY, LABEL_TEMPLATE_HASH,
};
use machinist_api::wire::IntOrText;
use machinist_domain::remediation::MaxInFlight;

use self::guard::Guards;
use self::in_place::Orchestration;
use self::scaling::{Apart, Fleet, Numbers, Preserved, Role, Step, Wait};
use super::error::Refusal;
use super::hot_fields::HotFields;
use super::plan::{Plan, Reason, Resize};
use super::revision;
use super::snapshot::{Member, Missing, SetView, Snapshot, View};
use super::template::{self, Parts};
use crate::kinds::{Machine, MachineDeploymentSpec, MachineSet};

const DEFAULT_REPLICAS: i32 = 1;
const DEFAULT_SURGE: usize = 1;
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
        Err(refusal) => Plan::Refuse(refusal),
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
        if let Some(plan) = self.mark_nodes(view, now) {
            return plan;
        }
        let plan = self.advance(view, now);
        if let Some(found) = self.new.and_then(|new| self.finding(view, new, now, plan.rest())) {
            return found;
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

    fn scale(&self, view: &View, now: Timestamp) -> Plan {
        let all = self.apart(view, now);
        let own = all.iter().map(|one| one.numbers);
        // Machines that cannot be adopted count, so that the deployment does not double.
        let others = view.refused.orphans.iter().map(|one| {
            let one = numbers(one, view, Role::Beside, now).numbers;
            Numbers { members: one.members.max(one.desired), deleting: true, ..one }
        });
        let sets: Vec<_> = own.chain(others).collect();
        let fleet = Fleet {
            replicas: self.replicas.saturating_sub(self.preserved(view, now)),
            surge: self.surge,
            unavailable: self.unavailable,
            paused: view.deployment.spec.paused,
            recreate: self.recreate,
            guard: self.guard(view, now),
            doubtful: view.doubtful && !view.listed,
            new: self.new,
            sets: &sets,
        };
        let step = if self.in_place.is_some() { fleet.step_in_place() } else { fleet.step() };
        match step {
            Step::Mark(set, count) => Plan::Mark(markable(&view.sets[set], count, view, now)),
            Step::Unmark(set) => Plan::Unmark(recovered(&view.sets[set], view, now)),
            Step::Scale(sizes) => {
                let sizes = sizes.into_iter().map(|(set, to)| {
                    let to = all[set].stored(to, self.replicas);
                    let (one, from) = (&view.sets[set], size(&view.sets[set]));
                    let all_seen = one.members.len() >= from;
                    Resize { set: Arc::clone(&one.set), from, to, all_seen }
                });
                Plan::Scale(sizes.collect())
            }
            Step::List => Plan::List,
            Step::Wait(Wait::Available(count)) => Plan::NoOp(Reason::Available(count)),
            Step::Wait(Wait::Gone) => Plan::NoOp(Reason::Gone),
            Step::Wait(Wait::Canary) => {
                let soak = self.new.and_then(|new| self.soak(view, new, now));
                Plan::NoOp(soak.map_or(Reason::Gone, Reason::Canary))
            }
            Step::Wait(Wait::Aborted) => Plan::NoOp(Reason::Aborted),
            Step::Wait(Wait::Paused) => Plan::NoOp(Reason::Paused),
            Step::Done => Plan::NoOp(Reason::Complete),
        }
    }

    /// The numbers of each set, without the preserved Machines that are beside the deployment.
    fn apart(&self, view: &View, now: Timestamp) -> Vec<Apart> {
        let current = self.current(view, now);
        let sets = view.sets.iter().enumerate();
        sets.map(|(at, one)| numbers(one, view, self.role(at, current), now)).collect()
    }

    /// Preserved Machines of the current set that are not available: nothing is expected of them.
    pub(super) fn preserved(&self, view: &View, now: Timestamp) -> usize {
        let shift = |at| self.apart(view, now).get(at).map(|one: &Apart| one.shift);
        self.current(view, now).and_then(shift).unwrap_or(0)
    }

    /// The set whose preserved Machines are replicas. A paused deployment with another template goes on with its newest
    /// set. None during a rollout: new Machines that fail and are kept must not replace old ones that work.
    pub(super) fn current(&self, view: &View, now: Timestamp) -> Option<usize> {
        let active = |at: &usize| size(&view.sets[*at]) > 0 && !view.sets[*at].set.meta.deleting;
        let newest = || (0..view.sets.len()).rev().find(active);
        let paused = view.deployment.spec.paused;
        let current = self.new.or_else(|| newest().filter(|_| paused));
        current.filter(|current| !self.is_rolling(view, *current, now))
    }

    fn role(&self, at: usize, current: Option<usize>) -> Role {
        match current {
            Some(current) if current == at => Role::Replicas,
            None if self.in_place.is_some() => Role::Members,
            _ => Role::Beside,
        }
    }

    /// Whether the preserved Machines of this set are in the counters.
    pub(super) fn counts_preserved(&self, at: usize, current: Option<usize>) -> bool {
        self.role(at, current) != Role::Beside
    }

    /// Whether another set has Machines to lose. An update in place does not leave preserved ones behind.
    fn is_rolling(&self, view: &View, new: usize, now: Timestamp) -> bool {
        let others = view.sets.iter().enumerate();
        let mut others = others.filter(|(at, one)| *at != new && !one.set.meta.deleting);
        others.any(|(_, one)| match self.in_place {
            Some(_) => size(one) > 0,
            None => numbers(one, view, Role::Beside, now).numbers.desired > 0,
        })
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

/// The set whose hash is that of the current template. Several have it if they leave out different fields: then the
/// one of the highest revision is current, so that an upgrade rolls nothing.
fn set_of_template(view: &View) -> Result<Option<usize>, serde_json::Error> {
    let template = &view.deployment.spec.template;
    // The fields that sets leave out rarely differ.
    let mut hashes: Vec<(Option<&str>, String)> = Vec::new();
    let mut found = None;
    for (at, one) in view.sets.iter().enumerate() {
        let fields = one.set.state.hot_fields.as_deref();
        if hashes.iter().all(|(known, _)| *known != fields) {
            hashes.push((fields, template::hash_on(template, fields)?));
        }
        let label = one.set.state.labels.get(LABEL_TEMPLATE_HASH);
        let is_its = |(known, hash): &(Option<&str>, String)| {
            *known == fields && label == Some(hash.as_str())
        };
        if !one.set.meta.deleting && hashes.iter().any(is_its) {
            let rank = revision::rank(one.set.state.revision, one.set.state.spec.replicas);
            // Of equal ones the oldest.
            if found.is_none_or(|(best, _)| rank > best) {
                found = Some((rank, at));
            }
        }
    }
    // So that an unreadable template is refused without sets, too.
    template::hash_on(template, None).map(|_| found.map(|(_, at)| at))
}

/// The revision of the current template is the highest one, also after a rollback. Its set has the change cause of the
/// deployment; without one, it keeps its own. The answer is what is to be stored: on the set, or else on the
/// deployment.
fn number(view: &View, new: usize) -> Option<(Option<Arc<MachineSet>>, i64)> {
    let set = &view.sets[new].set;
    let others = newest(view, Some(new));
    let cause = view.deployment.change_cause.as_ref();
    let other_cause = cause.is_some() && cause != set.state.change_cause.as_ref();
    let revision = match set.state.revision {
        Some(revision) if revision > others && !other_cause => revision,
        Some(revision) if revision > others => {
            return Some((Some(Arc::clone(set)), revision));
        }
        _ => return Some((Some(Arc::clone(set)), others + 1)),
    };
    let stored = view.deployment.revision.as_deref();
    (stored != Some(&*revision.to_string())).then_some((None, revision))
}

/// The highest revision, without that of one set. One that cannot be incremented was written by a user, and is ignored.
fn newest(view: &View, without: Option<usize>) -> i64 {
    let others = view.sets.iter().enumerate().filter(|(at, _)| Some(*at) != without);
    let revisions = others.filter_map(|(_, one)| one.set.state.revision);
    revisions.filter(|revision| *revision < i64::MAX).max().unwrap_or(0)
}

/// Whether it is Recreate, then maxSurge and maxUnavailable.
fn limits(spec: &MachineDeploymentSpec, replicas: usize) -> Result<(bool, usize, usize), Refusal> {
    match spec.strategy.kind.as_deref() {
        None | Some("" | "RollingUpdate") => {}
        Some("Recreate") => return Ok((true, 0, 0)),
        // Its limits are others.
        Some("InPlaceUpdate") => return Ok((false, 0, 0)),
        Some(other) => return Err(Refusal::Strategy(other.to_owned())),
    }
    let limits = &spec.strategy.rolling_update;
    let surge = Limit::read("rollingUpdate.maxSurge", limits.max_surge.as_ref())?;
    let unavailable = Limit::read("rollingUpdate.maxUnavailable", limits.max_unavailable.as_ref())?;
    let surge = surge.unwrap_or(Limit::Count(DEFAULT_SURGE));
    let unavailable = unavailable.unwrap_or(Limit::Count(0));
    if surge.is_zero() && unavailable.is_zero() {
        return Err(Refusal::NoRoom("rollingUpdate"));
    }
    if let Limit::Percent(percent @ 101..) = unavailable {
        return Err(Refusal::Limit("rollingUpdate.maxUnavailable", format!("{percent}%")));
    }
    match (surge.of(replicas, true), unavailable.of(replicas, false)) {
        // As in Kubernetes: percentages that are rounded to nothing must not stop the rollout.
        (0, 0) => Ok((false, 0, 1)),
        (surge, unavailable) => Ok((false, surge, unavailable)),
    }
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    Count(usize),
    Percent(usize),
}

impl Limit {
    fn read(field: &'static str, value: Option<&IntOrText>) -> Result<Option<Self>, Refusal> {
        let refused = |text: String| Refusal::Limit(field, text);
        Ok(match value {
            None => None,
            Some(IntOrText::Int(number)) => {
                let count =
                    i32::try_from(*number).ok().and_then(|count| usize::try_from(count).ok());
                Some(Self::Count(count.ok_or_else(|| refused(number.to_string()))?))
            }
            Some(IntOrText::Text(text)) => {
                let percent = text.strip_suffix('%').and_then(|digits| digits.parse::<u16>().ok());
                Some(Self::Percent(percent.ok_or_else(|| refused(text.clone()))?.into()))
            }
        })
    }

    fn is_zero(self) -> bool {
        matches!(self, Self::Count(0) | Self::Percent(0))
    }

    fn of(self, replicas: usize, up: bool) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) if up => (replicas * percent).div_ceil(100),
            Self::Percent(percent) => replicas * percent / 100,
        }
    }
}

pub(super) fn min_ready(view: &View) -> SignedDuration {
    SignedDuration::from_secs(view.deployment.spec.min_ready_seconds.max(0).into())
}

pub(super) fn is_available(member: &Member, view: &View, now: Timestamp) -> bool {
    member.available_at(min_ready(view)).is_some_and(|at| at < now)
}

/// `spec.replicas` of a set.
fn size(one: &SetView) -> usize {
    let replicas = one.set.state.spec.replicas.unwrap_or(DEFAULT_REPLICAS);
    usize::try_from(replicas).unwrap_or(0)
}

fn numbers(one: &SetView, view: &View, role: Role, now: Timestamp) -> Apart {
    let is_kept = |member: &Member| member.preserved(now).is_some();
    let is_apart = |member: &Member| role != Role::Members && is_kept(member);
    let (apart, others): (Vec<_>, Vec<_>) = one.members.iter().partition(|member| is_apart(member));
    let available = |member: &Member| is_available(member, view, now);
    let count =
        |test: &dyn Fn(&Member) -> bool| others.iter().filter(|member| test(member)).count();
    let marked = |member: &Member| member.is_marked() && !is_kept(member);
    let serving = apart.iter().filter(|member| available(member)).count();
    let numbers = Numbers {
        desired: size(one),
        members: one.members.len(),
        open: one.open,
        leaving: one.leaving,
        late: one.late.map(|late| (late.least, late.most)),
        available: count(&|member| !member.is_marked() && available(member)),
        first: count(&|member| marked(member) || (member.has_failed() && !is_kept(member))),
        marked: count(&marked),
        marked_available: count(&|member| marked(member) && available(member)),
        markable: count(&|member| is_markable(member, view, now)),
        recovered: count(&|member| is_recovered(member, view, now)),
        deleting: one.set.meta.deleting,
        aborted: one.set.state.is_aborted(),
        exact: view.listed,
    };
    let preserved = Preserved { available: serving, others: apart.len() - serving };
    // Nothing of a set that is being deleted stays.
    let preserved = if one.set.meta.deleting { Preserved::default() } else { preserved };
    numbers.without(preserved, role == Role::Replicas)
}

fn is_markable(member: &Member, view: &View, now: Timestamp) -> bool {
    let known = member.machine.as_ref().is_some_and(|one| !view.refused.has(&one.meta));
    let deletable = known && member.preserved(now).is_none();
    deletable && !member.is_marked() && !member.has_failed() && !is_available(member, view, now)
}

/// Whether only our mark keeps it from being available.
fn is_recovered(member: &Member, view: &View, now: Timestamp) -> bool {
    let is_refused = |one: &Arc<Machine>| view.refused.has(&one.meta);
    let is_refused = member.machine.as_ref().is_some_and(is_refused);
    let deletable = !is_refused && member.preserved(now).is_none();
    deletable && member.is_marked_by_us() && is_available(member, view, now)
}

fn recovered(one: &SetView, view: &View, now: Timestamp) -> Vec<Arc<Machine>> {
    let members = one.members.iter().filter(|member| is_recovered(member, view, now));
    members.filter_map(|member| member.machine.clone()).collect()
}

/// Those without a Node first.
fn markable(one: &SetView, count: usize, view: &View, now: Timestamp) -> Vec<Arc<Machine>> {
    let members = one.members.iter().filter(|member| is_markable(member, view, now));
    let mut machines: Vec<_> = members.filter_map(|member| member.machine.clone()).collect();
    machines.sort_by_key(|one| (one.status.node_ref.is_some(), one.meta.key.clone()));
    machines.truncate(count);
    machines
}

#[cfg(test)]
mod tests;
