//! Executes a plan, with a bounded number of requests in flight.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use machinist_api::names::{ANNOTATION_ORDINALS, FINALIZER_MACHINE};
use machinist_api::resource::MACHINE_SETS;
use machinist_domain::key::ObjectKey;
use machinist_domain::machine::MachineAuthority;
use machinist_domain::meta::Meta;
use machinist_domain::pairs::Pairs;
use machinist_domain::retry::{Category, Classified as _, Failure, Retry};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};
use serde_json::{Map, Value, json};

use super::MachineSetController;
use super::hold::Hold;
use super::memory::{FailedClaim, MEMORY, skips_machine};
use super::messages;
use super::observe::child;
use super::ordinals::Window;
use super::plan::{Executed, Outcome, Plan, Reason};
use super::snapshot::Snapshot;
use crate::kinds::{Machine, MachineSetSpec, MachineSetState};
use crate::owner_references::references;

const CREATIONS: usize = 32;
/// Deletions in flight. Fewer, because each causes a drain and an instance's termination.
const DELETIONS: usize = 16;

pub(super) async fn act(
    controller: &MachineSetController,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    let Ok(view) = &snapshot.content else { return Outcome::Nothing };
    let executor = Executor { controller, set: &snapshot.meta, plan, writer };
    let outcome = match plan {
        Plan::NoOp(reason) => {
            // When a preservation ends, others may have begun or have been extended meanwhile.
            if matches!(reason, Reason::Preserved { .. }) {
                controller.lists.used(&snapshot.meta.uid);
            }
            Ok(Outcome::Nothing)
        }
        Plan::Refuse(_) => Ok(Outcome::Nothing),
        Plan::SetAuthority(authority) => executor.set_authority(*authority).await,
        Plan::Claim { adopt, release } => executor.claim(adopt, release).await,
        Plan::MoveWindow { to } => executor.move_window(&view.set, *to).await,
        Plan::Create(ordinals) => executor.create(&view.set, ordinals).await,
        Plan::List => executor.list(&view.set).await,
        Plan::Delete(machines) => executor.delete(&view.set, machines).await,
    };
    outcome.unwrap_or_else(|failure| {
        Outcome::Executed(Executed { failure: Some(failure), ..Executed::default() })
    })
}

enum Write {
    Done(ObjectKey),
    /// The object to create exists, the object to change is gone, or the one to delete has changed.
    Skipped,
    DryRun,
    Failed(Failure),
}

impl Write {
    fn of<T>(key: &ObjectKey, written: Result<Option<T>, WriteError>) -> Self {
        match written {
            Ok(Some(_)) => Self::Done(key.clone()),
            Ok(None) => Self::DryRun,
            Err(error) => Self::Failed(error.failure()),
        }
    }
}

struct Executor<'a> {
    controller: &'a MachineSetController,
    set: &'a Meta,
    plan: &'a Plan,
    writer: &'a Writer,
}

impl Executor<'_> {
    async fn set_authority(&self, authority: MachineAuthority) -> Result<Outcome, Failure> {
        let patch = json!({"status": {"authoritativeAPI": authority.as_str()}});
        let outcome = self.patch_set(Part::Status, Guard::Uid, patch).await?;
        if matches!(outcome, Outcome::Executed(_)) {
            self.controller.learn_authority_field(&self.set.key);
        }
        Ok(outcome)
    }

    async fn move_window(&self, set: &MachineSetState, to: Window) -> Result<Outcome, Failure> {
        let patch = json!({"metadata": {"annotations": {ANNOTATION_ORDINALS: to.to_string()}}});
        let moved = self.patch_set(Part::Object, Guard::Version, patch).await?;
        if let (Outcome::Executed(_), Ok(from)) = (&moved, &set.window) {
            let now = self.controller.clock.uptime();
            self.controller.creations.moved(&self.set.uid, (*from, to), now);
        }
        Ok(moved)
    }

    async fn patch_set(&self, part: Part, guard: Guard, patch: Value) -> Result<Outcome, Failure> {
        let sets = &self.controller.sets;
        match self.writer.patch(sets, self.set, part, guard, patch, self.plan).await {
            Ok(Some(_)) => Ok(Outcome::Executed(Executed::default())),
            Ok(None) => Ok(Outcome::DryRun),
            Err(error) if error.not_found() => Ok(Outcome::Outdated),
            Err(error) => Err(error.failure()),
        }
    }

    /// In batches that double: if the first creation is rejected, the others are not sent.
    async fn create(&self, set: &MachineSetState, ordinals: &[u64]) -> Result<Outcome, Failure> {
        let body = body(self.set, &set.spec)?;
        let mut executed = Executed::default();
        let (mut rest, mut batch) = (ordinals, 1);
        while !rest.is_empty() && executed.failure.is_none() {
            let (now, later) = rest.split_at(batch.min(rest.len()));
            let keys = now.iter().map(|ordinal| child(self.set, *ordinal)).collect();
            let create = |key| self.create_one(set, key, &body);
            let writes = concurrently(CREATIONS, keys, create).await;
            if !executed.add(writes) {
                return Ok(Outcome::DryRun);
            }
            (rest, batch) = (later, if batch < CREATIONS { batch * 2 } else { later.len() });
        }
        Ok(Outcome::Executed(executed))
    }

    async fn create_one(&self, set: &MachineSetState, key: ObjectKey, body: &Value) -> Write {
        let Self { controller, .. } = self;
        let machines = &controller.machines;
        match self.writer.create(machines, &key, body, self.plan).await {
            // An earlier attempt created it, or another user did. The next reconcile must see it in either case.
            Err(error) if error.already_exists() => match machines.read_live(&key).await {
                Ok(_) => Write::Skipped,
                Err(error) => Write::Failed(error.failure()),
            },
            created => {
                let unanswered = created.as_ref().is_err_and(WriteError::may_have_happened);
                if let (true, Ok(window)) = (unanswered, &set.window) {
                    let now = controller.clock.uptime();
                    controller.creations.unanswered(&self.set.uid, *window, now);
                }
                Write::of(&key, created)
            }
        }
    }

    /// Lists the set's own Machines only: many sets may scale down at the same time.
    async fn list(&self, set: &MachineSetState) -> Result<Outcome, Failure> {
        let Ok(selector) = &set.spec.selector else { return Ok(Outcome::Outdated) };
        let (namespace, labels) = (&self.set.key.namespace, selector.to_string());
        let own = self.controller.by_owner.get(&self.set.uid.0);
        let began = self.controller.clock.uptime();
        let listed = self.controller.machines.verify_selected(namespace, &labels, &own).await;
        listed.map_err(|error| error.failure())?;
        let now = self.controller.clock.uptime();
        self.controller.lists.add(&self.set.uid, set.generation, now);
        if let Ok(window) = set.window {
            self.controller.creations.listed(&self.set.uid, window, began);
        }
        Ok(Outcome::Executed(Executed::default()))
    }

    /// Deletions cannot be undone, so the set is read live first: it must still have the generation of the decision,
    /// and not be held.
    async fn delete(
        &self,
        set: &MachineSetState,
        machines: &[Arc<Machine>],
    ) -> Result<Outcome, Failure> {
        let changed = |live: Arc<MachineSetState>| {
            live.generation != set.generation || Hold::of(&live).is_some()
        };
        if self.read_set().await?.is_none_or(changed) {
            return Ok(Outcome::Outdated);
        }
        self.controller.lists.used(&self.set.uid);
        let delete = |machine| self.delete_one(machine);
        Ok(Executed::of(concurrently(DELETIONS, machines.to_vec(), delete).await))
    }

    /// In the version of the decision, also if the request is executed late: a user may have asked to keep it since. A
    /// Machine that has changed is decided on again, after another list.
    async fn delete_one(&self, machine: Arc<Machine>) -> Write {
        let machines = &self.controller.machines;
        match self.writer.delete_version(machines, &machine.meta, self.plan).await {
            Err(error) if error.conflict() => Write::Skipped,
            deleted => Write::of(&machine.meta.key, deleted),
        }
    }

    /// A set that is already deleted must not adopt: garbage collection would delete the Machine.
    async fn claim(
        &self,
        adopt: &[Arc<Machine>],
        release: &[Arc<Machine>],
    ) -> Result<Outcome, Failure> {
        if !adopt.is_empty() {
            let read = self.read_set().await;
            let named = |failure| explained(failure, messages::set_unread);
            if read.map_err(named)?.is_none() {
                return Ok(Outcome::Outdated);
            }
        }
        let adopt = adopt.iter().map(|machine| (Arc::clone(machine), true));
        let release = release.iter().map(|machine| (Arc::clone(machine), false));
        let all = adopt.chain(release).collect();
        let write = |(machine, owned)| self.set_owner(machine, owned);
        Ok(Executed::of(concurrently(DELETIONS, all, write).await))
    }

    async fn set_owner(&self, machine: Arc<Machine>, owned: bool) -> Write {
        let controller = owned.then_some((MACHINE_SETS, self.set));
        let owners = references(&machine.other_owners, controller);
        let patch = json!({"metadata": {"ownerReferences": owners}});
        let (machines, meta) = (&self.controller.machines, &machine.meta);
        // The patch replaces the whole list, so it needs the resourceVersion.
        let patched =
            self.writer.patch(machines, meta, Part::Object, Guard::Version, patch, self.plan).await;
        let error = match patched {
            Err(error) if error.not_found() => return Write::Skipped,
            Err(error) => error,
            written => return Write::of(&meta.key, written),
        };
        let text = if owned { messages::adopt_failed } else { messages::release_failed };
        let failure = explained(error.failure(), |cause| text(&meta.key.name, cause));
        if skips_machine(failure.category) {
            self.skip_after(&failure, meta);
        }
        Write::Failed(failure)
    }

    fn skip_after(&self, failure: &Failure, machine: &Meta) {
        let now = self.controller.clock.uptime();
        let (cause, poll) = (&*failure.message, self.controller.settings.timings.poll);
        let mut failed = self.controller.failed_claims.lock();
        let earlier = failed.get(&machine.uid, now);
        let claim = FailedClaim::after(earlier, machine.version, cause.into(), now, poll);
        failed.insert(machine.uid.clone(), claim, now, MEMORY);
    }

    /// The set, read live; `None` if it is gone, replaced or being deleted.
    async fn read_set(&self) -> Result<Option<Arc<MachineSetState>>, Failure> {
        let live = self.controller.sets.read_live(&self.set.key).await;
        Ok(match live.map_err(|error| error.failure())? {
            Some(Entry::Known(set)) if set.meta.uid == self.set.uid && !set.meta.deleting => {
                Some(Arc::clone(&set.state))
            }
            _ => None,
        })
    }
}

fn explained(mut failure: Failure, text: impl FnOnce(&str) -> String) -> Failure {
    failure.message = text(&failure.message);
    failure
}

impl Executed {
    fn of(writes: Vec<Write>) -> Outcome {
        let mut executed = Self::default();
        if executed.add(writes) { Outcome::Executed(executed) } else { Outcome::DryRun }
    }

    /// Adds the outcomes of writes; returns false for a dry run.
    fn add(&mut self, writes: Vec<Write>) -> bool {
        for write in writes {
            match write {
                Write::Done(key) => self.machines.push(key),
                Write::Skipped => self.skipped += 1,
                Write::DryRun => return false,
                Write::Failed(failure) => {
                    self.failure.get_or_insert(failure);
                }
            }
        }
        true
    }
}

/// After a failure no more work is started. Results are in the order of the items: the reported failure stays the same.
async fn concurrently<I, F>(limit: usize, items: Vec<I>, work: impl Fn(I) -> F) -> Vec<Write>
where
    F: Future<Output = Write>,
{
    let mut waiting = items.into_iter().enumerate();
    let (mut running, mut results) = (FuturesUnordered::new(), Vec::new());
    let mut failed = false;
    loop {
        while !failed && running.len() < limit {
            let Some((at, item)) = waiting.next() else { break };
            let work = work(item);
            running.push(async move { (at, work.await) });
        }
        let Some((at, write)) = running.next().await else { break };
        failed |= matches!(write, Write::Failed(_));
        results.push((at, write));
    }
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, write)| write).collect()
}

fn body(set: &Meta, spec: &MachineSetSpec) -> Result<Value, Failure> {
    let template = &spec.template;
    let machine: Value = match &template.spec {
        None => json!({}),
        Some(raw) => serde_json::from_str(raw).map_err(|error| Failure {
            category: Category::InvalidConfiguration,
            retry: Retry::OnChange,
            message: messages::template_spec(&error),
        })?,
    };
    let map = |pairs: &Pairs| -> Map<String, Value> {
        pairs.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
    };
    Ok(json!({
        "metadata": {
            "labels": map(&template.labels),
            "annotations": map(&template.annotations),
            // Set before an instance can exist, so that the Machine outlives its instance.
            "finalizers": [FINALIZER_MACHINE],
            "ownerReferences": references(&[], Some((MACHINE_SETS, set))),
        },
        "spec": machine,
    }))
}

#[cfg(test)]
mod tests;
