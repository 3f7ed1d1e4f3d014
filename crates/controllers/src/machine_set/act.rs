//! Carries a plan out. Many machines at once, but never more than a bounded number of requests.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use machinist_api::names::{ANNOTATION_ORDINALS, FINALIZER_MACHINE};
use machinist_api::resource::MACHINE_SETS;
use machinist_api::wire;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::ordinals::Window;
use machinist_domain::pairs::Pairs;
use machinist_domain::retry::{Category, Classified as _, Failure, Retry};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cluster::ApiError;
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};
use serde_json::{Map, Value, json};

use super::MachineSetController;
use super::family::PassedOver;
use super::observe::child;
use super::plan::{Outcome, Plan};
use super::snapshot::{Content, Snapshot};
use crate::kinds::{Machine, MachineSetState};

/// The most creations that wait for an answer.
const CREATIONS_AT_ONCE: usize = 32;
/// The most deletions that wait for an answer. Fewer: what follows them (drains, instances that go) is heavier than they are.
const DELETIONS_AT_ONCE: usize = 16;

pub(super) async fn act(
    controller: &MachineSetController,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let hand = Hand { controller, set: &snapshot.meta, plan, writer };
    match plan {
        Plan::Leave(why) => Outcome::Left(*why),
        Plan::Refuse(refusal) => Outcome::Refused(refusal.clone()),
        Plan::Claim { adopt, release } => hand.claim(adopt, release).await,
        Plan::MoveWindow { to } => hand.move_window(*to).await,
        Plan::Create(ordinals) => match &snapshot.content {
            Content::Read(family) => hand.create(&family.says, ordinals).await,
            Content::Undecodable(_) => Outcome::Void,
        },
        Plan::Look => match &snapshot.content {
            Content::Read(family) => hand.look(&family.says).await,
            Content::Undecodable(_) => Outcome::Void,
        },
        Plan::Delete(machines) => match &snapshot.content {
            Content::Read(family) => hand.delete(&family.says, machines).await,
            Content::Undecodable(_) => Outcome::Void,
        },
    }
}

/// What came of one write.
enum Done {
    Yes(ObjectKey),
    /// Its name is taken.
    Met,
    DryRun,
    No(Failure),
}

struct Hand<'a> {
    controller: &'a MachineSetController,
    set: &'a Meta,
    plan: &'a Plan,
    writer: &'a Writer,
}

impl Hand<'_> {
    async fn move_window(&self, to: Window) -> Outcome {
        let patch = json!({"metadata": {"annotations": {ANNOTATION_ORDINALS: to.to_string()}}});
        let sets = &self.controller.sets;
        let moved =
            self.writer.patch(sets, self.set, Part::Object, Guard::Version, patch, self.plan);
        match moved.await {
            Ok(Some(_)) => Outcome::Moved(Ok(())),
            Ok(None) => Outcome::DryRun,
            Err(error) if error.not_found() => Outcome::Void,
            Err(error) => Outcome::Moved(Err(error.failure())),
        }
    }

    /// A few at first: if the first one is refused, the others would be, too.
    async fn create(&self, says: &MachineSetState, ordinals: &[u64]) -> Outcome {
        let body = match body(self.set, says) {
            Ok(body) => body,
            Err(failure) => {
                return Outcome::Created { made: Vec::new(), met: 0, failure: Some(failure) };
            }
        };
        let (mut made, mut met, mut failures) = (Vec::new(), 0, Vec::new());
        let (mut rest, mut batch) = (ordinals, 1);
        while !rest.is_empty() && failures.is_empty() {
            let (now, later) = rest.split_at(batch.min(rest.len()));
            let keys = now.iter().map(|ordinal| child(self.set, *ordinal)).collect();
            let done = at_once(CREATIONS_AT_ONCE, keys, |key| self.create_one(key, &body)).await;
            for (_, done) in done {
                match done {
                    Done::Yes(key) => made.push(key),
                    Done::Met => met += 1,
                    Done::DryRun => return Outcome::DryRun,
                    Done::No(failure) => failures.push(failure),
                }
            }
            (rest, batch) =
                (later, if batch < CREATIONS_AT_ONCE { batch * 2 } else { later.len() });
        }
        Outcome::Created { made, met, failure: failures.into_iter().next() }
    }

    async fn create_one(&self, key: ObjectKey, body: &Value) -> Done {
        let machines = &self.controller.machines;
        match self.writer.create(machines, &key, body, self.plan).await {
            Ok(Some(_)) => Done::Yes(key),
            Ok(None) => Done::DryRun,
            // Ours, from an attempt whose answer was lost, or somebody else's: either way the next pass must see it.
            Err(error) if error.already_exists() => match machines.read_live(&key).await {
                Ok(_) => Done::Met,
                Err(error) => Done::No(error.failure()),
            },
            Err(error) => Done::No(error.failure()),
        }
    }

    /// Only the set's own machines: a cluster may have many sets, each of which shrinks by one again and again.
    async fn look(&self, says: &MachineSetState) -> Outcome {
        let Ok(selector) = &says.spec.selector else { return Outcome::Void };
        let (namespace, labels) = (&self.set.key.namespace, selector.to_string());
        let own = self.controller.by_manager.get(&self.set.uid.0);
        let looked = self.controller.machines.verify_selected(namespace, &labels, &own).await;
        if looked.is_ok() {
            self.controller.looked.add(&self.set.uid, says.generation);
        }
        Outcome::Looked(looked.map_err(|error| error.failure()))
    }

    /// What is deleted does not come back, so the set is asked once more whether it still wants that.
    async fn delete(&self, says: &MachineSetState, machines: &[Arc<Machine>]) -> Outcome {
        let nothing = |failure| Outcome::Deleted { gone: Vec::new(), failure: Some(failure) };
        match self.live().await {
            Ok(Some(live)) if live.generation == says.generation => {}
            Ok(_) => return Outcome::Void,
            Err(error) => return nothing(error.failure()),
        }
        self.controller.looked.use_up(&self.set.uid);
        let (mut gone, mut failures) = (Vec::new(), Vec::new());
        let machines = machines.to_vec();
        let done = at_once(DELETIONS_AT_ONCE, machines, |machine| self.delete_one(machine)).await;
        for (_, done) in done {
            match done {
                Done::Yes(key) => gone.push(key),
                Done::DryRun => return Outcome::DryRun,
                Done::Met => {}
                Done::No(failure) => failures.push(failure),
            }
        }
        Outcome::Deleted { gone, failure: failures.into_iter().next() }
    }

    async fn delete_one(&self, machine: Arc<Machine>) -> Done {
        match self.writer.delete(&self.controller.machines, &machine.meta, self.plan).await {
            Ok(Some(())) => Done::Yes(machine.meta.key.clone()),
            Ok(None) => Done::DryRun,
            Err(error) => Done::No(error.failure()),
        }
    }

    /// A set that is gone, and was only seen late to be, must not adopt: nobody would ever collect what it owns.
    async fn claim(&self, adopt: &[Arc<Machine>], release: &[Arc<Machine>]) -> Outcome {
        let failed = |failure| Outcome::Claimed {
            adopted: Vec::new(),
            released: Vec::new(),
            failure: Some(failure),
        };
        if !adopt.is_empty() {
            match self.live().await {
                Ok(Some(_)) => {}
                Ok(None) => return Outcome::Void,
                Err(error) => return failed(error.failure()),
            }
        }
        let mut all: Vec<_> = adopt.iter().map(|machine| (Arc::clone(machine), true)).collect();
        all.extend(release.iter().map(|machine| (Arc::clone(machine), false)));
        let done = at_once(DELETIONS_AT_ONCE, all, |(machine, ours)| self.own(machine, ours)).await;
        let (mut adopted, mut released, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        for (at, done) in done {
            match done {
                Done::Yes(key) if at < adopt.len() => adopted.push(key),
                Done::Yes(key) => released.push(key),
                Done::DryRun => return Outcome::DryRun,
                Done::Met => {}
                Done::No(failure) => failures.push(failure),
            }
        }
        Outcome::Claimed { adopted, released, failure: failures.into_iter().next() }
    }

    /// Makes the set the manager of a machine, or stops it being that.
    async fn own(&self, machine: Arc<Machine>, ours: bool) -> Done {
        let mut owners: Vec<Value> = machine.other_owners.iter().map(owner_as_it_was).collect();
        owners.extend(ours.then(|| owner(self.set)));
        let patch = json!({"metadata": {"ownerReferences": owners}});
        let (machines, meta) = (&self.controller.machines, &machine.meta);
        // The list is written as a whole, so nothing may have changed about it.
        let done =
            self.writer.patch(machines, meta, Part::Object, Guard::Version, patch, self.plan);
        match done.await {
            Ok(Some(_)) => Done::Yes(meta.key.clone()),
            Ok(None) => Done::DryRun,
            Err(error) if error.not_found() => Done::Met,
            Err(error) => {
                let failure = error.failure();
                if let Some(passed_over) = self.passed_over(&error) {
                    self.controller.refused.add(meta, &failure.message, passed_over);
                }
                Done::No(failure)
            }
        }
    }

    /// Whether, and how long, a machine that was refused so must not hold up what else the set wants.
    fn passed_over(&self, error: &WriteError) -> Option<PassedOver> {
        match error.category() {
            Category::InvalidConfiguration | Category::Unauthorised => Some(PassedOver::ForGood),
            // Such as a webhook that cannot be called: nobody tells when it can.
            Category::Unexpected => {
                let now = self.controller.clock.uptime();
                Some(PassedOver::Until(now + self.controller.unclaimed))
            }
            _ => None,
        }
    }

    /// What the set says now; `None` if it is gone, another one, or being deleted.
    async fn live(&self) -> Result<Option<Arc<MachineSetState>>, ApiError> {
        let Some(entry) = self.controller.sets.read_live(&self.set.key).await? else {
            return Ok(None);
        };
        let same = entry.meta().uid == self.set.uid && !entry.meta().deleting;
        Ok(match entry {
            Entry::Known(set) if same => Some(Arc::clone(&set.state)),
            _ => None,
        })
    }
}

/// Does `work` for all of `items`, at most `most` at once; after a failure nothing more is begun. Results come with their places.
async fn at_once<I, F>(most: usize, items: Vec<I>, work: impl Fn(I) -> F) -> Vec<(usize, Done)>
where
    F: Future<Output = Done>,
{
    let mut waiting = items.into_iter().enumerate();
    let (mut running, mut results) = (FuturesUnordered::new(), Vec::new());
    let mut failed = false;
    loop {
        while !failed && running.len() < most {
            let Some((at, item)) = waiting.next() else { break };
            let work = work(item);
            running.push(async move { (at, work.await) });
        }
        let Some((at, done)) = running.next().await else { break };
        failed |= matches!(done, Done::No(_));
        results.push((at, done));
    }
    // In the order of the items, so that the same trouble is told in the same words.
    results.sort_by_key(|(at, _)| *at);
    results
}

/// A machine of the set, without its name.
fn body(set: &Meta, says: &MachineSetState) -> Result<Value, Failure> {
    let template = &says.spec.template;
    let spec: Value = match &template.spec {
        None => json!({}),
        Some(raw) => serde_json::from_str(raw).map_err(|error| Failure {
            category: Category::InvalidConfiguration,
            retry: Retry::OnChange,
            message: format!("spec.template.spec: {error}"),
        })?,
    };
    let map = |pairs: &Pairs| -> Map<String, Value> {
        pairs.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
    };
    Ok(json!({
        "metadata": {
            "labels": map(&template.labels),
            "annotations": map(&template.annotations),
            // Before anything is created in a cloud there is something that keeps the object until it is gone.
            "finalizers": [FINALIZER_MACHINE],
            "ownerReferences": [owner(set)],
        },
        "spec": spec,
    }))
}

fn owner(set: &Meta) -> Value {
    json!({
        "apiVersion": MACHINE_SETS.api_version(),
        "kind": MACHINE_SETS.kind,
        "name": &*set.key.name,
        "uid": &*set.uid.0,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

fn owner_as_it_was(owner: &wire::OwnerReference) -> Value {
    let mut json = json!({
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    });
    if owner.block_owner_deletion {
        json["blockOwnerDeletion"] = json!(true);
    }
    json
}

#[cfg(test)]
mod tests;
