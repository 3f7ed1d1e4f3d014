//! Carries a plan out: one effect, through the gateway.
//!
//! Directly before the cloud is changed, whoever wants the recycle and the Node that is concerned are read live, and before an instance is
//! terminated its group too: what is known may be old, and an instance that is gone does not come back. The text on a group is written by one worker at a time, so that two recyclers that want
//! the same group do not both get it.

use machinist_api::names::ANNOTATION_DRAIN;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::retry::{Category, Classified, Failure};
use machinist_provider::cloud::ErrorClass;
use machinist_provider::node_groups::{GroupError, GroupRef, InstanceId};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::{CloudCall, CloudWriteError, Guard, Part, Writer};
use serde_json::{Value, json};

use super::mark::Mark;
use super::plan::{Departure, Effect, Outcome, Plan};
use super::snapshot::{Sight, Snapshot, group_of, is_spared, member, obstacle};
use super::{Owner, Recycling, instance_of};
use crate::drain;

/// Whose groups these are, in audit lines and metrics.
const PROVIDER: &str = "aws";

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
    let act = Act { recycling, snapshot, group: &group, effect, writer };
    if !effect.changes_cloud() {
        return match effect {
            Effect::Release { node, uncordon } => act.release(node, *uncordon).await,
            Effect::Drain(drains) => act.drain(drains).await,
            _ => Outcome::Nothing,
        };
    }
    match owner.still_wants(&snapshot.recycle).await {
        Ok(true) => {}
        Ok(false) => return Outcome::Overtaken("the recycle is not stored as it was".to_owned()),
        Err(failure) => return Outcome::Failed(failure),
    }
    let outcome = act.change(&owner.key()).await;
    recycling.looks.forget(&group);
    outcome
}

struct Act<'a> {
    recycling: &'a Recycling,
    snapshot: &'a Snapshot,
    group: &'a GroupRef,
    effect: &'a Effect,
    writer: &'a Writer,
}

impl Act<'_> {
    async fn change(&self, key: &ObjectKey) -> Outcome {
        let (groups, group) = (&self.recycling.groups, self.group);
        match self.effect {
            Effect::Mark(text) => {
                let _alone = self.recycling.marking.lock().await;
                match self.recycling.looks.look_now(group).await {
                    Sight::There(found) if self.is_free(found.mark.as_deref()) => {
                        self.call(key, groups.mark(group, text)).await
                    }
                    Sight::There(_) | Sight::Gone => {
                        Outcome::Overtaken("the group is gone, or somebody else's".to_owned())
                    }
                    Sight::Unknown(failure) => Outcome::Failed(failure),
                }
            }
            Effect::Unmark => self.call(key, groups.unmark(group)).await,
            Effect::Resize { from, to } => self.call(key, groups.resize(group, *from, *to)).await,
            Effect::Terminate(departure) => self.terminate(key, departure).await,
            Effect::StartRefresh(with) => self.call(key, groups.start_refresh(group, *with)).await,
            Effect::CancelRefresh => self.call(key, groups.cancel_refresh(group)).await,
            Effect::Drain(_) | Effect::Release { .. } => Outcome::Nothing,
        }
    }

    fn is_free(&self, text: Option<&str>) -> bool {
        let ours = |text| Mark::read(text).is_some_and(|mark| mark.id == self.snapshot.recycle.id);
        text.is_none_or(ours)
    }

    async fn terminate(&self, key: &ObjectKey, departure: &Departure) -> Outcome {
        let Departure { instance, node, drained } = departure;
        if let Some(name) = node {
            let node = ObjectKey::new("", name.clone());
            let node = match self.recycling.nodes.read_live(&node).await {
                Ok(Some(Entry::Known(node))) => node,
                Ok(_) => return Outcome::Overtaken(format!("node {name} is gone")),
                Err(error) => return Outcome::Failed(error.failure()),
            };
            let own = node.provider_id.as_deref().and_then(instance_of) == Some(&*instance.0);
            if !own || (*drained && !node.unschedulable) {
                return Outcome::Overtaken(format!("node {name} is not as it was left"));
            }
        }
        match self.recycling.looks.look_now(self.group).await {
            Sight::There(group) => {
                let spared = member(&group, &instance.0).is_some_and(is_spared);
                if let Some(why) = obstacle(&group) {
                    return Outcome::Overtaken(why);
                }
                if spared {
                    return Outcome::Overtaken(format!("somebody wants to keep {instance}"));
                }
            }
            Sight::Gone => return Outcome::Overtaken("the group is gone".to_owned()),
            Sight::Unknown(failure) => return Outcome::Failed(failure),
        }
        let call = self.recycling.groups.terminate(self.group, instance);
        match self.call(key, call).await {
            // Somebody else was faster.
            Outcome::Failed(failure) if failure.category == Category::NotFound => Outcome::Done,
            outcome => outcome,
        }
    }

    async fn call<T, E: Classified + Into<GroupError>>(
        &self,
        key: &ObjectKey,
        work: impl Future<Output = Result<T, E>>,
    ) -> Outcome {
        let call = CloudCall { provider: PROVIDER, verb: self.effect.verb(), key };
        let plan = format!("{}: {}", self.group, self.effect);
        match self.writer.change_cloud(call, &plan, work).await {
            Ok(Some(_)) => Outcome::Done,
            Ok(None) => Outcome::LeftOut,
            Err(error) => {
                let failure = error.failure();
                match error {
                    CloudWriteError::Cloud(error) => refused(error.into(), failure),
                    CloudWriteError::NotLeader { .. } | CloudWriteError::TimedOut(_) => {
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

    /// Takes the mark of a drain off a Node, and the cordon if it was ours.
    async fn release(&self, node: &Meta, uncordon: bool) -> Outcome {
        let mut patch = json!({"metadata": {"annotations": {ANNOTATION_DRAIN: Value::Null}}});
        if uncordon {
            patch["spec"] = json!({"unschedulable": Value::Null});
        }
        let (nodes, plan) = (&self.recycling.nodes, self.effect);
        let writer = self.writer.target();
        match writer.patch(nodes, node, Part::Object, Guard::Uid, patch, plan).await {
            Ok(Some(_)) => Outcome::Done,
            Ok(None) => Outcome::LeftOut,
            Err(error) if error.not_found() => Outcome::Done,
            Err(error) => Outcome::Failed(error.failure()),
        }
    }
}

/// What somebody else did is looked at; everything else is a failure.
fn refused(error: GroupError, failure: Failure) -> Outcome {
    match error {
        GroupError::Changed { .. } | GroupError::RefreshRunning => {
            Outcome::Overtaken(failure.message)
        }
        GroupError::Cloud(error) if error.class == ErrorClass::NotFound => Outcome::Failed(failure),
        GroupError::Cloud(_) => Outcome::Failed(failure),
    }
}

#[cfg(test)]
mod tests;
