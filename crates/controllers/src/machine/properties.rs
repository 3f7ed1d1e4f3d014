//! Nothing is created before its launch is stored, the finalizer stays while an instance exists, no outage fails a
//! Machine, and nothing is reported twice. The model has one object and one cloud; `decide` and `report` are real.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::observed::Observed;
use machinist_domain::retry::Category;
use machinist_provider::cloud::{
    CloudError, Deletion, Effect, ErrorClass, Instance, InstanceState, ObservedInstance,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::error::or_look_first;
use super::plan::{Outcome, Plan};
use super::samples::{failure, instance_of, launch, merge, now, object, snapshot, view_of};
use super::snapshot::{Call, Pause, View};
use super::{decide, report};
use crate::drain;

#[derive(Debug, Clone, Copy)]
enum Step {
    Fine,
    /// The cloud does not answer.
    Blind,
    /// A call is refused, and nothing was done.
    Refused(ErrorClass),
    /// A creation is refused, and this attempt never works.
    Burned,
    Invalid(Effect),
    Closed,
    /// The instance is changed outside of machinist.
    Drift,
    Hook,
    Unhook,
    /// A call is carried out, and its answer is lost.
    Lost,
    /// The process dies after the cloud was called and before anything is written.
    Crash,
    Boot,
    /// The instance is terminated outside of machinist.
    Kill,
    Later,
    Delete,
}

fn step() -> impl Strategy<Value = Step> {
    let class = prop_oneof![
        Just(ErrorClass::CapacityExhausted),
        Just(ErrorClass::Throttled),
        Just(ErrorClass::Unauthorised),
        Just(ErrorClass::NotFound),
    ];
    prop_oneof![
        8 => Just(Step::Fine),
        2 => Just(Step::Blind),
        2 => class.prop_map(Step::Refused),
        2 => Just(Step::Burned),
        1 => prop_oneof![Just(Effect::None), Just(Effect::NoneForThisAttempt), Just(Effect::Unclear)]
            .prop_map(Step::Invalid),
        2 => Just(Step::Closed),
        2 => Just(Step::Drift),
        1 => Just(Step::Hook),
        1 => Just(Step::Unhook),
        2 => Just(Step::Lost),
        2 => Just(Step::Crash),
        2 => Just(Step::Boot),
        1 => Just(Step::Kill),
        2 => Just(Step::Later),
        1 => Just(Step::Delete),
    ]
}

struct World {
    object: Value,
    /// The truth, by attempt.
    cloud: BTreeMap<u32, InstanceState>,
    now: Timestamp,
    refused: Option<u32>,
    known: Option<ObservedInstance>,
    /// Whether the instance was terminated, or the spec refused for good.
    may_fail: bool,
    drifted: bool,
    released: bool,
    crashes: u32,
}

impl World {
    fn new() -> Self {
        Self {
            object: object(&json!({"metadata": {"finalizers": null}})),
            cloud: BTreeMap::new(),
            now: now(),
            refused: None,
            known: None,
            may_fail: false,
            drifted: false,
            released: false,
            crashes: 0,
        }
    }

    fn view(&self, step: Step) -> View {
        let mut view = view_of(&self.object);
        view.refused_attempt = self.refused;
        if matches!(step, Step::Closed) {
            let (wait, why) = (Duration::from_secs(5), failure(Category::CapacityExhausted));
            view.pause = Some(Pause { wait, why });
        }
        if view.needs_cloud() && view.must_look() {
            view.observed = match step {
                Step::Blind => Observed::Unknown(failure(Category::Unavailable)),
                Step::Refused(ErrorClass::Throttled) => {
                    Observed::Unknown(failure(Category::Throttled))
                }
                _ => self.observed(),
            };
        } else if let (true, Some(known)) = (view.needs_cloud(), &self.known) {
            view.observed = known.clone();
        }
        view
    }

    fn observed(&self) -> ObservedInstance {
        let existing = self.cloud.iter().rev().find(|(_, state)| state.exists());
        match existing.or_else(|| self.cloud.last_key_value()) {
            Some((attempt, state)) => Observed::Present(self.instance(*attempt, *state)),
            None => Observed::Absent,
        }
    }

    fn instance(&self, attempt: u32, state: InstanceState) -> Arc<Instance> {
        let drift = self.drifted.then(|| "a tag".to_owned());
        Arc::new(Instance { drift, ..Arc::unwrap_or_clone(instance_of(attempt, state)) })
    }

    fn reports_not_created(&self) -> bool {
        let conditions = self.object["status"]["conditions"].as_array().into_iter().flatten();
        let mut reasons =
            conditions.filter(|one| one["type"] == "InstanceExists").map(|one| &one["reason"]);
        reasons.any(|reason| reason == "InstanceNotCreated" || reason == "InstanceNotRequested")
    }

    fn existing(&self) -> usize {
        self.cloud.values().filter(|state| state.exists()).count()
    }

    fn reconcile(&mut self, step: Step) {
        let view = self.view(step);
        let phase_before = self.object["status"]["phase"].clone();
        let plan = decide(&snapshot(view.clone()), self.now);
        let outcome = self.act(&view, &plan, step);
        if matches!(step, Step::Crash) {
            (self.refused, self.known) = (None, None);
            self.crashes += 1;
            return;
        }
        let status = match outcome {
            Outcome::Prepared(_) => super::report::status(&view, &plan, &outcome, self.now),
            _ => report(&snapshot(view.clone()), &plan, &outcome, self.now).status,
        };
        let Some(status) = status else { return };
        let said_before = self.reports_not_created();
        merge(&mut self.object["status"], &status);
        if self.object["status"]["phase"] == "Failed" && phase_before != "Failed" {
            assert!(self.may_fail, "failed without a reason: {outcome:?}");
            // After a crash it is not known that an answer was lost.
            let unseen =
                matches!(outcome, Outcome::CallFailed(Call::Create, _)) && self.existing() > 0;
            assert!(!unseen || self.crashes > 0, "failed beside an instance: {outcome:?}");
        }
        let news = self.reports_not_created() && !said_before;
        assert!(!news || self.existing() == 0, "said that there is nothing after {outcome:?}");
        let lost = matches!(&outcome, Outcome::CallFailed(Call::Create, error) if error.effect == Effect::Unclear);
        assert!(
            !lost || !self.reports_not_created(),
            "an unknown instance is reported as not created"
        );
        let mut again = self.view(step);
        again.observed = view.observed.clone();
        again.drain = view.drain.clone();
        let later = self.now + Duration::from_millis(1);
        let again = report(&snapshot(again), &plan, &outcome, later);
        assert_eq!(again.status, None, "reported twice after {outcome:?}");
    }

    fn act(&mut self, view: &View, plan: &Plan, step: Step) -> Outcome {
        match plan {
            Plan::NoOp(_)
            | Plan::AwaitCloud
            | Plan::Wait(_)
            | Plan::Refuse(_)
            | Plan::Fail(_)
            | Plan::UpdateStatus(_)
            | Plan::Pause(_)
            | Plan::AwaitHooks => Outcome::Done,
            Plan::NothingToRemove => {
                assert!(self.cloud.is_empty(), "there was something");
                Outcome::Done
            }
            Plan::AddFinalizer => {
                self.object["metadata"]["finalizers"] = json!(["machine.machine.openshift.io"]);
                Outcome::Done
            }
            Plan::Record(patch) => {
                merge(&mut self.object, patch);
                Outcome::Done
            }
            Plan::Prepare { attempt } => {
                assert_eq!(self.existing(), 0, "another attempt beside an instance");
                let class = match step {
                    Step::Refused(class) => class,
                    Step::Invalid(_) => {
                        self.may_fail = true;
                        ErrorClass::InvalidConfiguration
                    }
                    _ => return Outcome::Prepared(launch(*attempt)),
                };
                Outcome::CallFailed(
                    Call::Create,
                    CloudError { effect: Effect::None, ..CloudError::new(class, "no") },
                )
            }
            Plan::Create { attempt } => match self.create(*attempt, step) {
                Outcome::CallFailed(Call::Create, error) => {
                    let error = or_look_first(error, view);
                    if error.effect == Effect::NoneForThisAttempt {
                        self.refused = Some(*attempt);
                    }
                    Outcome::CallFailed(Call::Create, error)
                }
                outcome => outcome,
            },
            Plan::Terminate => match step {
                Step::Refused(class) => {
                    Outcome::CallFailed(Call::Delete, CloudError::new(class, "no"))
                }
                Step::Lost => {
                    self.terminate();
                    Outcome::CallFailed(
                        Call::Delete,
                        CloudError::new(ErrorClass::Unavailable, "lost"),
                    )
                }
                Step::Blind => Outcome::Terminating(Deletion::UnderWay("slow".to_owned())),
                _ => {
                    self.terminate();
                    Outcome::Terminating(Deletion::Gone)
                }
            },
            Plan::Drain(_) => {
                assert!(view.drain.is_some());
                Outcome::Drained(drain::Outcome::default())
            }
            Plan::Release => {
                assert_eq!(self.existing(), 0, "let go although something is left");
                self.released = true;
                self.object["metadata"]["finalizers"] = json!(null);
                Outcome::Done
            }
            Plan::Repair(_) => self.repair(step),
            Plan::SetAuthority(_)
            | Plan::RemoveNode(_)
            | Plan::InPlace(_)
            | Plan::Preserve(_)
            | Plan::EndPreservation
            | Plan::MarkNode { .. }
            | Plan::DrainPreserved { .. } => {
                panic!("nothing in this world leads to {plan}")
            }
        }
    }

    fn repair(&mut self, step: Step) -> Outcome {
        let class = match step {
            Step::Refused(class) => class,
            Step::Invalid(_) => ErrorClass::InvalidConfiguration,
            Step::Lost => ErrorClass::Unavailable,
            _ => {
                self.drifted = false;
                self.known = None;
                let Observed::Present(instance) = self.observed() else {
                    panic!("an instance that was never there is repaired")
                };
                return Outcome::Repaired(instance);
            }
        };
        Outcome::CallFailed(Call::Update, CloudError::new(class, "no"))
    }

    fn create(&mut self, attempt: u32, step: Step) -> Outcome {
        assert!(!self.object["metadata"]["finalizers"].is_null(), "created without a finalizer");
        let stored = &self.object["status"]["providerStatus"]["launch"]["attempt"];
        assert_eq!(*stored, json!(attempt), "created before it was stored");
        self.known = None;
        let error = |class, effect| {
            Outcome::CallFailed(Call::Create, CloudError { effect, ..CloudError::new(class, "no") })
        };
        match step {
            Step::Refused(class) => error(class, Effect::None),
            Step::Invalid(Effect::Unclear) => {
                self.cloud.entry(attempt).or_insert(InstanceState::Pending);
                error(ErrorClass::InvalidConfiguration, Effect::Unclear)
            }
            Step::Invalid(Effect::None) => {
                self.may_fail = true;
                error(ErrorClass::InvalidConfiguration, Effect::None)
            }
            Step::Invalid(effect) if !self.cloud.contains_key(&attempt) => {
                self.may_fail = true;
                error(ErrorClass::InvalidConfiguration, effect)
            }
            // A repeated request returns the instance of the first one.
            Step::Burned if !self.cloud.contains_key(&attempt) => {
                error(ErrorClass::CapacityExhausted, Effect::NoneForThisAttempt)
            }
            _ => {
                let state = *self.cloud.entry(attempt).or_insert(InstanceState::Pending);
                assert!(self.existing() <= 1, "two instances for one machine");
                if matches!(step, Step::Lost) {
                    return error(ErrorClass::Unavailable, Effect::Unclear);
                }
                let instance = self.instance(attempt, state);
                self.known = Some(Observed::Present(instance.clone()));
                Outcome::Created(instance)
            }
        }
    }

    fn terminate(&mut self) {
        self.cloud.values_mut().for_each(|state| *state = InstanceState::Terminated);
    }

    fn happen(&mut self, step: Step) {
        match step {
            Step::Boot => {
                let pending =
                    self.cloud.values_mut().filter(|state| **state == InstanceState::Pending);
                pending.for_each(|state| *state = InstanceState::Running);
            }
            Step::Kill if !self.cloud.is_empty() => {
                self.terminate();
                self.may_fail = true;
            }
            Step::Drift => self.drifted = self.existing() > 0,
            Step::Hook => {
                let hooks = json!({"preTerminate": [{"name": "h", "owner": "o"}]});
                self.object["spec"]["lifecycleHooks"] = hooks;
            }
            Step::Unhook => self.object["spec"]["lifecycleHooks"] = json!({}),
            Step::Later => self.now += Duration::from_secs(700),
            Step::Delete => {
                self.object["metadata"]["deletionTimestamp"] = json!(self.now.to_string());
                // Without finalizers the API server deletes it at once.
                self.released |= self.object["metadata"]["finalizers"].is_null();
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn never_leaks_an_instance_or_fails_without_reason(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in steps {
            world.happen(step);
            if !world.released {
                world.reconcile(step);
            }
        }
        world.happen(Step::Unhook);
        // Without further faults the Machine runs, has failed for a reason, or is deleted.
        for _ in 0..20 {
            world.happen(Step::Boot);
            world.now += Duration::from_secs(30);
            if !world.released {
                world.reconcile(Step::Fine);
            }
        }
        let deleting = !world.object["metadata"]["deletionTimestamp"].is_null();
        let phase = &world.object["status"]["phase"];
        if deleting {
            prop_assert!(world.released, "it is stuck: {}", world.object);
        } else if *phase == "Failed" {
            prop_assert!(world.may_fail);
        } else {
            prop_assert_eq!(phase, "Provisioned");
            prop_assert_eq!(world.existing(), 1);
            prop_assert!(!world.drifted, "it was not repaired");
        }
    }
}
