//! Executes a plan: one effect, through the gateway.
//!
//! Directly before the cloud is changed, the owner and the Node concerned are read live, and the group before an
//! instance is terminated: caches may be stale, and a termination cannot be undone.

use machinist_api::names::ANNOTATION_DRAIN;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::observed::Observed;
use machinist_domain::retry::{Category, Classified, Failure};
use machinist_domain::safety::EffectKind;
use machinist_provider::node_groups::{GroupChange, GroupError, GroupRef};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::{CloudCall, CloudWriteError, Guard, Part, Writer};
use serde_json::{Value, json};

use super::Recycling;
use super::decide::decide;
use super::mark::Mark;
use super::plan::{Action, Outcome, Plan, Termination};
use super::snapshot::{Snapshot, group_of, is_spared, member, obstacle};
use crate::drain::{self, Step};

impl Recycling {
    /// Executes a plan. `still_wanted` is whether the owner, which has this key in audit lines, still has exactly this
    /// recycle; it is awaited directly before the cloud is changed.
    pub async fn act(
        &self,
        snapshot: &Snapshot,
        plan: &Plan,
        key: &ObjectKey,
        still_wanted: impl Future<Output = Result<bool, Failure>>,
        writer: &Writer,
    ) -> Outcome {
        let group = group_of(&snapshot.recycle);
        let executor = Executor { recycling: self, snapshot, group: &group, key, writer };
        self.remember(snapshot, plan);
        match &plan.action {
            Action::Store(_) | Action::Wait { .. } | Action::Over => Outcome::Nothing,
            Action::Release { node, uncordon } => executor.release(node, *uncordon, plan).await,
            Action::Drain => executor.drain(plan).await,
            Action::Change(_) | Action::Terminate(_) => {
                match still_wanted.await {
                    Ok(true) => {}
                    Ok(false) => return Outcome::Outdated,
                    Err(failure) => return Outcome::Failed(failure),
                }
                let outcome = executor.change(&plan.action).await;
                self.group_cache.forget(&group);
                outcome.unwrap_or_else(Outcome::Failed)
            }
        }
    }

    /// Remembers since when drains wait for volumes, and forgets drains that have ended. A restart extends the wait.
    pub(in crate::recycler) fn remember(&self, snapshot: &Snapshot, plan: &Plan) {
        let (mut waits, uptime) = (self.volume_waits.lock(), self.clock.uptime());
        for (id, drain) in &plan.drains {
            let Some(view) = snapshot.drains.get(id) else { continue };
            let uid = &view.subject.uid;
            if drain.step != Step::WaitingForVolumes {
                waits.remove(uid);
            } else if let Some(volumes) = view.volumes.present() {
                let former = waits.get(uid, uptime).filter(|(_, former)| former == volumes);
                let since = former.map_or_else(|| self.clock.now(), |(since, _)| *since);
                waits.insert(uid.clone(), (since, volumes.clone()), uptime, drain::MEMORY);
            }
            if drain.is_done() {
                self.drainer.forget(uid);
            }
        }
    }
}

struct Executor<'a> {
    recycling: &'a Recycling,
    snapshot: &'a Snapshot,
    group: &'a GroupRef,
    key: &'a ObjectKey,
    writer: &'a Writer,
}

impl Executor<'_> {
    async fn change(&self, action: &Action) -> Result<Outcome, Failure> {
        match action {
            Action::Change(change @ GroupChange::Mark(_)) => {
                let _alone = self.recycling.marking.lock().await;
                if self.is_free().await? { self.call(change).await } else { Ok(Outcome::Outdated) }
            }
            // A late call may have changed the group since it was described.
            Action::Change(GroupChange::Unmark) if !self.is_still(action).await? => {
                Ok(Outcome::Outdated)
            }
            Action::Change(change) => self.call(change).await,
            Action::Terminate(termination) => self.terminate(termination).await,
            _ => Ok(Outcome::Nothing),
        }
    }

    /// Whether this is also decided with the group as it is now.
    async fn is_still(&self, action: &Action) -> Result<bool, Failure> {
        let group = self.recycling.group_cache.describe_live(self.group).await?;
        let snapshot = Snapshot { group: Observed::from(Ok(group)), ..self.snapshot.clone() };
        Ok(decide(&snapshot, self.recycling.clock.now()).action == *action)
    }

    /// Whether the group has no mark, or that of this recycle.
    async fn is_free(&self) -> Result<bool, Failure> {
        let found = self.recycling.group_cache.describe_live(self.group).await?;
        let ours = |text: &String| {
            Mark::read(text).is_some_and(|mark| mark.id == self.snapshot.recycle.id)
        };
        Ok(found.is_some_and(|group| group.mark.as_ref().is_none_or(ours)))
    }

    async fn terminate(&self, termination: &Termination) -> Result<Outcome, Failure> {
        let Termination { instance, node, drained } = termination;
        if let Some(name) = node {
            let node = ObjectKey::new("", name.clone());
            let node = self.recycling.nodes.read_live(&node).await;
            let Some(Entry::Known(node)) = node.map_err(|error| error.failure())? else {
                return Ok(Outcome::Outdated);
            };
            let provider_id = node.provider_id.as_deref();
            let found = provider_id.and_then(|id| self.recycling.groups.locate(id));
            let same = found.is_some_and(|found| found.id == *instance);
            if !same || (*drained && !node.unschedulable) {
                return Ok(Outcome::Outdated);
            }
        }
        let group = self.recycling.group_cache.describe_live(self.group).await?;
        let Some(group) = group else { return Ok(Outcome::Outdated) };
        if member(&group, &instance.0).is_some_and(is_spared) || obstacle(&group).is_some() {
            return Ok(Outcome::Outdated);
        }
        match self.call(&GroupChange::Terminate(instance.clone())).await {
            // It is no member any more.
            Err(failure) if failure.category == Category::NotFound => Ok(Outcome::Done),
            outcome => outcome,
        }
    }

    async fn call(&self, change: &GroupChange) -> Result<Outcome, Failure> {
        let groups = &self.recycling.groups;
        let (provider, effect) = (groups.provider(), effect(change));
        let call = CloudCall { provider, verb: change.verb(), effect, key: self.key };
        let plan = format!("{}: {change}", self.group);
        let work = groups.change(self.group, change);
        match self.writer.change_cloud(call, &plan, work).await {
            Ok(Some(())) => Ok(Outcome::Done),
            Ok(None) => Ok(Outcome::DryRun),
            Err(CloudWriteError::Cloud(
                GroupError::Changed { .. } | GroupError::RefreshRunning,
            )) => Ok(Outcome::Outdated),
            Err(error) => Err(error.failure()),
        }
    }

    async fn drain(&self, plan: &Plan) -> Outcome {
        let mut all = Vec::new();
        for (id, drain) in &plan.drains {
            if let Some(view) = self.snapshot.drains.get(id).filter(|_| drain.has_effects()) {
                let done = self.recycling.drainer.act(view, drain, self.writer).await;
                all.push((id.clone(), done));
            }
        }
        Outcome::Drained(all)
    }

    async fn release(&self, node: &Meta, uncordon: bool, plan: &Plan) -> Outcome {
        let mut patch = json!({"metadata": {"annotations": {ANNOTATION_DRAIN: Value::Null}}});
        if uncordon {
            patch["spec"] = json!({"unschedulable": Value::Null});
        }
        let (nodes, writer) = (&self.recycling.nodes, self.writer.target());
        match writer.patch(nodes, node, Part::Object, Guard::Uid, patch, plan).await {
            Ok(Some(_)) => Outcome::Done,
            Ok(None) => Outcome::DryRun,
            Err(error) if error.not_found() => Outcome::Done,
            Err(error) => Outcome::Failed(error.failure()),
        }
    }
}

fn effect(change: &GroupChange) -> EffectKind {
    match change {
        GroupChange::Resize { from, to } if to.desired > from.desired => EffectKind::CloudCreate,
        GroupChange::Resize { .. }
        | GroupChange::Terminate(_)
        | GroupChange::StartRefresh { .. } => EffectKind::CloudDelete,
        GroupChange::Mark(_) | GroupChange::Unmark | GroupChange::CancelRefresh => {
            EffectKind::Change
        }
    }
}

#[cfg(test)]
mod tests;
