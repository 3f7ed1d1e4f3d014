//! Carries out a plan: a cordon, or a bounded number of evictions.

use std::fmt::Display;

use futures::StreamExt as _;
use machinist_api::names::ANNOTATION_DRAIN;
use machinist_domain::key::Uid;
use machinist_domain::retry::{Category, Classified, Failure};
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};
use serde_json::json;

use super::plan::{CordonOutcome, Outcome, Plan, Removal};
use super::report::attempts_after;
use super::snapshot::View;
use super::{Drainer, Mark};
use crate::kinds::Node;

const PODS_AT_ONCE: usize = 16;

impl Drainer {
    pub async fn act(&self, view: &View, plan: &Plan, writer: &Writer) -> Outcome {
        let writer = writer.target();
        let mut outcome = Outcome::default();
        if let (Some(mark), Some(node)) = (plan.cordon, view.node.present()) {
            let locked = plan.force.is_none() && node.is_control_plane() && !node.unschedulable;
            outcome.cordon = Some(if locked {
                let _guard = self.control_plane.lock().await;
                // Checked again under the lock: the cordon of another worker is in the cache by now.
                match self.cordoned_peers(&node.meta.key) {
                    peers if peers.is_empty() => self.cordon(node, mark, plan, writer).await,
                    peers => CordonOutcome::Blocked(peers),
                }
            } else {
                self.cordon(node, mark, plan, writer).await
            });
        }
        // Collected before the first await: a closure over borrows across an await would make the future !Send.
        let removals: Vec<_> = plan.pods.iter().map(|pod| remove(pod, plan, writer)).collect();
        let mut answers = futures::stream::iter(removals).buffer_unordered(PODS_AT_ONCE);
        while let Some((uid, answer)) = answers.next().await {
            match answer {
                Ok(Some(())) => outcome.accepted.push(uid),
                Ok(None) => {}
                // It is evicted as soon as the freeze ends: the pod refused nothing.
                Err(error) if error.is_frozen() => {}
                Err(error) => outcome.refused.push((uid, failure(&error))),
            }
        }
        if plan.is_done() {
            self.forget(&view.subject.uid);
            return outcome;
        }
        // Deleted pods are dropped, unless the pods could not be listed.
        let attempts = match view.pods.present() {
            Some(_) => attempts_after(view, plan, &outcome, self.clock.now()),
            None => view.attempts.clone(),
        };
        let (uid, now) = (view.subject.uid.clone(), self.clock.uptime());
        self.attempts.store(uid, attempts, now);
        outcome
    }

    async fn cordon(
        &self,
        node: &Node,
        mark: Mark,
        plan: &(dyn Display + Sync),
        writer: &Writer,
    ) -> CordonOutcome {
        let patch = json!({
            "metadata": {"annotations": {ANNOTATION_DRAIN: mark.to_string()}},
            "spec": {"unschedulable": true},
        });
        let patched = writer.patch(&self.nodes, &node.meta, Part::Object, Guard::Uid, patch, plan);
        match patched.await {
            Ok(Some(_)) => CordonOutcome::Cordoned,
            Ok(None) => CordonOutcome::DryRun,
            // The Node is gone; the next reconcile sees that.
            Err(error) if error.category() == Category::NotFound => CordonOutcome::Cordoned,
            Err(error) => CordonOutcome::Failed(error.failure()),
        }
    }
}

async fn remove(
    removal: &Removal,
    plan: &Plan,
    writer: &Writer,
) -> (Uid, Result<Option<()>, WriteError>) {
    let Removal { pod, uid, grace } = removal;
    (uid.clone(), writer.evict(pod, uid, *grace, plan.force.is_some(), plan).await)
}

/// The message of a disruption budget is clearer than the response that contains it.
fn failure(error: &WriteError) -> Failure {
    let failure = error.failure();
    match error.disruption_budget() {
        Some(budget) => Failure { message: budget.to_owned(), ..failure },
        None => failure,
    }
}
