//! What `decide` depends on: a snapshot in numbers, and the plan as far as it matters.

use std::sync::Arc;
use std::time::Duration;

use machinist_api::names::{
    ANNOTATION_CANARY_PASSED, ANNOTATION_DELETE_MACHINE, ANNOTATION_REVISION,
    ANNOTATION_ROLLOUT_ABORTED, CONDITION_PROGRESSING, REASON_NEW_SET_AVAILABLE,
};
use machinist_domain::retry::Retry;
use serde_json::{Map, Value, json};

use super::super::plan::{Finding, Outcome, Plan, Reason};
use super::super::report::report;
use super::super::samples::{deployment, member, now, set, snapshot, template_of};
use super::super::snapshot::{LateSizes, MARK, Member, SetView, Snapshot};
use super::model::Decide;
use super::state::{Life, SETS, Set, Slot, State};
use crate::kinds::MachineSet;
use crate::test_process::unanswered;

/// The templates, which also name the sets.
const NAMES: [&str; SETS] = ["a", "b", "c"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Observed {
    template: u8,
    revision: u8,
    sets: [Option<Counts>; SETS],
    pub(super) doubtful: bool,
    listed: bool,
    pub(super) guard: Guard,
    /// Machines that are not ready were not ready in time.
    pub(super) is_late: bool,
}

/// How the rollout is guarded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum Guard {
    #[default]
    None,
    /// One Machine is observed first.
    Canary,
    /// One new Machine that is not ready in time aborts it.
    Abort,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Counts {
    desired: u8,
    revision: u8,
    /// By [`is_ready`](kind) and whether it is marked.
    members: [[usize; 2]; 2],
    leaving: usize,
    open: usize,
    late: Option<u8>,
    passed: bool,
    aborted: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SetSize {
    pub(super) to: u8,
    /// Whether the set may have Machines that are not in the view.
    pub(super) doubt: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Decision {
    Done,
    Wait,
    Create(usize, u8),
    SetRevision(usize, u8),
    Annotate(u8),
    Pass(usize),
    Abort(usize),
    Mark(usize, u8),
    Unmark(usize),
    Scale([Option<SetSize>; SETS]),
    List,
}

impl Counts {
    fn of(set: &Set) -> Self {
        let members = |life: Life, marked: bool| {
            set.count(|slot| slot.seen == life && slot.marked_seen == marked)
        };
        Self {
            desired: set.desired_seen,
            revision: set.revision,
            members: [Life::Starting, Life::Available]
                .map(|life| [members(life, false), members(life, true)]),
            leaving: set.count(|slot| slot.seen == Life::Leaving),
            open: set.count(Slot::is_seen_open),
            late: set.unanswered,
            passed: set.passed,
            aborted: set.aborted,
        }
    }

    fn total(&self) -> usize {
        self.members.iter().flatten().sum()
    }

    fn view(&self, name: &str, is_late: bool) -> SetView {
        let mark = json!({"metadata": {"annotations": {ANNOTATION_DELETE_MACHINE: MARK}}});
        let created = if is_late { "2026-06-01T08:00:00Z".to_owned() } else { now().to_string() };
        let mut members: Vec<Member> = Vec::new();
        for (ready, counts) in [None, Some(60)].into_iter().zip(self.members) {
            for (patch, count) in [&Value::Null, &mark].into_iter().zip(counts) {
                for _ in 0..count {
                    let mut patch = if patch.is_null() { json!({}) } else { patch.clone() };
                    patch["metadata"]["creationTimestamp"] = json!(created);
                    members.push(member(&format!("{name}-{}", members.len()), ready, &patch));
                }
            }
        }
        let late = self.late.map(usize::from);
        let until = Duration::from_secs(60);
        let late = late.map(|size| LateSizes { least: size, most: size, until });
        let marks =
            [(ANNOTATION_CANARY_PASSED, self.passed), (ANNOTATION_ROLLOUT_ABORTED, self.aborted)];
        let stored = marks.into_iter().filter(|(_, is_stored)| *is_stored);
        let time = json!("v1 2026-06-01T11:00:00Z");
        let annotations: Map<_, _> =
            stored.map(|(name, _)| (name.to_owned(), time.clone())).collect();
        let patch = json!({"metadata": {"annotations": annotations}});
        let set = set(name, self.desired.into(), self.revision.into(), &patch);
        SetView { set, members, leaving: self.leaving, open: self.open, late }
    }
}

impl Observed {
    pub(super) fn of(state: &State) -> Self {
        let sets = state.sets.each_ref().map(|set| set.exists_seen.then(|| Counts::of(set)));
        let State { template_seen: template, revision, doubtful, listed, .. } = *state;
        let (guard, is_late) = (Guard::None, false);
        Self { template, revision, sets, doubtful, listed, guard, is_late }
    }

    fn snapshot(&self) -> Snapshot {
        let mut source = deployment();
        source["metadata"]["annotations"][ANNOTATION_REVISION] = json!(self.revision.to_string());
        source["spec"]["replicas"] = json!(2);
        source["spec"]["template"] = template_of(NAMES[usize::from(self.template)]);
        source["spec"]["strategy"]["rollingUpdate"] = match self.guard {
            Guard::None => json!({}),
            Guard::Canary => json!({"canary": {}}),
            Guard::Abort => json!({"abort": {}}),
        };
        let sets = NAMES.iter().zip(&self.sets);
        let late = self.is_late;
        let sets = sets.filter_map(|(name, counts)| Some(counts.as_ref()?.view(name, late)));
        let mut snapshot = snapshot(&source, sets.collect());
        if let Ok(view) = &mut snapshot.content {
            (view.doubtful, view.listed) = (self.doubtful, self.listed);
        }
        snapshot
    }

    pub(super) fn decide(&self, decide: Decide) -> Result<Decision, String> {
        let snapshot = self.snapshot();
        let plan = decide(&snapshot);
        self.check_report(&snapshot, &plan)?;
        let small = |revision: i64| u8::try_from(revision).unwrap();
        Ok(match &plan {
            Plan::NoOp(Reason::Complete) => Decision::Done,
            Plan::NoOp(_) => Decision::Wait,
            Plan::Create { revision, .. } => {
                Decision::Create(self.template.into(), small(*revision))
            }
            Plan::SetRevision { set, revision, .. } => {
                Decision::SetRevision(index(set), small(*revision))
            }
            Plan::AnnotateRevision { revision, .. } => Decision::Annotate(small(*revision)),
            Plan::Mark(machines) | Plan::Unmark(machines) => {
                let name = machines.first().map(|machine| &machine.meta.key.name[..1]);
                let at = NAMES.iter().position(|one| Some(*one) == name).unwrap();
                match plan {
                    Plan::Mark(_) => Decision::Mark(at, u8::try_from(machines.len()).unwrap()),
                    _ => Decision::Unmark(at),
                }
            }
            Plan::Scale(list) => {
                let mut sizes = [None; SETS];
                for one in list {
                    let to = u8::try_from(one.to).unwrap();
                    let doubt = one.to < one.from && !one.all_seen;
                    sizes[index(&one.set)] = Some(SetSize { to, doubt });
                }
                Decision::Scale(sizes)
            }
            Plan::Guard {
                set, finding: Finding::CanaryPassed(_) | Finding::Complete(_), ..
            } => Decision::Pass(index(set)),
            Plan::Guard { set, finding: Finding::Failed(_, Some(_)), .. } => {
                Decision::Abort(index(set))
            }
            Plan::List => Decision::List,
            other => return Err(format!("not expected: {other}")),
        })
    }

    /// A report counts what is seen, claims no success too early, and requeues what no watch event does.
    fn check_report(&self, snapshot: &Snapshot, plan: &Plan) -> Result<(), String> {
        let outcome = match plan {
            Plan::NoOp(_) => Outcome::Nothing,
            _ => Outcome::Executed,
        };
        let done = report(snapshot, plan, &outcome, now());
        let failed = report(snapshot, plan, &Outcome::Failed(unanswered()), now());
        if failed.retry != Some(Retry::Backoff) {
            return Err(format!("a failure of {plan} is not retried"));
        }
        if matches!(plan, Plan::List) && !matches!(done.retry, Some(Retry::Again(_))) {
            return Err("a list that changes nothing is not followed by a reconcile".to_owned());
        }
        let Some(status) = &done.status else { return Ok(()) };
        let members: usize = self.sets.iter().flatten().map(Counts::total).sum();
        if status["replicas"] != json!(members) {
            return Err(format!("{members} Machines are reported as {status}"));
        }
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let complete = conditions
            .filter(|one| one["type"] == CONDITION_PROGRESSING)
            .any(|one| one["reason"] == REASON_NEW_SET_AVAILABLE);
        let new = self.sets[usize::from(self.template)];
        let is_complete = members == 2 && new.is_some_and(|new| new.members[1][0] == 2);
        if complete && !is_complete {
            return Err(format!("reported as complete with {:?}", self.sets));
        }
        Ok(())
    }
}

fn index(set: &Arc<MachineSet>) -> usize {
    NAMES.iter().position(|name| *set.meta.key.name == **name).unwrap()
}
