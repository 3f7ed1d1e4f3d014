//! Instance by instance: drain its Node, terminate it, wait until the group is whole again, next.
//!
//! The sizes of the group are never touched, so whatever somebody else does to them holds. Every place of the group that has neither an
//! instance whose turn has not come nor a new one that is ready is in use, and there are never more of them than may be missing.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{
    InstanceState, Recycle, RecycleFailure, RecycledInstance, Step,
};
use machinist_provider::node_groups::{Group, InstanceId, Lifecycle, Member};

use super::finish::leftover;
use super::{at, give_up, keep_marked, span, timed_out, wait_or_give_up};
use crate::drain;
use crate::recycler::recycling::plan::{Departure, Effect, Plan};
use crate::recycler::recycling::snapshot::{
    Snapshot, has_a_place, is_spared, member, obstacle, settled, stays, weight,
};

pub(super) fn decide(snapshot: &Snapshot, group: &Group, now: Timestamp) -> Plan {
    let recycle = &snapshot.recycle;
    if let Some(further) = follow(recycle, group, now) {
        return Plan::Store(Box::new(further));
    }
    if let Some(plan) = keep_marked(snapshot, group, now) {
        return timed_out(snapshot, "the plan cannot be stored on the group", now).unwrap_or(plan);
    }
    if let Some(plan) = leftover(snapshot, Some(group), |state| state == InstanceState::Kept) {
        return plan;
    }
    let replacing = Replacing { snapshot, group, now };
    if let Some(plan) = replacing.end_drains() {
        return plan;
    }
    if let Some(plan) = replacing.terminate() {
        return plan;
    }
    if recycle.instances.iter().all(settled) && replacing.is_whole() {
        return at(snapshot, Step::Unmarking, now);
    }
    match replacing.next() {
        Ok(Some(instance)) => replacing.begin(instance),
        Ok(None) => {
            replacing.drain_or_wait("the group is not whole yet: a new instance is not ready")
        }
        Err(why) => replacing.drain_or_wait(&why),
    }
}

/// The recycle as the group tells it: who is gone, who is going, and who is to be left alone.
fn follow(recycle: &Recycle, group: &Group, now: Timestamp) -> Option<Recycle> {
    let mut further = Recycle { step_since: now, ..recycle.clone() };
    let mut any = false;
    for instance in further.instances.iter_mut().filter(|instance| !settled(instance)) {
        let state = match member(group, &instance.id) {
            // Nobody has terminated it for us: somebody took it out of the group, and its Node may have a future.
            None if instance.state == InstanceState::Draining => InstanceState::Kept,
            None => InstanceState::Gone,
            Some(member) if member.lifecycle == Lifecycle::Terminated => InstanceState::Gone,
            Some(member) if member.lifecycle == Lifecycle::Terminating => {
                InstanceState::Terminating
            }
            // Also in the middle of its drain: what is terminated does not come back.
            Some(member) if is_spared(member) => InstanceState::Kept,
            Some(_) => instance.state,
        };
        if state != instance.state {
            (instance.state, instance.since, any) = (state, Some(now), true);
        }
    }
    any.then_some(further)
}

struct Replacing<'a> {
    snapshot: &'a Snapshot,
    group: &'a Group,
    now: Timestamp,
}

impl<'a> Replacing<'a> {
    fn at(&self, state: InstanceState) -> impl Iterator<Item = &'a RecycledInstance> {
        let instances = self.snapshot.recycle.instances.iter();
        instances.filter(move |instance| instance.state == state)
    }

    /// A drain that is over, one way or the other.
    fn end_drains(&self) -> Option<Plan> {
        for instance in self.at(InstanceState::Draining) {
            let verdict = self.verdict(instance);
            if verdict.is_none_or(|verdict| verdict.is_done()) {
                return Some(self.store(instance, InstanceState::Terminating));
            }
            let timeout = self.snapshot.settings.drain_timeout;
            if self.lasted(instance) >= timeout {
                let node = instance.node.as_deref().unwrap_or(&instance.id);
                let said = self.snapshot.recycle.message.as_deref().unwrap_or("it is not empty");
                let why = format!("{node} could not be drained within {}: {said}", span(timeout));
                return Some(give_up(self.snapshot, RecycleFailure::DrainTimedOut, why, self.now));
            }
        }
        None
    }

    /// The termination of an instance that the group does not know of yet.
    fn terminate(&self) -> Option<Plan> {
        let instance =
            self.at(InstanceState::Terminating).find(|instance| stays(self.group, instance))?;
        if let Some(why) = obstacle(self.group) {
            return Some(wait_or_give_up(self.snapshot, &why, self.now));
        }
        let node = self.snapshot.node(&instance.id);
        let drains = self.snapshot.settings.drain;
        if drains && node.is_some_and(|node| !node.cordoned) {
            // It came late, or somebody has let pods in again.
            return Some(self.store(instance, InstanceState::Draining));
        }
        let late = "an instance cannot be terminated";
        if let Some(plan) = timed_out(self.snapshot, late, self.now) {
            return Some(plan);
        }
        Some(Plan::Do(Effect::Terminate(Departure {
            instance: InstanceId::from(instance.id.as_str()),
            node: node.map(|node| node.meta.key.name.clone()),
            drained: drains,
        })))
    }

    /// The next instance to go, if one may; why none may, where that is not the cloud's doing.
    fn next(&self) -> Result<Option<&'a RecycledInstance>, String> {
        let mut waiting: Vec<_> = self.at(InstanceState::Waiting).collect();
        if waiting.is_empty() || self.in_use() >= self.snapshot.settings.max_unavailable {
            return Ok(None);
        }
        if let Some(why) = obstacle(self.group) {
            return Err(why);
        }
        let unavailable = |instance: &RecycledInstance| {
            let member = member(self.group, &instance.id);
            !member.is_some_and(|member| self.snapshot.is_available(member))
        };
        // What does not work anyway goes first, and the node under this process last.
        waiting.sort_by_key(|instance| (self.snapshot.is_own(instance), !unavailable(instance)));
        let Some(first) = waiting.first() else { return Ok(None) };
        let alone =
            self.snapshot.recycle.instances.iter().filter(|other| !settled(other)).count() == 1;
        if self.snapshot.is_own(first) && !alone {
            return Ok(None);
        }
        let may = unavailable(first) || self.missing() < self.snapshot.settings.max_unavailable;
        Ok(may.then_some(*first))
    }

    fn begin(&self, instance: &RecycledInstance) -> Plan {
        let drains = self.snapshot.settings.drain && self.snapshot.node(&instance.id).is_some();
        let state = if drains { InstanceState::Draining } else { InstanceState::Terminating };
        self.store(instance, state)
    }

    fn drain_or_wait(&self, why: &str) -> Plan {
        let (mut drains, mut again) = (Vec::new(), None::<Duration>);
        let mut draining = false;
        for instance in self.at(InstanceState::Draining) {
            let Some(verdict) = self.verdict(instance) else { continue };
            draining = true;
            let left = self.snapshot.settings.drain_timeout.saturating_sub(self.lasted(instance));
            let pause = verdict.again.unwrap_or(self.snapshot.settings.poll).min(left);
            again = Some(again.map_or(pause, |again| again.min(pause)));
            if !verdict.effects.is_empty() {
                drains.push((InstanceId::from(instance.id.as_str()), verdict));
            }
        }
        match again {
            Some(_) if !drains.is_empty() => Plan::Do(Effect::Drain(drains)),
            Some(pause) if draining => {
                Plan::Wait { pause, why: "a node is being drained".to_owned() }
            }
            _ => wait_or_give_up(self.snapshot, why, self.now),
        }
    }

    /// What the drain of an instance's Node does next; `None` where there is nothing to drain.
    fn verdict(&self, instance: &RecycledInstance) -> Option<drain::Plan> {
        if !self.snapshot.settings.drain {
            return None;
        }
        let view = self.snapshot.drains.get(&InstanceId::from(instance.id.as_str()))?;
        Some(drain::decide(view, self.now))
    }

    fn lasted(&self, instance: &RecycledInstance) -> Duration {
        let since = instance.since.unwrap_or(self.snapshot.recycle.step_since);
        Duration::try_from(self.now.duration_since(since)).unwrap_or_default()
    }

    /// Stores that an instance has come further.
    fn store(&self, instance: &RecycledInstance, state: InstanceState) -> Plan {
        let now = self.now;
        let mut further =
            Recycle { step_since: now, message: None, ..self.snapshot.recycle.clone() };
        for one in further.instances.iter_mut().filter(|one| one.id == instance.id) {
            (one.state, one.since) = (state, Some(now));
            let node = self.snapshot.node(&one.id).map(|node| node.meta.key.name.to_string());
            one.node = node.or(one.node.take());
        }
        Plan::Store(Box::new(further))
    }

    /// How many places of the group have neither an instance whose turn has not come nor one that works.
    fn in_use(&self) -> u32 {
        let occupied = self.group.members.iter().filter(|member| match self.state(member) {
            Some(InstanceState::Waiting | InstanceState::Kept) => has_a_place(member),
            Some(_) => false,
            None => self.snapshot.is_available(member),
        });
        self.group.sizes.desired.saturating_sub(weight(occupied))
    }

    /// How many places of the group have nothing that works, apart from those that somebody keeps as they are.
    fn missing(&self) -> u32 {
        let fine = self.group.members.iter().filter(|member| {
            let kept = self.state(member) == Some(InstanceState::Kept) && has_a_place(member);
            kept || self.snapshot.is_available(member)
        });
        self.group.sizes.desired.saturating_sub(weight(fine))
    }

    fn state(&self, member: &Member) -> Option<InstanceState> {
        let mut instances = self.snapshot.recycle.instances.iter();
        instances.find(|instance| *instance.id == *member.id.0).map(|instance| instance.state)
    }

    /// Whether the group has what it wants, apart from those that somebody keeps.
    fn is_whole(&self) -> bool {
        self.in_use() == 0
    }
}
