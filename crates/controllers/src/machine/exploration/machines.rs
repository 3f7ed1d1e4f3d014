//! What the real `decide` and `report` make of a Machine. Each question is asked once.
//! The time stands still: what is older than a minute is an hour old.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use machinist_domain::observed::Observed;
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::cloud::{CloudError, Deletion, Effect, ErrorClass};
use machinist_testbed::explore::objects::{Id, Objects};
use serde_json::json;

use super::super::error::or_look_first;
use super::super::plan::{Outcome, Plan};
use super::super::report::{report, status};
use super::super::samples::{instance_of, launch, now, snapshot, view_of};
use super::super::snapshot::{Call, Snapshot, View};
use super::cloud::Stage;
use crate::drain;

pub(super) type Decide = fn(&Snapshot) -> Plan;

/// What a query of the cloud has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Look {
    NotAsked,
    /// Nothing was found, and it is too early to be certain.
    TooEarly,
    Absent,
    Present(usize, Stage),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Answer {
    Done,
    Prepared(u32),
    Created(usize, Stage),
    /// The answer to the create call was lost.
    Unclear,
    NoCapacity,
    /// This attempt never works.
    Burned,
    Drained,
    UnderWay,
    Gone,
    NotDeleted,
}

/// What `decide` and `report` depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    pub(super) machine: Id,
    pub(super) look: Look,
    pub(super) refused: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts about a Machine, not states")]
pub(super) struct Facts {
    pub(super) attempt: Option<u32>,
    pub(super) is_recorded: bool,
    pub(super) has_finalizer: bool,
    pub(super) is_deleting: bool,
    pub(super) is_provisioned: bool,
    pub(super) has_failed: bool,
}

/// Whether the cloud is needed, and whether the instance has to be looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queries {
    pub(super) needs_cloud: bool,
    pub(super) must_look: bool,
}

pub(super) struct Machines {
    decide: Decide,
    pub(super) objects: Objects,
    aged: RefCell<HashMap<Id, Id>>,
    facts: RefCell<HashMap<Id, Facts>>,
    queries: RefCell<HashMap<(Id, Option<u32>), Queries>>,
    plans: RefCell<HashMap<Seen, Rc<Plan>>>,
    reports: RefCell<HashMap<(Seen, Answer), Option<Id>>>,
}

impl Machines {
    pub(super) fn new(decide: Decide) -> Self {
        Self {
            decide,
            objects: Objects::default(),
            aged: RefCell::default(),
            facts: RefCell::default(),
            queries: RefCell::default(),
            plans: RefCell::default(),
            reports: RefCell::default(),
        }
    }

    /// The object when a minute has passed.
    pub(super) fn age(&self, object: Id) -> Id {
        if let Some(known) = self.aged.borrow().get(&object) {
            return *known;
        }
        let old = self.objects.get(object).to_string().replace("T12:01:00Z", "T11:01:00Z");
        let id = self.objects.id(serde_json::from_str(&old).unwrap());
        self.aged.borrow_mut().insert(object, id);
        id
    }

    pub(super) fn facts(&self, machine: Id) -> Facts {
        *self.facts.borrow_mut().entry(machine).or_insert_with(|| {
            let object = self.objects.get(machine);
            let view = view_of(&object);
            let phase = &object["status"]["phase"];
            Facts {
                attempt: view.attempt(),
                is_recorded: view.machine.provider_id.is_some(),
                has_finalizer: view.machine.has_finalizer(),
                is_deleting: view.machine.meta.deleting,
                is_provisioned: phase == "Provisioned",
                has_failed: phase == "Failed",
            }
        })
    }

    pub(super) fn queries(&self, machine: Id, refused: Option<u32>) -> Queries {
        *self.queries.borrow_mut().entry((machine, refused)).or_insert_with(|| {
            let view = View { refused_attempt: refused, ..view_of(&self.objects.get(machine)) };
            Queries { needs_cloud: view.needs_cloud(), must_look: view.must_look() }
        })
    }

    fn view(&self, seen: Seen) -> View {
        let mut view = view_of(&self.objects.get(seen.machine));
        view.refused_attempt = seen.refused;
        view.observed = match seen.look {
            Look::NotAsked => Observed::NotAsked,
            Look::Absent => Observed::Absent,
            Look::TooEarly => Observed::Unknown(Failure {
                category: Category::Unavailable,
                retry: Retry::Again(view.rules.timings.consistency),
                message: "too early".to_owned(),
            }),
            Look::Present(attempt, stage) => Observed::Present(instance(attempt, stage)),
        };
        view
    }

    pub(super) fn plan(&self, seen: Seen) -> Rc<Plan> {
        let plan = || Rc::new((self.decide)(&snapshot(self.view(seen))));
        Rc::clone(self.plans.borrow_mut().entry(seen).or_insert_with(plan))
    }

    /// The patch that the report leads to, if any.
    pub(super) fn report(&self, seen: Seen, plan: &Plan, answer: Answer) -> Option<Id> {
        if let Some(known) = self.reports.borrow().get(&(seen, answer)) {
            return *known;
        }
        let view = self.view(seen);
        let outcome = outcome(&view, answer);
        let status = match outcome {
            Outcome::Prepared(_) => status(&view, plan, &outcome, now()),
            _ => report(&snapshot(view), plan, &outcome, now()).status,
        };
        let patch = status.map(|status| self.objects.id(json!({ "status": status })));
        self.reports.borrow_mut().insert((seen, answer), patch);
        patch
    }
}

fn instance(attempt: usize, stage: Stage) -> std::sync::Arc<machinist_provider::cloud::Instance> {
    instance_of(u32::try_from(attempt).unwrap(), stage.state())
}

fn outcome(view: &View, answer: Answer) -> Outcome {
    let create = |class, effect| {
        let error = CloudError { effect, ..CloudError::new(class, "no") };
        Outcome::CallFailed(Call::Create, or_look_first(error, view))
    };
    match answer {
        Answer::Done => Outcome::Done,
        Answer::Prepared(attempt) => Outcome::Prepared(launch(attempt)),
        Answer::Created(attempt, stage) => Outcome::Created(instance(attempt, stage)),
        Answer::Unclear => create(ErrorClass::Unavailable, Effect::Unclear),
        Answer::NoCapacity => create(ErrorClass::CapacityExhausted, Effect::None),
        Answer::Burned => create(ErrorClass::CapacityExhausted, Effect::NoneForThisAttempt),
        Answer::Drained => Outcome::Drained(drain::Outcome::default()),
        Answer::UnderWay => Outcome::Terminating(Deletion::UnderWay("slow".to_owned())),
        Answer::Gone => Outcome::Terminating(Deletion::Gone),
        Answer::NotDeleted => {
            Outcome::CallFailed(Call::Delete, CloudError::new(ErrorClass::Unavailable, "lost"))
        }
    }
}
