use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{
    ANNOTATION_EXTERNAL_REMEDIATION, CONDITION_INSTANCE_EXISTS, LABEL_MACHINE_ROLE,
    ROLE_CONTROL_PLANE, ROLE_MASTER,
};
use machinist_api::wire::IntOrText;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::machine::Phase;
use machinist_domain::meta::Meta;
use machinist_domain::retry::Failure;
use machinist_domain::safety::Initiator;
use serde_json::Value;

use crate::kinds::{Machine, MachineHealthCheck, Node, RemediationRequest};

#[derive(Debug, Clone)]
pub struct Snapshot {
    pub meta: Meta,
    /// The error says why it cannot be decoded.
    pub content: Result<View, String>,
}

#[derive(Debug, Clone)]
pub struct View {
    /// When it was observed.
    pub now: Timestamp,
    pub check: Arc<MachineHealthCheck>,
    /// The selected Machines, in the order of their names.
    pub members: Vec<Member>,
    /// By the uid of the MachineSet; only those of MachineDeployments.
    pub deployments: BTreeMap<String, Arc<Deployment>>,
    /// How many Machines the MachineSets of the members lack. 0 unless the health check limits those in flight.
    pub missing: usize,
    /// A Machine of the control plane that is not selected, and is being deleted or has no Node yet.
    pub control_plane_in_flight: Option<ObjectKey>,
    /// `None` without `spec.remediationTemplate`.
    pub external: Option<External>,
    /// Other health checks that select some of the Machines, and how many.
    pub overlaps: BTreeMap<Arc<str>, usize>,
}

/// A selected Machine.
#[derive(Debug, Clone)]
pub struct Member {
    pub meta: Meta,
    /// `None` if it cannot be decoded.
    pub machine: Option<Arc<Machine>>,
    pub node: NodeView,
    /// Times of it and its Node that are in the future or missing, and since when the controller has known them.
    pub first_seen: Vec<(Option<Timestamp>, Timestamp)>,
    /// What stops its deletion, as a freeze of it, its owners or the health check.
    pub frozen: Option<Arc<str>>,
    /// The remediation object with its name.
    pub request: Option<Arc<RemediationRequest>>,
    /// No other one is created before that time.
    pub request_pause: Option<Timestamp>,
}

/// What another controller remediates by.
#[derive(Debug, Clone)]
pub struct External {
    /// The kind of the remediation objects.
    pub kind: String,
    pub template: Result<Template, Unavailable>,
    /// Whether the remediation objects that exist are known.
    pub requests: Result<(), Unavailable>,
}

#[derive(Debug, Clone)]
pub struct Template {
    pub name: String,
    /// Kind and group, as OpenShift writes them.
    pub group_kind: String,
    /// The kind of what is created from it.
    pub request_kind: &'static str,
    /// `spec.template`, an object.
    pub body: Arc<Value>,
}

/// Why a template cannot be used, or remediation objects not be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unavailable {
    NotServed {
        api_version: String,
        kind: String,
    },
    /// The kind of the remediation objects is not known to be served, so the template was not read.
    NotListed(String),
    NotFound(ObjectKey),
    /// It has no `spec.template`.
    Empty(ObjectKey),
    Undecodable(ObjectKey, String),
    /// It could not be read. That is not absence.
    Unreadable(Failure),
}

#[derive(Debug, Clone)]
pub enum NodeView {
    /// `status.nodeRef` is not set.
    None,
    /// There is no Node with the name in `status.nodeRef`.
    Gone,
    /// It cannot be decoded.
    Undecodable,
    Known(Arc<Node>),
}

/// The MachineDeployment of a Machine, as far as it limits remediation.
#[derive(Debug, Clone)]
pub struct Deployment {
    pub key: ObjectKey,
    pub limit: Result<Limit, NoLimit>,
}

#[derive(Debug, Clone)]
pub struct Limit {
    pub replicas: usize,
    /// `spec.remediation.maxInFlight`.
    pub max_in_flight: Option<IntOrText>,
    /// Its Machines that are not being deleted.
    pub present: usize,
    /// Its Machines that are being deleted, or whose Node is not ready for the first time yet.
    pub in_flight: Vec<InFlight>,
}

#[derive(Debug, Clone)]
pub struct InFlight {
    pub uid: Uid,
    /// When it no longer counts, although nothing changes.
    pub until: Option<Timestamp>,
}

/// Why the limit of a MachineDeployment is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoLimit {
    /// It is not in the cache: the watch is behind, or it was deleted.
    Missing,
    /// Its kind is not served.
    NotServed,
    Undecodable,
    /// The kind cannot be listed.
    Unreadable(String),
}

impl Member {
    pub fn node(&self) -> Option<&Node> {
        match &self.node {
            NodeView::Known(node) => Some(node),
            _ => None,
        }
    }

    /// A time of this Machine or its Node. The clock that set it may be ahead of ours, and then the state counts from
    /// the moment at which it was first seen, or it would not count for a long time.
    pub fn since(&self, time: Option<Timestamp>, now: Timestamp) -> Timestamp {
        match time {
            Some(time) if time <= now => time,
            _ => {
                let known = self.first_seen.iter().find(|(of, _)| *of == time);
                known.map_or(now, |(_, seen)| (*seen).min(now))
            }
        }
    }

    /// Who wants it to go: a Machine with a termination notice ends anyway.
    pub fn initiator(&self) -> Initiator {
        let notice = self.node().is_some_and(Node::is_terminating);
        if notice { Initiator::Cloud } else { Initiator::Controller }
    }

    /// Whether it is being created or deleted.
    pub fn is_in_flight(&self, now: Timestamp) -> bool {
        self.flight(now).is_some()
    }

    /// Its creation or deletion, if that is under way.
    pub fn flight(&self, now: Timestamp) -> Option<InFlight> {
        match self.machine.as_deref().filter(|_| !self.meta.deleting) {
            Some(machine) => in_flight(machine, self.node(), now),
            None => {
                self.meta.deleting.then(|| InFlight { uid: self.meta.uid.clone(), until: None })
            }
        }
    }

    /// Whether another controller remediates it already.
    pub fn is_remediated_externally(&self) -> bool {
        self.request.is_some() || self.machine.as_deref().is_some_and(has_external_annotation)
    }

    /// Its remediation object, if this health check created it, or OpenShift's controller from its template.
    pub fn own_request(&self, check: &MachineHealthCheck) -> Option<&RemediationRequest> {
        let request = self.request.as_deref()?;
        let template = check.template.as_ref().map(|one| one.name.as_str());
        let ours = match (&request.health_check, &request.cloned_from) {
            (Some(name), _) => *name == check.meta.key.name,
            (None, Some(from)) => Some(&**from) == template,
            (None, None) => false,
        };
        (ours && request.owners.contains(&self.meta.uid)).then_some(request)
    }

    pub fn is_control_plane(&self) -> bool {
        self.machine.as_deref().is_some_and(|machine| is_control_plane(machine, self.node()))
    }
}

/// Whether Metal3 remediates it.
pub(super) fn has_external_annotation(machine: &Machine) -> bool {
    machine.annotations.contains(ANNOTATION_EXTERNAL_REMEDIATION)
}

/// The creation of its instance, or of the Machine.
pub(super) fn started(machine: &Machine) -> Timestamp {
    let exists = machine.condition(CONDITION_INSTANCE_EXISTS).filter(|one| one.is_true());
    exists.and_then(|one| one.last_transition).unwrap_or(machine.created)
}

pub(super) fn is_control_plane(machine: &Machine, node: Option<&Node>) -> bool {
    let role = machine.labels.get(LABEL_MACHINE_ROLE);
    role.is_some_and(|role| [ROLE_MASTER, ROLE_CONTROL_PLANE].contains(&role))
        || node.is_some_and(Node::is_control_plane)
}

/// For how long after its start a Machine whose Node is not ready counts as new.
const JOINING: SignedDuration = SignedDuration::from_mins(10);

/// Whether it is being created or deleted.
pub(super) fn in_flight(
    machine: &Machine,
    node: Option<&Node>,
    now: Timestamp,
) -> Option<InFlight> {
    let status = &machine.status;
    let one = |until| Some(InFlight { uid: machine.meta.uid.clone(), until });
    if machine.meta.deleting {
        return one(None);
    }
    if status.phase == Some(Phase::Failed) {
        return None;
    }
    if status.node_ref.is_none() {
        return one(None);
    }
    let until = started(machine).checked_add(JOINING).ok()?;
    let unready = node.filter(|node| !node.is_ready() && now < until)?;
    // One that has been ready before is not new.
    unready.readiness.since.is_none_or(|since| since < until).then_some(())?;
    one(Some(until))
}
