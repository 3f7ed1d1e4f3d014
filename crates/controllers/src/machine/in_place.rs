//! The update of a Machine in place, from its selection until its Node is schedulable again. Pure.
//!
//! In this order: mark the Node as ours, cordon and drain it, store that it is ready, admit the agent on the Node, take
//! its result. The MachineDeployment moves the Machine to its new MachineSet and removes the marks; then the Node is
//! uncordoned if the drain has cordoned it. Ready is stored in the status before the agent is admitted, so a Machine
//! whose selection is taken back in between is never updated.
//!
//! Not here: which Machine is selected, and its move.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{
    ANNOTATION_DRAIN, ANNOTATION_IN_PLACE_TARGET, ANNOTATION_IN_PLACE_TIMEOUT,
    CONDITION_IN_PLACE_UPDATE, IN_PLACE_DRAINING, IN_PLACE_READY, LABEL_IN_PLACE,
    LABEL_IN_PLACE_RESULT, REASON_IN_PLACE_CANDIDATE, REASON_IN_PLACE_FAILED,
    REASON_IN_PLACE_READY, REASON_IN_PLACE_SELECTED, REASON_IN_PLACE_SUCCESSFUL,
    REASON_IN_PLACE_TIMED_OUT, SEVERITY_INFO, SEVERITY_WARNING,
};
use machinist_domain::conditions::Condition;
use machinist_domain::report::{EventNote, EventReason};
use serde_json::{Value, json};

use super::messages;
use super::snapshot::View;
use crate::drain::{self, Mark};
use crate::in_place::{self, NodeMark, UpdateResult};
use crate::kinds::Node;

const ACTION: &str = "UpdateInPlace";

/// One step, with one write.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Mark the Node: it is drained for an update to this MachineSet, and the time of its drain begins now.
    Begin {
        target: String,
        drain: Earlier,
    },
    Drain(drain::Plan),
    /// Admit the agent.
    Offer,
    /// Copy the result of the agent to the Machine.
    Take(UpdateResult),
    /// Remove our marks from the Node. Whether the drain has cordoned it.
    Restore {
        uncordon: bool,
    },
}

/// What happens to the mark of an earlier drain of the Node, whose time limit may be over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    None,
    /// The Node is cordoned: the mark says whether by us, and gets another time.
    Renewed(Mark),
    /// The Node is schedulable.
    Removed,
}

impl Earlier {
    fn of(node: Option<&Node>, now: Timestamp) -> Self {
        let Some(node) = node else { return Self::None };
        match Mark::of(node) {
            Some(mark) if node.unschedulable => Self::Renewed(Mark { started: now, ..mark }),
            _ if node.annotations.contains(ANNOTATION_DRAIN) => Self::Removed,
            _ => Self::None,
        }
    }
}

impl Step {
    /// The patch of the Node; `None` for a step that does not patch it.
    pub(super) fn node_patch(&self) -> Option<Value> {
        let labels = |labels: Value| json!({"metadata": {"labels": labels}});
        let metadata = |labels: Value, annotations: Value| {
            let metadata = json!({"labels": labels, "annotations": annotations});
            json!({"metadata": metadata})
        };
        Some(match self {
            Self::Begin { target, drain } => {
                let mut patch = metadata(
                    json!({LABEL_IN_PLACE: IN_PLACE_DRAINING, LABEL_IN_PLACE_RESULT: null}),
                    json!({ANNOTATION_IN_PLACE_TARGET: target}),
                );
                let annotations = &mut patch["metadata"]["annotations"];
                match drain {
                    Earlier::None => {}
                    Earlier::Renewed(mark) => {
                        annotations[ANNOTATION_DRAIN] = json!(mark.to_string());
                    }
                    Earlier::Removed => annotations[ANNOTATION_DRAIN] = Value::Null,
                }
                patch
            }
            Self::Offer => labels(json!({LABEL_IN_PLACE: IN_PLACE_READY})),
            Self::Restore { uncordon } => {
                let mut patch = metadata(
                    json!({LABEL_IN_PLACE: null, LABEL_IN_PLACE_RESULT: null}),
                    json!({ANNOTATION_IN_PLACE_TARGET: null, ANNOTATION_DRAIN: null}),
                );
                if *uncordon {
                    patch["spec"] = json!({"unschedulable": null});
                }
                patch
            }
            Self::Drain(_) | Self::Take(_) => return None,
        })
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Begin { target, .. } => {
                write!(f, "mark the Node for an update in place to {target}")
            }
            Self::Drain(plan) => write!(f, "update in place: {plan}"),
            Self::Offer => f.write_str("admit the agent that updates the Node in place"),
            Self::Take(result) => {
                write!(f, "store the result of the update in place: {}", result.as_str())
            }
            Self::Restore { uncordon: true } => {
                f.write_str("uncordon the Node after the update in place")
            }
            Self::Restore { uncordon: false } => {
                f.write_str("remove the marks of the update in place from the Node")
            }
        }
    }
}

/// Where the Machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage<'a> {
    Idle,
    Candidate,
    /// The MachineDeployment has not admitted it yet.
    Selected,
    WithoutNode,
    /// The Node is not marked for this target.
    Unmarked(&'a str),
    /// The status says ready, and the Node is not marked: it was recreated. The status is corrected first.
    Lost,
    Draining,
    /// Ready is stored, and the agent not admitted.
    Ready,
    Updating,
    Reported(UpdateResult),
    Done(UpdateResult),
}

fn stage(view: &View) -> Stage<'_> {
    let machine = &view.machine;
    let Some(target) = in_place::target(machine) else {
        return if in_place::is_candidate(machine) {
            Stage::Candidate
        } else if in_place::is_selected(machine) {
            Stage::Selected
        } else {
            Stage::Idle
        };
    };
    if let Some(result) = UpdateResult::of(&machine.labels) {
        return Stage::Done(result);
    }
    let Some(node) = &view.node else { return Stage::WithoutNode };
    let offered = in_place::is_offered(machine);
    match NodeMark::of(node) {
        NodeMark::Draining(to) if to == target && offered => Stage::Ready,
        NodeMark::Draining(to) if to == target => Stage::Draining,
        NodeMark::Ready(to) if to == target && offered => {
            UpdateResult::of(&node.labels).map_or(Stage::Updating, Stage::Reported)
        }
        _ if offered => Stage::Lost,
        _ => Stage::Unmarked(target),
    }
}

/// Whether the drain must be observed.
pub(super) fn is_draining(view: &View) -> bool {
    stage(view) == Stage::Draining
}

/// The next step that writes; the state of the instance is observed meanwhile.
pub(super) fn decide(view: &View, now: Timestamp) -> Option<Step> {
    let node = view.node.as_deref();
    match stage(view) {
        Stage::Idle | Stage::Candidate | Stage::Selected => {
            let node = node.filter(|node| NodeMark::of(node) != NodeMark::None)?;
            let uncordon = node.unschedulable && Mark::of(node).is_some_and(|mark| mark.cordoned);
            Some(Step::Restore { uncordon })
        }
        Stage::Unmarked(target) => {
            Some(Step::Begin { target: target.to_owned(), drain: Earlier::of(node, now) })
        }
        Stage::Draining => {
            let plan = drain::decide(view.drain.as_deref()?, now);
            plan.has_effects().then_some(Step::Drain(plan))
        }
        Stage::Ready => Some(Step::Offer),
        Stage::Reported(result) => Some(Step::Take(result)),
        // The result stays on the Node, so that the agent does not take it for another offer.
        Stage::WithoutNode | Stage::Lost | Stage::Updating | Stage::Done(_) => None,
    }
}

/// What is reported of it.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The condition; `None` if there is none.
    pub(super) condition: Option<Condition>,
    pub(super) events: Vec<EventNote>,
    pub(super) again: Option<Duration>,
}

/// `drained`: what a drain of this reconcile did.
pub(super) fn report(view: &View, drained: Option<&drain::Outcome>, now: Timestamp) -> Report {
    let stored = view.machine.condition(CONDITION_IN_PLACE_UPDATE).cloned();
    let info = |reason, text: String| {
        Some(Condition::no(CONDITION_IN_PLACE_UPDATE, SEVERITY_INFO, reason, text))
    };
    let condition = match stage(view) {
        Stage::Idle | Stage::Candidate | Stage::Selected if is_node_marked(view) => stored,
        Stage::Idle => None,
        Stage::Candidate => info(REASON_IN_PLACE_CANDIDATE, messages::candidate()),
        Stage::Selected => info(REASON_IN_PLACE_SELECTED, messages::NOT_ADMITTED.to_owned()),
        Stage::WithoutNode => {
            info(REASON_IN_PLACE_SELECTED, messages::NO_NODE_TO_UPDATE.to_owned())
        }
        Stage::Unmarked(_) | Stage::Lost => {
            info(REASON_IN_PLACE_SELECTED, messages::DRAIN_BEGINS.to_owned())
        }
        Stage::Draining => return draining(view, stored, drained, now),
        Stage::Ready | Stage::Updating | Stage::Reported(_) => return updating(view, stored, now),
        Stage::Done(UpdateResult::Successful) => Some(
            Condition::yes(CONDITION_IN_PLACE_UPDATE)
                .because(REASON_IN_PLACE_SUCCESSFUL, messages::UPDATED),
        ),
        Stage::Done(UpdateResult::Failed) => {
            let (kind, reason) = (CONDITION_IN_PLACE_UPDATE, REASON_IN_PLACE_FAILED);
            let condition =
                Condition::no(kind, SEVERITY_WARNING, reason, messages::update_failed());
            let events =
                warn_once(stored.as_ref(), REASON_IN_PLACE_FAILED, messages::update_failed());
            return Report { condition: Some(condition), events, again: None };
        }
    };
    Report { condition, ..Report::default() }
}

fn is_node_marked(view: &View) -> bool {
    view.node.as_deref().is_some_and(|node| NodeMark::of(node) != NodeMark::None)
}

fn draining(
    view: &View,
    stored: Option<Condition>,
    drained: Option<&drain::Outcome>,
    now: Timestamp,
) -> Report {
    let Some(drain) = &view.drain else { return Report { condition: stored, ..Report::default() } };
    let plan = drain::decide(drain, now);
    let nothing = drain::Outcome::default();
    let outcome = drained.unwrap_or(&nothing);
    let report = drain::report(drain, &plan, outcome, now);
    let (events, again) = (report.events, plan.again(outcome));
    if !plan.is_done() {
        let condition =
            report.condition.map(|one| Condition { kind: CONDITION_IN_PLACE_UPDATE.into(), ..one });
        return Report { condition: condition.or(stored), events, again };
    }
    Report { condition: Some(ready(node_name(view))), events, again: limit(view).ok() }
}

fn node_name(view: &View) -> &str {
    view.node.as_deref().map_or("", |node: &Node| &*node.meta.key.name)
}

fn ready(node: &str) -> Condition {
    let text = messages::ready_for_update(node);
    Condition::no(CONDITION_IN_PLACE_UPDATE, SEVERITY_INFO, REASON_IN_PLACE_READY, text)
}

/// How long an update may take. A value that cannot be read is reported in its place.
fn limit(view: &View) -> Result<Duration, &str> {
    let Some(text) = view.machine.annotations.get(ANNOTATION_IN_PLACE_TIMEOUT) else {
        return Ok(view.rules.limits.in_place);
    };
    let limit = text.parse::<SignedDuration>().ok();
    limit.and_then(|limit| Duration::try_from(limit).ok()).ok_or(text)
}

/// The time counts from the moment at which the Node was ready. A result that comes later counts all the same.
fn updating(view: &View, stored: Option<Condition>, now: Timestamp) -> Report {
    let is =
        |reason: &str| stored.as_ref().is_some_and(|one| one.reason.as_deref() == Some(reason));
    let since =
        stored.as_ref().filter(|_| is(REASON_IN_PLACE_READY)).and_then(|one| one.last_transition);
    let limit = match limit(view) {
        Ok(limit) => limit,
        Err(value) => {
            let events = vec![EventNote::warning(
                EventReason::FailedValidate,
                ACTION,
                messages::bad_update_timeout(value),
            )];
            return Report { condition: stored, events, again: None };
        }
    };
    let spent = since.and_then(|since| Duration::try_from(now.duration_since(since)).ok());
    let left = limit.saturating_sub(spent.unwrap_or_default());
    if !left.is_zero() && !is(REASON_IN_PLACE_TIMED_OUT) {
        let condition = Some(ready(node_name(view)));
        return Report { condition, again: Some(left), ..Report::default() };
    }
    let text = messages::update_late(node_name(view), limit);
    let events = warn_once(stored.as_ref(), REASON_IN_PLACE_TIMED_OUT, text.clone());
    let (kind, reason) = (CONDITION_IN_PLACE_UPDATE, REASON_IN_PLACE_TIMED_OUT);
    let condition = Some(Condition::no(kind, SEVERITY_WARNING, reason, text));
    Report { condition, events, again: None }
}

fn warn_once(stored: Option<&Condition>, reason: &str, text: String) -> Vec<EventNote> {
    let known = stored.is_some_and(|one| one.reason.as_deref() == Some(reason));
    let event = || EventNote::warning(EventReason::FailedUpdate, ACTION, text);
    (!known).then(event).into_iter().collect()
}

#[cfg(test)]
mod tests;
