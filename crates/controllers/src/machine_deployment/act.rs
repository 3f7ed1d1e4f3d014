//! Executes a plan. Every write names the version of the set that was decided on.

mod claim;
mod nodes;
mod stored;

use std::sync::Arc;

use futures::stream::{self, StreamExt as _};
use machinist_api::names::{
    ANNOTATION_CHANGE_CAUSE, ANNOTATION_DELETE_MACHINE, ANNOTATION_HOT_FIELDS,
    ANNOTATION_PENDING_CHANGES, ANNOTATION_PRESERVE, ANNOTATION_REVISION, LABEL_TEMPLATE_HASH,
    PRESERVE_AUTO,
};
use machinist_api::resource::MACHINE_DEPLOYMENTS;
use machinist_api::wire;
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::pairs::Pairs;
use machinist_domain::retry::{Category, Classified as _, Failure, Retry};
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};
use serde_json::{Map, Value, json};

use super::in_place::{self, Step};
use super::memory::version_tried;
use super::ownership::is_own;
use super::plan::{Outcome, Plan, Resize};
use super::snapshot::{MARK, Snapshot, View};
use super::{MachineDeploymentController, messages};
use crate::kinds::{Machine, MachineDeploymentSpec, MachineSet};
use crate::machine_set::memory::{FailedClaim, MEMORY, skips_machine};
use crate::owner_references::references;

/// Writes to Machines in flight.
const MACHINES: usize = 16;

pub(super) async fn act(
    controller: &MachineDeploymentController,
    snapshot: &Snapshot,
    plan: &Plan,
    writer: &Writer,
) -> Outcome {
    if let Plan::MarkNodes { nodes, .. } = plan {
        return nodes::mark(controller, &snapshot.meta, nodes, plan, writer).await;
    }
    let Ok(view) = &snapshot.content else { return Outcome::Nothing };
    let executor = Executor { controller, deployment: &snapshot.meta, view, plan, writer };
    let outcome = match plan {
        Plan::NoOp(_) | Plan::Refuse(_) | Plan::MarkNodes { .. } => Ok(Outcome::Nothing),
        Plan::Claim { adopt, release, .. } => executor.claim(adopt, release).await,
        Plan::Create { name, hash, hot_fields, revision } => {
            executor.create(name, hash, hot_fields.as_deref(), *revision).await
        }
        Plan::SetRevision { set, revision, started, .. } => {
            let cause = view.deployment.change_cause.as_deref();
            let change = stored::revision(set, *revision, cause, *started);
            executor.annotate(&controller.sets, &set.meta, &change).await
        }
        Plan::Guard { set, finding, .. } => {
            executor.annotate(&controller.sets, &set.meta, &stored::found(finding)).await
        }
        Plan::AnnotateRevision { revision, .. } => {
            let change = stored::numbered(*revision);
            executor.annotate(&controller.deployments, &snapshot.meta, &change).await
        }
        Plan::PushDown { set, patch, .. } => executor.patch_set(set, patch.clone()).await,
        Plan::PushMachines { machines, .. } => executor.push(machines).await,
        Plan::Preserve { machines, .. } => executor.preserve(machines).await,
        Plan::Mark(machines) => executor.mark(machines, json!(MARK)).await,
        Plan::Unmark(machines) => executor.mark(machines, Value::Null).await,
        Plan::InPlace(step) => executor.in_place(step).await,
        Plan::Scale(sizes) => executor.scale(sizes).await,
        Plan::List | Plan::PushDone { listed: false, .. } => executor.list().await,
        Plan::PushDone { set, .. } => {
            let none = json!({"metadata": {"annotations": {ANNOTATION_PENDING_CHANGES: null}}});
            executor.patch_set(set, none).await
        }
        Plan::Delete { set, .. } => executor.delete(set).await,
    };
    outcome.unwrap_or_else(Outcome::Failed)
}

struct Executor<'a> {
    controller: &'a MachineDeploymentController,
    deployment: &'a Meta,
    view: &'a View,
    plan: &'a Plan,
    writer: &'a Writer,
}

/// An object that is gone is seen by the next reconcile.
fn outcome<T>(written: Result<Option<T>, WriteError>) -> Result<Outcome, Failure> {
    match written {
        Ok(Some(_)) => Ok(Outcome::Executed),
        Ok(None) => Ok(Outcome::DryRun),
        Err(error) if error.not_found() => Ok(Outcome::Outdated),
        Err(error) => Err(error.failure()),
    }
}

/// The outcome of a patch of this version. If it has changed nothing, a webhook has removed the change, or the CRD has
/// no such field.
fn stored_outcome(
    written: Result<Option<Meta>, WriteError>,
    before: &Meta,
) -> Result<Outcome, Failure> {
    match written {
        Ok(Some(after)) if after.version == before.version => Err(Failure {
            category: Category::InvalidConfiguration,
            retry: Retry::Backoff,
            message: messages::unchanged(&before.key.name),
        }),
        written => outcome(written),
    }
}

impl Executor<'_> {
    async fn patch_set(&self, set: &MachineSet, patch: Value) -> Result<Outcome, Failure> {
        self.patch(&self.controller.sets, &set.meta, patch).await
    }

    /// What is refused is not repeated for a while.
    async fn patch<K: Kind>(
        &self,
        cache: &Cache<K>,
        meta: &Meta,
        patch: Value,
    ) -> Result<Outcome, Failure> {
        let (part, guard) = (Part::Object, Guard::Version);
        let written = self.writer.patch(cache, meta, part, guard, patch, self.plan).await;
        let result = stored_outcome(written, meta);
        match &result {
            Ok(_) => drop(self.controller.refused.lock().remove(&meta.uid)),
            Err(failure) => self.remember(meta, failure),
        }
        result
    }

    fn remember(&self, meta: &Meta, failure: &Failure) {
        if !skips_machine(failure.category) {
            return;
        }
        let text = match self.plan {
            Plan::Claim { .. } => messages::claim_failed(&failure.message),
            _ => messages::update_failed(&failure.message),
        };
        let (now, poll) = (self.controller.clock.uptime(), self.controller.timings.poll);
        let mut refused = self.controller.refused.lock();
        let earlier = refused.get(&meta.uid, now);
        let version = version_tried(self.deployment, meta);
        let failed = FailedClaim::after(earlier, version, text.into(), now, poll);
        refused.insert(meta.uid.clone(), failed, now, MEMORY);
    }

    /// A deployment that is already deleted must not adopt: garbage collection would delete the set.
    async fn claim(
        &self,
        adopt: &[Arc<MachineSet>],
        release: &[Arc<MachineSet>],
    ) -> Result<Outcome, Failure> {
        if !adopt.is_empty() && !self.still_exists().await? {
            return Ok(Outcome::Outdated);
        }
        let mut results = Vec::new();
        for set in adopt {
            results.push(self.patch_set(set, claim::adopt(set, self.deployment)).await);
        }
        for set in release {
            results.push(self.patch_set(set, claim::release(set, self.deployment)).await);
        }
        all(results)
    }

    async fn still_exists(&self) -> Result<bool, Failure> {
        let live = self.controller.deployments.read_live(&self.deployment.key).await;
        let live = live.map_err(|error| error.failure())?;
        Ok(live.is_some_and(|live| live.meta().uid == self.deployment.uid && !live.meta().deleting))
    }

    async fn create(
        &self,
        name: &str,
        hash: &str,
        hot_fields: Option<&str>,
        revision: i64,
    ) -> Result<Outcome, Failure> {
        let body = self.body(hash, hot_fields, revision)?;
        let sets = &self.controller.sets;
        let key = ObjectKey::new(Arc::clone(&self.deployment.key.namespace), name);
        match self.writer.create(sets, &key, &body, self.plan).await {
            // An earlier attempt created it, or it is another set.
            Err(error) if error.already_exists() => {
                let live = sets.read_live(&key).await.map_err(|error| error.failure())?;
                let spec = &self.view.deployment.spec;
                let is_own = |live| is_own(live, self.deployment, spec, (hash, hot_fields));
                let is_own = live.as_ref().is_none_or(is_own);
                Ok(if is_own { Outcome::Outdated } else { Outcome::Collision })
            }
            created => outcome(created),
        }
    }

    fn body(&self, hash: &str, hot_fields: Option<&str>, revision: i64) -> Result<Value, Failure> {
        let spec = &self.view.deployment.spec;
        let machine: Value = match &spec.template.spec {
            None => json!({}),
            Some(raw) => serde_json::from_str(raw).map_err(|error| Failure {
                category: Category::InvalidConfiguration,
                retry: Retry::OnChange,
                message: error.to_string(),
            })?,
        };
        let mut labels = map(&spec.template.labels);
        labels.insert(LABEL_TEMPLATE_HASH.to_owned(), json!(hash));
        let mut set_labels = labels.clone();
        set_labels.extend(claim::deployment_label(self.deployment));
        let mut annotations = json!({ANNOTATION_REVISION: revision.to_string()});
        if let Some(fields) = hot_fields {
            annotations[ANNOTATION_HOT_FIELDS] = json!(fields);
        }
        if let Some(cause) = &self.view.deployment.change_cause {
            annotations[ANNOTATION_CHANGE_CAUSE] = json!(&**cause);
        }
        Ok(json!({
            "metadata": {
                "labels": set_labels,
                "annotations": annotations,
                "ownerReferences": references(&[], Some((MACHINE_DEPLOYMENTS, self.deployment))),
            },
            "spec": {
                "replicas": 0,
                "minReadySeconds": spec.min_ready_seconds.max(0),
                "selector": selector(spec, hash),
                "template": {
                    "metadata": {
                        "labels": labels,
                        "annotations": map(&spec.template.annotations),
                    },
                    "spec": machine,
                },
            },
        }))
    }

    async fn annotate<K: Kind>(
        &self,
        cache: &Cache<K>,
        meta: &Meta,
        change: &AnnotationChange,
    ) -> Result<Outcome, Failure> {
        let annotations: Map<_, _> =
            change.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
        self.patch(cache, meta, json!({"metadata": {"annotations": annotations}})).await
    }

    async fn push(&self, machines: &[(Arc<Machine>, Value)]) -> Result<Outcome, Failure> {
        let patches = machines.iter().map(|(machine, patch)| (&**machine, patch.clone()));
        self.patch_machines(patches.collect()).await
    }

    /// Not from a stale view: a user may have decided otherwise.
    async fn preserve(&self, machines: &[Arc<Machine>]) -> Result<Outcome, Failure> {
        let patch = json!({"metadata": {"annotations": {ANNOTATION_PRESERVE: PRESERVE_AUTO}}});
        let patches = machines.iter().map(|machine| (&**machine, patch.clone())).collect();
        self.patch_machines(patches).await
    }

    async fn mark(&self, machines: &[Arc<Machine>], mark: Value) -> Result<Outcome, Failure> {
        let patch = json!({"metadata": {"annotations": {ANNOTATION_DELETE_MACHINE: mark}}});
        let patches = machines.iter().map(|machine| (&**machine, patch.clone())).collect();
        self.patch_machines(patches).await
    }

    async fn patch_machines(&self, patches: Vec<(&Machine, Value)>) -> Result<Outcome, Failure> {
        let machines = &self.controller.machines;
        let mut writes = Vec::new();
        for (machine, patch) in patches {
            writes.push(self.patch(machines, &machine.meta, patch));
        }
        all(stream::iter(writes).buffered(MACHINES).collect().await)
    }

    async fn in_place(&self, step: &Step) -> Result<Outcome, Failure> {
        match step {
            Step::Mark(machines) => {
                let patches = machines.iter().map(|(machine, mark)| (&**machine, mark.patch()));
                self.patch_machines(patches.collect()).await
            }
            Step::Hold { set, hold } => self.patch_set(set, in_place::hold_patch(hold)).await,
            Step::Move { machine, from, to } => {
                let patch = in_place::move_patch(machine, from, to).map_err(|error| Failure {
                    category: Category::InvalidConfiguration,
                    retry: Retry::OnChange,
                    message: error.to_string(),
                })?;
                self.patch_machines(vec![(machine, patch)]).await
            }
            Step::Release { set, size, all_seen } => {
                if !all_seen {
                    self.controller.lists.doubt(&self.deployment.uid);
                }
                self.patch_set(set, in_place::release_patch(*size)).await
            }
        }
    }

    async fn scale(&self, sizes: &[Resize]) -> Result<Outcome, Failure> {
        let mut last = Outcome::Executed;
        for Resize { set, from, to, all_seen } in sizes {
            if to < from && !all_seen {
                // Also if the answer is lost.
                self.controller.lists.doubt(&self.deployment.uid);
            }
            let (sets, patch) = (&self.controller.sets, json!({"spec": {"replicas": to}}));
            let (part, guard) = (Part::Object, Guard::Version);
            let written = self.writer.patch(sets, &set.meta, part, guard, patch, self.plan).await;
            if written.as_ref().is_err_and(WriteError::may_have_happened) {
                let now = self.controller.clock.uptime();
                self.controller.sizes.unanswered(&set.meta, *to, now);
            }
            last = outcome(written)?;
            if !matches!(last, Outcome::Executed) {
                break;
            }
        }
        Ok(last)
    }

    async fn list(&self) -> Result<Outcome, Failure> {
        let Ok(selector) = &self.view.deployment.spec.selector else {
            return Ok(Outcome::Outdated);
        };
        let mut lists = vec![(selector.to_string(), Vec::new())];
        for one in &self.view.sets {
            let known = self.controller.machines_by_owner.get(&one.set.meta.uid.0);
            match &one.set.state.spec.selector {
                // The labels of the Machines of an adopted set may be others.
                Ok(own) if !own.implies(selector) => lists.push((own.to_string(), known)),
                _ => lists[0].1.extend(known),
            }
        }
        let namespace = &self.deployment.key.namespace;
        for (labels, known) in lists {
            let listed = self.controller.machines.verify_selected(namespace, &labels, &known).await;
            listed.map_err(|error| error.failure())?;
        }
        let window = |one: &super::snapshot::SetView| {
            one.set.state.window.as_ref().is_ok_and(|window| window.is_closed())
        };
        let closed = self.view.sets.iter().all(window);
        let (uid, now) = (&self.deployment.uid, self.controller.clock.uptime());
        self.controller.lists.add(uid, self.view.fingerprint, closed, now);
        Ok(Outcome::Executed)
    }

    /// A deletion cannot be undone, so the set is read live first: it must still be empty, and be so when the request
    /// is executed, which may be later if it has no answer.
    async fn delete(&self, set: &MachineSet) -> Result<Outcome, Failure> {
        let sets = &self.controller.sets;
        let live = sets.read_live(&set.meta.key).await.map_err(|error| error.failure())?;
        let same = live.as_ref().and_then(Entry::known).filter(|live| {
            live.meta.uid == set.meta.uid && live.state.generation == set.state.generation
        });
        let Some(live) = same else { return Ok(Outcome::Outdated) };
        outcome(self.writer.delete_version(sets, &live.meta, self.plan).await)
    }
}

/// The first failure; otherwise the last outcome, or that of a dry run.
fn all(results: Vec<Result<Outcome, Failure>>) -> Result<Outcome, Failure> {
    let mut last = Outcome::Executed;
    for result in results {
        let outcome = result?;
        if !matches!(last, Outcome::DryRun) {
            last = outcome;
        }
    }
    Ok(last)
}

/// The deployment's selector, limited to the template.
fn selector(spec: &MachineDeploymentSpec, hash: &str) -> Value {
    let wire::LabelSelector { match_labels, match_expressions } = &spec.raw_selector;
    let mut labels = json!(match_labels);
    labels[LABEL_TEMPLATE_HASH] = json!(hash);
    let mut selector = json!({"matchLabels": labels});
    if !match_expressions.is_empty() {
        let expression = |one: &wire::LabelExpression| {
            let mut json = json!({"key": one.key, "operator": one.operator});
            if !one.values.is_empty() {
                json["values"] = json!(one.values);
            }
            json
        };
        selector["matchExpressions"] = match_expressions.iter().map(expression).collect();
    }
    selector
}

fn map(pairs: &Pairs) -> Map<String, Value> {
    pairs.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::{Uid, Version};

    use super::*;

    #[test]
    fn a_patch_that_is_accepted_and_not_stored_is_a_failure_that_names_the_object() {
        let meta = |version| {
            let (key, uid) = (ObjectKey::new("ns", "web"), Uid("u".into()));
            Meta { key, uid, version: Version(version), deleting: false }
        };
        let failure = stored_outcome(Ok(Some(meta(7))), &meta(7)).unwrap_err();
        assert_eq!(failure.message, messages::unchanged("web"));
        assert_eq!(
            (failure.category, failure.retry),
            (Category::InvalidConfiguration, Retry::Backoff)
        );
        assert!(skips_machine(failure.category), "it is left out for a while");
        let stored = stored_outcome(Ok(Some(meta(8))), &meta(7));
        assert!(matches!(stored, Ok(Outcome::Executed)), "{stored:?}");
        assert!(matches!(stored_outcome(Ok(None), &meta(7)), Ok(Outcome::DryRun)));
    }
}
