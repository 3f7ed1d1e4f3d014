//! Executes a plan: one effect, through the gateway.
//!
//! Directly before the cloud is changed, the owner and the Node concerned are read live, and the group before an
//! instance is terminated: caches may be stale, and a termination cannot be undone.

use machinist_api::names::ANNOTATION_DRAIN;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::retry::{Category, Classified};
use machinist_provider::node_groups::{GroupError, GroupRef, InstanceId};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::{CloudCall, CloudWriteError, Guard, Part, Writer};
use serde_json::{Value, json};

use super::mark::Mark;
use super::plan::{Effect, Outcome, Plan, Termination};
use super::snapshot::{Snapshot, group_of, is_spared, member, obstacle};
use super::{Owner, Recycling};
use crate::drain;

pub(super) async fn act(
    recycling: &Recycling,
    snapshot: &Snapshot,
    plan: &Plan,
    owner: &dyn Owner,
    writer: &Writer,
) -> Outcome {
    let effect = match plan {
        Plan::Do(effect) => effect,
        Plan::Store(_) | Plan::Wait { .. } | Plan::Over => return Outcome::Nothing,
    };
    let group = group_of(&snapshot.recycle);
    let executor = Executor { recycling, snapshot, group: &group, effect, writer };
    if !effect.changes_cloud() {
        return match effect {
            Effect::Release { node, uncordon } => executor.release(node, *uncordon).await,
            Effect::Drain(drains) => executor.drain(drains).await,
            _ => Outcome::Nothing,
        };
    }
    match owner.still_wants(&snapshot.recycle).await {
        Ok(true) => {}
        Ok(false) => return Outcome::Outdated,
        Err(failure) => return Outcome::Failed(failure),
    }
    let outcome = executor.change(&owner.key()).await;
    recycling.forget(&group);
    outcome
}

struct Executor<'a> {
    recycling: &'a Recycling,
    snapshot: &'a Snapshot,
    group: &'a GroupRef,
    effect: &'a Effect,
    writer: &'a Writer,
}

impl Executor<'_> {
    async fn change(&self, key: &ObjectKey) -> Outcome {
        let (groups, group) = (&self.recycling.groups, self.group);
        match self.effect {
            Effect::Mark(text) => {
                let _alone = self.recycling.marking.lock().await;
                match self.recycling.describe_live(group).await {
                    Ok(Some(found)) if self.is_free(found.mark.as_deref()) => {
                        self.call(key, groups.mark(group, text)).await
                    }
                    Ok(_) => Outcome::Outdated,
                    Err(failure) => Outcome::Failed(failure),
                }
            }
            Effect::Unmark => self.call(key, groups.unmark(group)).await,
            Effect::Resize { from, to } => self.call(key, groups.resize(group, *from, *to)).await,
            Effect::Terminate(termination) => self.terminate(key, termination).await,
            Effect::StartRefresh(with) => self.call(key, groups.start_refresh(group, *with)).await,
            Effect::CancelRefresh => self.call(key, groups.cancel_refresh(group)).await,
            Effect::Drain(_) | Effect::Release { .. } => Outcome::Nothing,
        }
    }

    fn is_free(&self, text: Option<&str>) -> bool {
        let ours = |text| Mark::read(text).is_some_and(|mark| mark.id == self.snapshot.recycle.id);
        text.is_none_or(ours)
    }

    async fn terminate(&self, key: &ObjectKey, termination: &Termination) -> Outcome {
        let Termination { instance, node, drained } = termination;
        if let Some(name) = node {
            let node = ObjectKey::new("", name.clone());
            let node = match self.recycling.nodes.read_live(&node).await {
                Ok(Some(Entry::Known(node))) => node,
                Ok(_) => return Outcome::Outdated,
                Err(error) => return Outcome::Failed(error.failure()),
            };
            let provider_id = node.provider_id.as_deref();
            let found = provider_id.and_then(|id| self.recycling.groups.locate(id));
            let same = found.is_some_and(|found| found.id == *instance);
            if !same || (*drained && !node.unschedulable) {
                return Outcome::Outdated;
            }
        }
        match self.recycling.describe_live(self.group).await {
            Ok(Some(group)) => {
                let spared = member(&group, &instance.0).is_some_and(is_spared);
                if spared || obstacle(&group).is_some() {
                    return Outcome::Outdated;
                }
            }
            Ok(None) => return Outcome::Outdated,
            Err(failure) => return Outcome::Failed(failure),
        }
        let call = self.recycling.groups.terminate(self.group, instance);
        match self.call(key, call).await {
            // It is no member any more.
            Outcome::Failed(failure) if failure.category == Category::NotFound => Outcome::Done,
            outcome => outcome,
        }
    }

    async fn call<T, E: Classified + Into<GroupError>>(
        &self,
        key: &ObjectKey,
        work: impl Future<Output = Result<T, E>>,
    ) -> Outcome {
        let provider = self.recycling.groups.provider();
        let call = CloudCall { provider, verb: self.effect.verb(), key };
        let plan = format!("{}: {}", self.group, self.effect);
        match self.writer.change_cloud(call, &plan, work).await {
            Ok(Some(_)) => Outcome::Done,
            Ok(None) => Outcome::DryRun,
            Err(error) => {
                let failure = error.failure();
                match error {
                    CloudWriteError::Cloud(error) => match error.into() {
                        GroupError::Changed { .. } | GroupError::RefreshRunning => {
                            Outcome::Outdated
                        }
                        GroupError::Cloud(_) => Outcome::Failed(failure),
                    },
                    CloudWriteError::NotLeader(_) | CloudWriteError::TimedOut(_) => {
                        Outcome::Failed(failure)
                    }
                }
            }
        }
    }

    async fn drain(&self, drains: &[(InstanceId, drain::Plan)]) -> Outcome {
        let mut all = Vec::new();
        for (id, verdict) in drains {
            if let Some(view) = self.snapshot.drains.get(id) {
                let done = self.recycling.drainer.act(view, verdict, self.writer).await;
                all.push((id.clone(), done));
            }
        }
        Outcome::Drained(all)
    }

    /// Removes the annotation of a drain from a Node, and its cordon if the drain set it.
    async fn release(&self, node: &Meta, uncordon: bool) -> Outcome {
        let mut patch = json!({"metadata": {"annotations": {ANNOTATION_DRAIN: Value::Null}}});
        if uncordon {
            patch["spec"] = json!({"unschedulable": Value::Null});
        }
        let (nodes, plan) = (&self.recycling.nodes, self.effect);
        let writer = self.writer.target();
        match writer.patch(nodes, node, Part::Object, Guard::Uid, patch, plan).await {
            Ok(Some(_)) => Outcome::Done,
            Ok(None) => Outcome::DryRun,
            Err(error) if error.not_found() => Outcome::Done,
            Err(error) => Outcome::Failed(error.failure()),
        }
    }
}

#[cfg(test)]
mod tests;
