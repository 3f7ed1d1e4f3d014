mod limits;

use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_MAX_IN_FLIGHT, ANNOTATION_MAX_RETRIES, ANNOTATION_MIN_HEALTHY_PERIOD,
    STRATEGY_EXTERNAL_BAREMETAL,
};
use machinist_api::wire::{IntOrText, RemediationTemplate};

use self::limits::Limits;
use super::error::Refusal;
use super::health::{self, Health};
use super::messages::{A_DURATION, A_NUMBER, A_NUMBER_OR_PERCENTAGE};
use super::plan::{Assessment, Ended, Finding, Plan, Reason, Step};
use super::request::TEMPLATE;
use super::snapshot::{Member, Snapshot, View};
use crate::kinds::MachineHealthCheck;

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
    memory(check)?;
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

/// Whether the annotations with limits are valid.
fn memory(check: &MachineHealthCheck) -> Result<(), Refusal> {
    let refuse = |name, value: &String, valid| Refusal::Annotation(name, value.clone(), valid);
    if let Err(value) = &check.max_in_flight {
        return Err(refuse(ANNOTATION_MAX_IN_FLIGHT, value, A_NUMBER_OR_PERCENTAGE));
    }
    if let Err(value) = &check.max_retries {
        return Err(refuse(ANNOTATION_MAX_RETRIES, value, A_NUMBER));
    }
    match &check.min_healthy {
        Ok(_) => Ok(()),
        Err(value) => Err(refuse(ANNOTATION_MIN_HEALTHY_PERIOD, value, A_DURATION)),
    }
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
        Assessment { expected, healthy, max_unhealthy, ended, ..Assessment::default() };
    let mut limits = Limits::new(view, &found, assessment.is_allowed());
    for (member, health) in found {
        let step = match &health {
            Health::Unhealthy(cause, since) => limits.step(member, cause, *since),
            Health::Suspect(_, end) => Step::Wait(Some(*end)),
            Health::Booting(end) => Step::Wait(*end),
            Health::Healthy | Health::Deleting | Health::Unknown | Health::External => {
                Step::Wait(None)
            }
        };
        assessment.findings.push(Finding { meta: member.meta.clone(), health, step });
    }
    assessment.record = limits.record();
    Plan::Assess(assessment)
}

fn ended_of(view: &View, member: &Member) -> Option<Ended> {
    let kind = view.external.as_ref()?.kind.clone();
    let request = member.own_request(&view.check).filter(|request| !request.meta.deleting)?;
    Some(Ended { machine: member.meta.clone(), kind, request: request.meta.clone() })
}

#[cfg(test)]
mod tests;
