use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::names::{NODE_CONDITION_READY, STRATEGY_EXTERNAL_BAREMETAL};
use machinist_api::wire::{IntOrText, RemediationTemplate};
use machinist_domain::key::ObjectKey;
use machinist_domain::machine::MachineAuthority;
use machinist_domain::remediation::MaxInFlight;

use super::error::Refusal;
use super::health::{self, Cause, Health};
use super::plan::{Assessment, Ended, Finding, Hold, NoBudget, Plan, Reason, Step};
use super::request::TEMPLATE;
use super::snapshot::{Deployment, External, Member, Snapshot, View, has_external_annotation};
use crate::deletion_order::is_marked_by_others;
use crate::kinds::{Machine, MachineHealthCheck};
use crate::preservation::{Preserved, Request, on_node, until};

pub(super) fn decide(snapshot: &Snapshot) -> Plan {
    if snapshot.meta.deleting {
        return Plan::NoOp(Reason::Deleting);
    }
    let view = match &snapshot.content {
        Ok(view) => view,
        Err(error) => return Plan::NoOp(Reason::Undecodable(error.clone())),
    };
    if view.check.paused {
        return Plan::NoOp(Reason::Paused);
    }
    match max_unhealthy(&view.check, view.members.len()) {
        Ok(max) => assess(view, max),
        Err(refusal) => Plan::Refuse(refusal),
    }
}

/// `spec.maxUnhealthy` as a number of Machines, if the whole spec is valid.
fn max_unhealthy(check: &MachineHealthCheck, expected: usize) -> Result<usize, Refusal> {
    if let Some(template) = &check.template
        && !is_reference(template)
    {
        let RemediationTemplate { api_version, kind, name, .. } = template;
        return Err(Refusal::Template(format!("{api_version} {kind} {name}")));
    }
    if let Some(strategy) = &check.strategy
        && &**strategy != STRATEGY_EXTERNAL_BAREMETAL
    {
        return Err(Refusal::Strategy(strategy.to_string()));
    }
    if let Err(error) = &check.selector {
        return Err(Refusal::Selector(error.to_string()));
    }
    let duration = |field: &str, text: &String| Refusal::Duration(field.to_owned(), text.clone());
    if let Err(text) = &check.node_startup_timeout {
        return Err(duration("spec.nodeStartupTimeout", text));
    }
    for (at, condition) in check.unhealthy_conditions.iter().enumerate() {
        if let Err(text) = &condition.timeout {
            return Err(duration(&format!("spec.unhealthyConditions[{at}].timeout"), text));
        }
    }
    let Some(value) = &check.max_unhealthy else { return Ok(expected) };
    let count = match value {
        // As OpenShift: fewer than none is none.
        IntOrText::Int(count) => Some(usize::try_from(*count).unwrap_or(0)),
        IntOrText::Text(text) => match text.strip_suffix('%') {
            Some(percent) => {
                percent.parse::<usize>().ok().map(|it| it.saturating_mul(expected) / 100)
            }
            None => text.parse().ok(),
        },
    };
    count.ok_or_else(|| Refusal::MaxUnhealthy(text_of(value)))
}

/// Whether the kind of the remediation objects follows from it.
fn is_reference(template: &RemediationTemplate) -> bool {
    let RemediationTemplate { api_version, kind, name, .. } = template;
    let request = kind.strip_suffix(TEMPLATE).unwrap_or_default();
    api_version.contains('/') && !request.is_empty() && !name.is_empty()
}

pub(super) fn text_of(value: &IntOrText) -> String {
    match value {
        IntOrText::Int(count) => count.to_string(),
        IntOrText::Text(text) => text.clone(),
    }
}

fn assess(view: &View, max_unhealthy: usize) -> Plan {
    let (mut found, mut ended) = (Vec::new(), Vec::new());
    for member in &view.members {
        match health::of(&view.check, member, view.now) {
            Health::Healthy => ended.extend(ended_of(view, member)),
            health => found.push((member, health)),
        }
    }
    let expected = view.members.len();
    let healthy = expected - found.len();
    // The longest unhealthy one is remediated first. Without a time there is nothing to wait for.
    found.sort_by_key(|(member, health)| {
        let since = match health {
            Health::Unhealthy(_, since) => since.unwrap_or(Timestamp::MIN),
            _ => Timestamp::MAX,
        };
        (since, member.meta.key.clone())
    });
    let mut assessment =
        Assessment { expected, healthy, max_unhealthy, findings: Vec::new(), ended };
    let mut limits = Limits::new(view, &found, assessment.is_allowed());
    for (member, health) in found {
        let step = match &health {
            Health::Unhealthy(cause, _) => limits.step(member, cause),
            Health::Suspect(_, end) => Step::Wait(Some(*end)),
            Health::Booting(end) => Step::Wait(*end),
            Health::Healthy | Health::Deleting | Health::Unknown | Health::External => {
                Step::Wait(None)
            }
        };
        assessment.findings.push(Finding { meta: member.meta.clone(), health, step });
    }
    Plan::Assess(assessment)
}

fn ended_of(view: &View, member: &Member) -> Option<Ended> {
    let kind = view.external.as_ref()?.kind.clone();
    let request = member.own_request(&view.check).filter(|request| !request.meta.deleting)?;
    Some(Ended { machine: member.meta.clone(), kind, request: request.meta.clone() })
}

/// What limits the remediations of one reconcile.
struct Limits<'a> {
    view: &'a View,
    allowed: bool,
    /// A Machine of the control plane that is being replaced.
    control_plane: Option<ObjectKey>,
    /// How many Machines of each MachineDeployment are in replacement.
    in_flight: BTreeMap<&'a ObjectKey, (usize, Option<Timestamp>)>,
}

impl<'a> Limits<'a> {
    fn new(view: &'a View, found: &[(&Member, Health)], allowed: bool) -> Self {
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

    fn step(&mut self, member: &Member, cause: &Cause) -> Step {
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
        match self.hold(member, machine, cause, &step) {
            Some(hold) => Step::Held(hold),
            None => step,
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

#[cfg(test)]
mod tests;
