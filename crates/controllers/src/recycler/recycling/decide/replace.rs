//! Strategy Replace: drain a Node, terminate its instance, wait until the group is complete again, then the next one.
//!
//! The sizes of the group are never changed. At most `max_unavailable` places of the group have neither an old instance
//! that waits nor a new one that is ready.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::recycle::{
    InstanceState, Recycle, RecycleFailure, RecycledInstance, Step,
};
use machinist_provider::node_groups::{Group, InstanceId, Lifecycle, Member};

use super::finish::release_node;
use super::{at, give_up, keep_marked, late, progress, timed_out, wait_or_give_up};
use crate::drain;
use crate::recycler::recycling::messages;
use crate::recycler::recycling::plan::{Action, Drains, Termination};
use crate::recycler::recycling::snapshot::{
    Settings, Snapshot, has_a_place, is_spared, member, obstacle, settled, stays, weight,
};

/// The state that the group shows: gone, terminating, or to be skipped.
fn state_in(group: &Group, instance: &RecycledInstance) -> InstanceState {
    match member(group, &instance.id) {
        _ if settled(instance) => instance.state,
        // It was detached and not terminated, so its Node stays in use.
        None if instance.state == InstanceState::Draining => InstanceState::Kept,
        None => InstanceState::Gone,
        Some(member) if member.lifecycle == Lifecycle::Terminated => InstanceState::Gone,
        Some(member) if member.lifecycle == Lifecycle::Terminating => InstanceState::Terminating,
        // Also during its drain: a termination cannot be undone.
        Some(member) if is_spared(member) => InstanceState::Kept,
        Some(_) => instance.state,
    }
}

pub(super) struct Replacing<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) group: &'a Group,
    pub(super) drains: &'a Drains,
    pub(super) now: Timestamp,
}

impl<'a> Replacing<'a> {
    pub(super) fn decide(&self) -> Action {
        let Self { snapshot, group, now, .. } = *self;
        if let Some(action) = progress(snapshot, now, |instance| state_in(group, instance)) {
            return action;
        }
        if let Some(action) = keep_marked(snapshot, group, now) {
            return timed_out(snapshot, messages::MARK_FAILS, now).unwrap_or(action);
        }
        let is_kept = |it: &RecycledInstance| {
            it.state == InstanceState::Kept && !late::may_be_terminated(snapshot, it, now)
        };
        let release = release_node(snapshot, Some(group), is_kept);
        if let Some(action) = release.or_else(|| self.end_drains()).or_else(|| self.terminate()) {
            return action;
        }
        if snapshot.recycle.instances.iter().all(settled) && self.in_use() == 0 {
            return at(snapshot, Step::Unmarking, now);
        }
        match self.next() {
            Ok(Some(instance)) => self.begin(instance),
            Ok(None) => self.drain_or_wait(messages::NOT_READY),
            Err(why) => self.drain_or_wait(&why),
        }
    }

    fn at(&self, state: InstanceState) -> impl Iterator<Item = &'a RecycledInstance> {
        let instances = self.snapshot.recycle.instances.iter();
        instances.filter(move |instance| instance.state == state)
    }

    fn end_drains(&self) -> Option<Action> {
        for instance in self.at(InstanceState::Draining) {
            if self.drain(instance).is_none_or(drain::Plan::is_done) {
                return Some(self.store(instance, InstanceState::Terminating));
            }
            let timeout = self.snapshot.settings.drain_timeout;
            if self.lasted(instance) >= timeout {
                let node = instance.node.as_deref().unwrap_or(&instance.id);
                let why = self.snapshot.recycle.message.as_deref();
                let why = messages::not_drained(node, timeout, why);
                return Some(give_up(self.snapshot, RecycleFailure::DrainTimedOut, why, self.now));
            }
        }
        None
    }

    fn terminate(&self) -> Option<Action> {
        let instance =
            self.at(InstanceState::Terminating).find(|instance| stays(self.group, instance))?;
        if let Some(why) = obstacle(self.group) {
            return Some(wait_or_give_up(self.snapshot, &why, self.now));
        }
        let node = self.snapshot.node(&instance.id);
        let drains = self.snapshot.settings.drain;
        if drains && node.is_some_and(|node| !node.unschedulable) {
            // The Node registered late, or a user uncordoned it.
            return Some(self.store(instance, InstanceState::Draining));
        }
        let waited_for = messages::terminate_fails(&instance.id);
        if let Some(action) = timed_out(self.snapshot, &waited_for, self.now) {
            return Some(action);
        }
        Some(Action::Terminate(Termination {
            instance: InstanceId::from(instance.id.as_str()),
            node: node.map(|node| node.meta.key.name.clone()),
            drained: drains,
        }))
    }

    /// The next instance to replace, if one may be replaced now; an error where the group prevents it.
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
        // Unavailable instances come first, and the one of this process last.
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

    fn begin(&self, instance: &RecycledInstance) -> Action {
        let drains = self.snapshot.settings.drain && self.snapshot.node(&instance.id).is_some();
        let state = if drains { InstanceState::Draining } else { InstanceState::Terminating };
        self.store(instance, state)
    }

    fn drain_or_wait(&self, why: &str) -> Action {
        let Settings { drain_timeout, poll, .. } = self.snapshot.settings;
        let pauses = self.at(InstanceState::Draining).filter_map(|instance| {
            let left = drain_timeout.saturating_sub(self.lasted(instance));
            Some(self.drain(instance)?.again.unwrap_or(poll).min(left))
        });
        match pauses.min() {
            Some(_) if self.drains.values().any(drain::Plan::has_effects) => Action::Drain,
            Some(pause) => Action::Wait { pause, why: messages::DRAINING.to_owned() },
            None => wait_or_give_up(self.snapshot, why, self.now),
        }
    }

    /// The next step of the drain of an instance's Node; `None` where there is nothing to drain.
    fn drain(&self, instance: &RecycledInstance) -> Option<&'a drain::Plan> {
        self.drains.get(&InstanceId::from(instance.id.as_str()))
    }

    fn lasted(&self, instance: &RecycledInstance) -> Duration {
        let since = instance.since.unwrap_or(self.snapshot.recycle.step_since);
        Duration::try_from(self.now.duration_since(since)).unwrap_or_default()
    }

    fn store(&self, instance: &RecycledInstance, state: InstanceState) -> Action {
        let now = self.now;
        let mut further =
            Recycle { step_since: now, message: None, ..self.snapshot.recycle.clone() };
        for one in further.instances.iter_mut().filter(|one| one.id == instance.id) {
            (one.state, one.since) = (state, Some(now));
            let node = self.snapshot.node(&one.id).map(|node| node.meta.key.name.to_string());
            one.node = node.or(one.node.take());
        }
        Action::Store(Box::new(further))
    }

    /// How many places of the group have neither an old instance that waits nor an available one.
    fn in_use(&self) -> u32 {
        let occupied = self.group.members.iter().filter(|member| match self.state(member) {
            Some(InstanceState::Waiting | InstanceState::Kept) => has_a_place(member),
            Some(_) => false,
            None => self.snapshot.is_available(member),
        });
        self.group.sizes.desired.saturating_sub(weight(occupied))
    }

    /// How many places of the group have no available instance, apart from skipped ones.
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
}
