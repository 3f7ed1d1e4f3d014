//! The steps of the world.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_runtime::cache::kind::Kind as _;
use machinist_testbed::explore::objects::{Id, Objects};
use machinist_testbed::explore::{Fate, Model, Steps};
use serde_json::{Value, json};

use super::super::decide::decide;
use super::super::plan::{Outcome, Plan};
use super::super::report::report;
use super::super::samples::NoSpecs;
use super::super::snapshot::{Owner, Snapshot};
use crate::kinds::{Machines, Nodes};
use crate::test_process::unanswered;

pub(super) type Decide = fn(&Snapshot) -> Plan;

pub(super) struct World {
    /// What seeded bugs replace.
    pub(super) decide: Decide,
    pub(super) names_version: bool,
    objects: Objects,
    plans: RefCell<HashMap<(Id, Id), Patches>>,
    start: (u8, u8),
}

/// The patches of Machine and Node.
type Patches = (Option<Id>, Option<Id>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Copies {
    /// In the API server and in the cache.
    real: Id,
    cached: Id,
    is_uncertain: bool,
    /// A patch that the client has given up.
    late: Option<Id>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    machine: Copies,
    node: Copies,
    /// What a user has put on the Node.
    has_taint: bool,
    has_label: bool,
    users: u8,
    faults: u8,
}

#[derive(Debug, Clone, Copy)]
#[expect(dead_code, reason = "a counterexample prints it")]
pub(super) enum Action {
    /// The fates of the writes of Machine and Node.
    Reconcile(Fate, Fate),
    SeesMachine,
    SeesNode,
    NewLeader,
    LateMachine,
    LateNode,
    MinutePasses,
    /// The Machine wants the label on its Node, or does not.
    Wants(bool),
    Taints,
    Labels,
    Unlabels,
    RegistersAgain,
}

impl Copies {
    fn new(id: Id) -> Self {
        Self { real: id, cached: id, is_uncertain: false, late: None }
    }

    fn read(&mut self) {
        (self.cached, self.is_uncertain) = (self.real, false);
    }

    /// A new version; a late patch that names the version meets a conflict.
    fn store(&mut self, id: Id, names_version: bool) {
        self.late = self.late.filter(|_| !names_version);
        self.real = id;
    }
}

fn node(uid: &str) -> Value {
    json!({
        "metadata": {"name": "n", "uid": uid, "resourceVersion": "1"},
        "spec": {"providerID": "p:///1"},
    })
}

impl World {
    pub(super) fn new(users: u8, faults: u8) -> Self {
        Self {
            decide: |snapshot| decide(snapshot, Timestamp::UNIX_EPOCH),
            names_version: true,
            objects: Objects::default(),
            plans: RefCell::default(),
            start: (users, faults),
        }
    }

    fn decide(&self, machine: Id, node: Id) -> Result<Patches, String> {
        if let Some(known) = self.plans.borrow().get(&(machine, node)) {
            return Ok(*known);
        }
        let read = |id| self.objects.get(id).to_string();
        let kind = Machines::new(Arc::new(NoSpecs));
        let owner = kind.project(serde_json::from_str(&read(machine)).unwrap());
        let snapshot = Snapshot {
            node: Arc::new(Nodes.project(serde_json::from_str(&read(node)).unwrap())),
            owner: Owner::Machine(Arc::new(owner)),
        };
        let plan = (self.decide)(&snapshot);
        if report(&plan, &Outcome::Failed(unanswered())).retry.is_none() {
            return Err(format!("there is no next reconcile after a failure to {plan}"));
        }
        let patches = match plan {
            Plan::NoOp(_) => (None, None),
            Plan::Link(link) => {
                let status = link.machine.map(|status| json!({ "status": status }));
                (
                    status.map(|patch| self.objects.id(patch)),
                    link.node.map(|id| self.objects.id(id)),
                )
            }
            Plan::Refuse(_) => return Err(format!("unexpected plan: {plan}")),
        };
        self.plans.borrow_mut().insert((machine, node), patches);
        Ok(patches)
    }

    fn reconcile(&self, state: &State, steps: &mut Steps<Self>) {
        let mut to = *state;
        for copies in [&mut to.machine, &mut to.node] {
            if copies.is_uncertain {
                copies.read();
            }
        }
        let (machine, node) = match self.decide(to.machine.cached, to.node.cached) {
            Ok(patches) => patches,
            Err(broken) => {
                return steps.ordinary(Action::Reconcile(Fate::Fine, Fate::Fine), Err(broken));
            }
        };
        let fates =
            |patch: Option<Id>| if patch.is_some() { &Fate::ALL[..] } else { &[Fate::Fine] };
        for of_machine in fates(machine) {
            for of_node in fates(node) {
                let cost = of_machine.cost() + of_node.cost();
                let Some(faults) = to.faults.checked_sub(cost) else { continue };
                let mut to = State { faults, ..to };
                if let Some(patch) = machine {
                    self.write(&mut to.machine, patch, *of_machine, false);
                }
                if let Some(patch) = node {
                    self.write(&mut to.node, patch, *of_node, self.names_version);
                }
                let action = Action::Reconcile(*of_machine, *of_node);
                if (*of_machine, *of_node) == (Fate::Fine, Fate::Fine) {
                    steps.ordinary(action, self.checked(to));
                } else {
                    steps.disturbance(action, self.checked(to));
                }
            }
        }
    }

    fn write(&self, copies: &mut Copies, patch: Id, fate: Fate, names_version: bool) {
        let conflict = names_version && copies.cached != copies.real;
        match fate {
            Fate::Refused => {}
            _ if conflict => copies.is_uncertain = true,
            Fate::Late => (copies.late, copies.is_uncertain) = (Some(patch), true),
            Fate::Fine | Fate::AnswerLost => {
                copies.store(self.objects.merge(copies.real, patch), names_version);
                if fate == Fate::Fine {
                    copies.read();
                } else {
                    copies.is_uncertain = true;
                }
            }
        }
    }

    fn checked(&self, state: State) -> Result<State, String> {
        let node = self.objects.get(state.node.real);
        if state.has_taint && !node["spec"]["taints"].to_string().contains("user") {
            return Err("the taint of a user is lost".to_owned());
        }
        if state.has_label && node["metadata"]["labels"]["k"].is_null() {
            return Err("the label of a user is lost".to_owned());
        }
        Ok(state)
    }

    fn runtime(&self, state: &State, steps: &mut Steps<Self>) {
        for (action, is_node) in [(Action::SeesMachine, false), (Action::SeesNode, true)] {
            let mut to = *state;
            let copies = if is_node { &mut to.node } else { &mut to.machine };
            if copies.cached != copies.real {
                copies.cached = copies.real;
                steps.ordinary(action, Ok(to));
            }
        }
        if state.machine.late.is_some() || state.node.late.is_some() {
            let mut to = *state;
            (to.machine.late, to.node.late) = (None, None);
            steps.ordinary(Action::MinutePasses, Ok(to));
        }
        for (action, is_node) in [(Action::LateMachine, false), (Action::LateNode, true)] {
            let mut to = *state;
            let copies = if is_node { &mut to.node } else { &mut to.machine };
            if let Some(patch) = copies.late.take() {
                copies.real = self.objects.merge(copies.real, patch);
                steps.disturbance(action, self.checked(to));
            }
        }
        if let Some(faults) = state.faults.checked_sub(1) {
            let mut to = State { faults, ..*state };
            to.machine.read();
            to.node.read();
            steps.disturbance(Action::NewLeader, Ok(to));
        }
    }

    fn users(&self, state: &State, steps: &mut Steps<Self>) {
        let Some(users) = state.users.checked_sub(1) else { return };
        let (machine, node) =
            (self.objects.get(state.machine.real), self.objects.get(state.node.real));
        let change = |copies: &mut Copies, patch: Value, names_version| {
            let id = self.objects.merge(copies.real, self.objects.id(patch));
            copies.store(id, names_version);
        };
        let wants = machine["spec"]["metadata"]["labels"]["k"].is_null();
        let mut to = State { users, ..*state };
        let value = if wants { json!("v") } else { Value::Null };
        change(&mut to.machine, json!({"spec": {"metadata": {"labels": {"k": value}}}}), false);
        steps.disturbance(Action::Wants(wants), Ok(to));

        let label = &node["metadata"]["labels"]["k"];
        let mut to = State { users, has_label: false, ..*state };
        let action = if label.is_null() {
            // What machinist has recorded as its own stays its own.
            let record = &node["metadata"]["annotations"]["machinist.dev/node-metadata"];
            to.has_label = record.as_str().is_none_or(|record| !record.contains("\"k\""));
            change(&mut to.node, json!({"metadata": {"labels": {"k": "v"}}}), true);
            Action::Labels
        } else {
            change(&mut to.node, json!({"metadata": {"labels": {"k": null}}}), true);
            Action::Unlabels
        };
        steps.disturbance(action, self.checked(to));

        if !state.has_taint {
            let mut to = State { users, has_taint: true, ..*state };
            let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
            taints.push(json!({"key": "user", "effect": "NoSchedule"}));
            change(&mut to.node, json!({"spec": {"taints": taints}}), true);
            steps.disturbance(Action::Taints, self.checked(to));
        }
        if node["metadata"]["uid"] == "n1" {
            let mut to = State { users, has_taint: false, has_label: false, ..*state };
            to.node.store(self.objects.id(super::model::node("n2")), true);
            steps.disturbance(Action::RegistersAgain, Ok(to));
        }
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn start(&self) -> State {
        let machine = self.objects.id(json!({
            "metadata": {"namespace": "ns", "name": "m", "uid": "m", "resourceVersion": "1"},
            "spec": {
                "providerID": "p:///1",
                "metadata": {"labels": {"k": "v"}},
                "taints": [{"key": "machine", "effect": "NoSchedule"}],
            },
            "status": {},
        }));
        let (users, faults) = self.start;
        State {
            machine: Copies::new(machine),
            node: Copies::new(self.objects.id(node("n1"))),
            has_taint: false,
            has_label: false,
            users,
            faults,
        }
    }

    fn next(&self, state: &State, steps: &mut Steps<Self>) {
        self.reconcile(state, steps);
        self.runtime(state, steps);
        self.users(state, steps);
    }

    fn is_desired(&self, state: &State) -> bool {
        let (machine, node) =
            (self.objects.get(state.machine.real), self.objects.get(state.node.real));
        let wanted = &machine["spec"]["metadata"]["labels"]["k"];
        let has = &node["metadata"]["labels"]["k"];
        let is_known = |copies: &Copies| {
            copies.cached == copies.real && !copies.is_uncertain && copies.late.is_none()
        };
        is_known(&state.machine)
            && is_known(&state.node)
            && machine["status"]["nodeRef"]["uid"] == node["metadata"]["uid"]
            && node["metadata"]["annotations"]["machine.openshift.io/machine"] == "ns/m"
            && node["spec"]["taints"].to_string().contains("machine")
            && (has == wanted || wanted.is_null() && state.has_label)
    }
}
