//! Whatever a cloud does, and whenever the process forgets: nothing is created that was not stored, nothing is let go of while something is
//! left, no outage makes a machine fail, and nothing is said twice.
//!
//! The world is a model: one object as JSON, one cloud that knows the truth. `decide` and `report` are the real ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_domain::retry::Category;
use machinist_provider::cloud::{
    CloudError, Deletion, Effect, ErrorClass, Instance, InstanceState, Sighting,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::error::or_look_first;
use super::plan::{Outcome, Plan};
use super::samples::{failure, instance_of, launch, merge, now, object, snapshot, view_of};
use super::snapshot::{Gate, View};
use super::{decide, report};
use crate::drain;

/// What happens between two passes, or during one.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// All is well.
    Fine,
    /// The cloud cannot be asked.
    Blind,
    /// A call is refused, and nothing was done.
    Refused(ErrorClass),
    /// A creation is refused, and this attempt never works.
    Burned,
    /// The cloud says that the spec can never work, or only this attempt of it.
    Invalid(Effect),
    /// Machines like this one pause: the cloud is not to be asked for anything.
    Closed,
    /// Somebody changes the instance, so that it is not what the spec says.
    Drift,
    /// Somebody wants to be asked before the instance goes.
    Hook,
    /// And does not any more.
    Unhook,
    /// A call is carried out, and its answer is lost.
    Lost,
    /// The process dies after the cloud was called and before anything is written.
    Crash,
    /// Instances run.
    Boot,
    /// Somebody removes the instance behind our back.
    Kill,
    /// Time passes.
    Later,
    /// The user deletes the machine.
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
    /// The truth: instances by attempt.
    cloud: BTreeMap<u32, InstanceState>,
    now: Timestamp,
    refused: Option<u32>,
    /// What the last call of our own was told.
    known: Option<Sighting>,
    /// Whether somebody has removed the instance, or the cloud has said that the spec can never work.
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
            view.gate = Gate::Closed { wait, why };
        }
        if view.needs_cloud() && view.must_look() {
            view.sighting = match step {
                Step::Blind => Sighting::Unknown(failure(Category::Unavailable)),
                Step::Refused(ErrorClass::Throttled) => {
                    Sighting::Unknown(failure(Category::Throttled))
                }
                _ => self.sighting(),
            };
        } else if let (true, Some(known)) = (view.needs_cloud(), &self.known) {
            view.sighting = known.clone();
        }
        view
    }

    fn sighting(&self) -> Sighting {
        let existing = self.cloud.iter().rev().find(|(_, state)| state.exists());
        match existing.or_else(|| self.cloud.last_key_value()) {
            Some((attempt, state)) => Sighting::Present(self.instance(*attempt, *state)),
            None => Sighting::Absent,
        }
    }

    fn instance(&self, attempt: u32, state: InstanceState) -> Arc<Instance> {
        let drift = self.drifted.then(|| "a tag".to_owned());
        Arc::new(Instance { drift, ..Arc::unwrap_or_clone(instance_of(attempt, state)) })
    }

    /// What the object says about its instance.
    fn says_not_created(&self) -> bool {
        let conditions = self.object["status"]["conditions"].as_array().into_iter().flatten();
        let mut reasons =
            conditions.filter(|one| one["type"] == "InstanceExists").map(|one| &one["reason"]);
        reasons.any(|reason| reason == "InstanceNotCreated")
    }

    fn existing(&self) -> usize {
        self.cloud.values().filter(|state| state.exists()).count()
    }

    fn pass(&mut self, step: Step) {
        let view = self.view(step);
        let phase_before = self.object["status"]["phase"].clone();
        let plan = decide(&snapshot(view.clone()), self.now);
        let outcome = self.act(&view, &plan, step);
        if matches!(step, Step::Crash) {
            (self.refused, self.known) = (None, None);
            self.crashes += 1;
            return;
        }
        let told = report(&snapshot(view.clone()), &outcome, self.now);
        let Some(status) = told.status else { return };
        let said_before = self.says_not_created();
        merge(&mut self.object["status"], &status);
        if self.object["status"]["phase"] == "Failed" && phase_before != "Failed" {
            assert!(self.may_fail, "failed without a reason: {outcome:?}");
            // Whoever dies before an answer is written down cannot know that one was lost.
            let unseen = matches!(outcome, Outcome::NotCreated(_)) && self.existing() > 0;
            assert!(!unseen || self.crashes > 0, "failed beside an instance: {outcome:?}");
        }
        let news = self.says_not_created() && !said_before;
        assert!(!news || self.existing() == 0, "said that there is nothing after {outcome:?}");
        let lost =
            matches!(&outcome, Outcome::NotCreated(error) if error.effect == Effect::Unclear);
        assert!(!lost || !self.says_not_created(), "said to know what nobody knows");
        let mut again = self.view(step);
        again.sighting = view.sighting.clone();
        again.drain = view.drain.clone();
        let again = report(&snapshot(again), &outcome, self.now + Duration::from_millis(1));
        assert_eq!(again.status, None, "told twice after {outcome:?}");
    }

    fn act(&mut self, view: &View, plan: &Plan, step: Step) -> Outcome {
        match plan {
            Plan::Leave(why) => Outcome::Left(why.clone()),
            Plan::Look => Outcome::Looking,
            Plan::Wait(time) => Outcome::Waiting(*time),
            Plan::Refuse(refusal) => Outcome::Refused(refusal.clone()),
            Plan::Fail(fatal) => Outcome::GivenUp(fatal.clone()),
            Plan::Tell(instance) => Outcome::Seen(instance.clone()),
            Plan::NothingToRemove => {
                assert!(self.cloud.is_empty(), "there was something");
                Outcome::NothingLeft
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
                // Whatever a cloud says: preparing has no effect.
                let class = match step {
                    Step::Refused(class) => class,
                    Step::Invalid(_) => {
                        self.may_fail = true;
                        ErrorClass::InvalidConfiguration
                    }
                    _ => return Outcome::Prepared(launch(*attempt)),
                };
                Outcome::NotCreated(CloudError {
                    effect: Effect::None,
                    ..CloudError::new(class, "no")
                })
            }
            Plan::Create { attempt } => match self.create(*attempt, step) {
                Outcome::NotCreated(error) => {
                    let error = or_look_first(error, view);
                    if error.effect == Effect::NoneForThisAttempt {
                        self.refused = Some(*attempt);
                    }
                    Outcome::NotCreated(error)
                }
                outcome => outcome,
            },
            Plan::Terminate => match step {
                Step::Refused(class) => Outcome::NotTerminated(CloudError::new(class, "no")),
                Step::Lost => {
                    self.terminate();
                    Outcome::NotTerminated(CloudError::new(ErrorClass::Unavailable, "lost"))
                }
                Step::Blind => Outcome::Terminating(Deletion::UnderWay("slow".to_owned())),
                _ => {
                    self.terminate();
                    Outcome::Terminating(Deletion::Gone)
                }
            },
            Plan::Drain(verdict) => {
                assert!(view.drain.is_some());
                Outcome::Drained(verdict.clone(), drain::Outcome::default())
            }
            Plan::Release => {
                assert_eq!(self.existing(), 0, "let go although something is left");
                self.released = true;
                self.object["metadata"]["finalizers"] = json!(null);
                Outcome::Done
            }
            Plan::Pause { wait, why } => Outcome::Paused { wait: *wait, why: why.clone() },
            Plan::AwaitHooks => Outcome::AwaitingHooks,
            Plan::Repair(_) => self.repair(step),
            Plan::SettleAuthority | Plan::RemoveNode(_) => {
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
                let Sighting::Present(instance) = self.sighting() else {
                    panic!("an instance that was never there is repaired")
                };
                return Outcome::Repaired(instance);
            }
        };
        Outcome::NotRepaired(CloudError::new(class, "no"))
    }

    fn create(&mut self, attempt: u32, step: Step) -> Outcome {
        assert!(!self.object["metadata"]["finalizers"].is_null(), "created without a finalizer");
        let stored = &self.object["status"]["providerStatus"]["launch"]["attempt"];
        assert_eq!(*stored, json!(attempt), "created before it was stored");
        self.known = None;
        let error = |class, effect| {
            Outcome::NotCreated(CloudError { effect, ..CloudError::new(class, "no") })
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
            // The same request again: a cloud that made an instance for it says so instead.
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
                self.known = Some(Sighting::Present(instance.clone()));
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
                // Nobody holds it: the API server lets it go at once.
                self.released |= self.object["metadata"]["finalizers"].is_null();
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_is_leaked_lost_or_given_up_whatever_happens(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in steps {
            world.happen(step);
            if !world.released {
                world.pass(step);
            }
        }
        world.happen(Step::Unhook);
        // When everything is well again, the machine comes up, has failed for a reason, or goes.
        for _ in 0..20 {
            world.happen(Step::Boot);
            world.now += Duration::from_secs(30);
            if !world.released {
                world.pass(Step::Fine);
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
