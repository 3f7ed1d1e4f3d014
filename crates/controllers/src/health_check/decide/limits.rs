//! What limits the remediations of one reconcile: for each unhealthy Machine, what is done or why not.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::NODE_CONDITION_READY;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::machine::MachineAuthority;
use machinist_domain::remediation::MaxInFlight;

use crate::deletion_order::is_marked_by_others;
use crate::health_check::health::{Cause, Health};
use crate::health_check::plan::{Hold, NoBudget, Step};
use crate::health_check::retries::Retries;
use crate::health_check::snapshot::{Deployment, External, Member, View, has_external_annotation};
use crate::kinds::Machine;
use crate::preservation::{Preserved, Request, on_node, until};

/// What limits the remediations of one reconcile.
pub(super) struct Limits<'a> {
    view: &'a View,
    allowed: bool,
    /// A Machine of the control plane that is being replaced.
    control_plane: Option<ObjectKey>,
    /// How many Machines of each MachineDeployment are in replacement.
    in_flight: BTreeMap<&'a ObjectKey, (usize, Option<Timestamp>)>,
    /// How many Machines of the health check are in replacement, and how many may be.
    own: (usize, Option<Timestamp>),
    own_limit: Option<usize>,
    retries: Option<Retries<'a>>,
    /// Machines that are deleted without a record yet, with how many were replaced in their place before.
    unrecorded: Vec<(&'a Member, usize)>,
}

impl<'a> Limits<'a> {
    pub(super) fn new(view: &'a View, found: &[(&Member, Health)], allowed: bool) -> Self {
        let unhealthy = found.iter().filter(|(_, health)| health.is_unhealthy());
        let unhealthy: HashSet<_> = unhealthy.map(|(member, _)| &member.meta.uid).collect();
        // A replacement whose Node is there and was not ready yet is in flight, too.
        let selected = view.members.iter().find(|member| {
            let begins = !unhealthy.contains(&member.meta.uid) && member.is_in_flight(view.now);
            member.is_control_plane() && (begins || member.is_remediated_externally())
        });
        let selected = selected.map(|member| member.meta.key.clone());
        let mut limits = Self {
            view,
            allowed,
            control_plane: selected.or_else(|| view.control_plane_in_flight.clone()),
            in_flight: BTreeMap::new(),
            own: own_in_flight(view, &unhealthy),
            own_limit: match &view.check.max_in_flight {
                Ok(Some(limit)) => Some(limit.of(view.members.len())),
                _ => None,
            },
            retries: Retries::of(&view.check, &view.members, view.now),
            unrecorded: Vec::new(),
        };
        for deployment in view.deployments.values() {
            let Ok(limit) = &deployment.limit else { continue };
            // An unhealthy Machine waits for its own replacement.
            let others = limit.in_flight.iter().filter(|one| !unhealthy.contains(&one.uid));
            let until = others.clone().filter_map(|one| one.until).min();
            let count = others.count() + limit.replicas.saturating_sub(limit.present);
            limits.in_flight.insert(&deployment.key, (count, until));
        }
        for (member, _) in found {
            if member.is_remediated_externally()
                && let Some(deployment) = limits.deployment(member)
                && let Some((count, _)) = limits.in_flight.get_mut(&deployment.key)
            {
                *count += 1;
            }
        }
        limits
    }

    fn deployment(&self, member: &Member) -> Option<&'a Deployment> {
        let owner = member.machine.as_deref()?.owner.as_deref()?;
        self.view.deployments.get(&*owner.uid.0).map(|deployment| &**deployment)
    }

    pub(super) fn step(
        &mut self,
        member: &'a Member,
        cause: &Cause,
        since: Option<Timestamp>,
    ) -> Step {
        let Some(machine) = member.machine.as_deref() else { return Step::Wait(None) };
        if let (Some(external), Some(_)) = (&self.view.external, &member.request) {
            return Step::Requested(external.kind.clone());
        }
        let step = match (&self.view.external, &self.view.check.strategy) {
            (Some(_), _) => Step::Request,
            // Any other strategy is refused.
            (None, Some(_)) if *cause != Cause::Failed => Step::Annotate,
            _ => Step::Remediate,
        };
        let before = match self.before(member, since, &step) {
            Ok(before) => before,
            Err(hold) if self.allowed => return Step::Held(hold),
            Err(_) => None,
        };
        if let Some(hold) = self.hold(member, machine, cause, &step) {
            return Step::Held(hold);
        }
        self.own.0 += 1;
        self.unrecorded.extend(before.map(|before| (member, before)));
        step
    }

    /// The annotation with the Machines that are deleted, if it does not have them yet.
    pub(super) fn record(&self) -> Option<String> {
        let retries = self.retries.as_ref().filter(|_| !self.unrecorded.is_empty())?;
        Some(retries.with(&self.unrecorded))
    }

    /// How many Machines were replaced in its place, if that is not recorded yet. The error is that they were too many.
    fn before(
        &self,
        member: &Member,
        since: Option<Timestamp>,
        step: &Step,
    ) -> Result<Option<usize>, Hold> {
        // What another controller remediates is not replaced.
        let Some(retries) = self.retries.as_ref().filter(|_| *step == Step::Remediate) else {
            return Ok(None);
        };
        let before = retries.before(member, since);
        if before >= retries.max {
            let period = Duration::try_from(retries.min_healthy).unwrap_or_default();
            return Err(Hold::RetryLimit { retries: before, period });
        }
        if retries.is_recorded(member, before) {
            Ok(None)
        } else if retries.has_room(self.unrecorded.len()) {
            Ok(Some(before))
        } else {
            Err(Hold::NoRecord)
        }
    }

    fn hold(
        &mut self,
        member: &Member,
        machine: &Machine,
        cause: &Cause,
        step: &Step,
    ) -> Option<Hold> {
        if !self.allowed {
            return Some(Hold::TooManyUnhealthy);
        }
        let elsewhere = [MachineAuthority::ClusterApi, MachineAuthority::Migrating];
        if elsewhere.contains(&machine.status.authority) {
            return Some(Hold::ManagedElsewhere);
        }
        // As OpenShift: what another controller remediates needs no replacement.
        if machine.owner.is_none() && *step == Step::Remediate {
            return Some(Hold::NoController);
        }
        if has_external_annotation(machine) && *cause != Cause::Failed {
            return Some(Hold::External);
        }
        if let Some(by) = &member.frozen {
            return Some(Hold::Frozen(Arc::clone(by)));
        }
        if let Some(hold) =
            self.view.external.as_ref().and_then(|one| no_request(one, member, self.view.now))
        {
            return Some(hold);
        }
        if let Some(hold) = preserved(member, machine, cause, self.view.now) {
            return Some(hold);
        }
        let control_plane = member.is_control_plane();
        if control_plane && !self.view.check.control_plane {
            return Some(Hold::ControlPlaneOptOut);
        }
        if control_plane && let Some(other) = &self.control_plane {
            return Some(Hold::ControlPlaneInFlight(other.clone()));
        }
        if let Some(limit) = self.own_limit.filter(|limit| self.own.0 >= *limit) {
            let (in_flight, until) = self.own;
            return Some(Hold::InFlight { in_flight, limit, until });
        }
        if let Some(deployment) = self.deployment(member)
            && let Err(hold) = self.spend(deployment)
        {
            return Some(hold);
        }
        if control_plane {
            self.control_plane = Some(member.meta.key.clone());
        }
        None
    }

    /// Takes one replacement from the budget of the MachineDeployment.
    fn spend(&mut self, deployment: &'a Deployment) -> Result<(), Hold> {
        let none = |why| Hold::NoBudget(deployment.key.clone(), why);
        let limit =
            deployment.limit.as_ref().map_err(|why| none(NoBudget::Unknown(why.clone())))?;
        let max = MaxInFlight::read(limit.max_in_flight.as_ref());
        let max = max.map_err(|value| none(NoBudget::Invalid(value)))?.of(limit.replicas);
        let (in_flight, until) = self.in_flight.entry(&deployment.key).or_default();
        if *in_flight >= max {
            return Err(Hold::Budget {
                deployment: deployment.key.clone(),
                in_flight: *in_flight,
                limit: max,
                until: *until,
            });
        }
        *in_flight += 1;
        Ok(())
    }
}

/// Members that are missing, being created, deleted or remediated, and when one of them no longer counts.
fn own_in_flight(view: &View, unhealthy: &HashSet<&Uid>) -> (usize, Option<Timestamp>) {
    let (mut count, mut until) = (view.missing, None::<Timestamp>);
    for member in &view.members {
        // One that is unhealthy waits for its own replacement.
        let flight = member.flight(view.now).filter(|_| !unhealthy.contains(&member.meta.uid));
        if flight.is_some() || member.is_remediated_externally() {
            count += 1;
        }
        let end = flight.and_then(|flight| flight.until);
        until = [until, end].into_iter().flatten().min();
    }
    (count, until)
}

/// Why no remediation object is created.
fn no_request(external: &External, member: &Member, now: Timestamp) -> Option<Hold> {
    if let Some(why) = external.template.as_ref().err().or(external.requests.as_ref().err()) {
        return Some(Hold::NoTemplate(why.clone()));
    }
    member.request_pause.filter(|until| *until > now).map(Hold::RequestPause)
}

/// Whether it is kept for debugging. A Machine that asks for it `when-failed` and whose Node is
/// gone or not ready is kept already: its controller begins the preservation when the Machine counts as failed.
fn preserved(member: &Member, machine: &Machine, cause: &Cause, now: Timestamp) -> Option<Hold> {
    let on_node = member.node().and_then(on_node);
    if let Some(preserved) = Preserved::of(machine, on_node, now) {
        return Some(Hold::Preserved(preserved.until));
    }
    let begins = match cause {
        Cause::Condition { kind, .. } => kind == NODE_CONDITION_READY,
        Cause::NodeGone(_) => true,
        Cause::Failed | Cause::NoNode(_) => false,
    };
    let requested = Request::of(machine, on_node) == Request::WhenFailed;
    let open = until(machine).is_none() && !is_marked_by_others(machine);
    (begins && requested && open).then_some(Hold::Preserved(None))
}
