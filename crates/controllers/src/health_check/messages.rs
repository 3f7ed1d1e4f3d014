use std::time::Duration;

use jiff::SignedDuration;
use machinist_domain::retry::Failure;
use machinist_domain::texts;

use super::error::Refusal;
use super::health::{Cause, Health};
use super::plan::{Assessment, Finding, Hold, NoBudget, Step};
use super::snapshot::NoLimit;

/// How many Machines a condition names.
const NAMED: usize = 10;

pub(super) const PAUSED: &str =
    "Nothing is evaluated or remediated: remove the annotation cluster.x-k8s.io/paused to continue";

texts! {
    pub(super) fn undecodable(error: &str) = "The object cannot be decoded: {error}";
    pub(super) fn no_budget(deployment: &str, why: &str) =
        "the replacement budget of MachineDeployment {deployment} {why}";
    pub(super) fn overlap(others: &str) =
        "Machines of this health check are selected by others too: {others}; each is remediated once, by the first \
         health check that finds it unhealthy";
    pub(super) fn deletion_failed(machine: &str, cause: &str, failure: &Failure) =
        "Cannot delete unhealthy Machine {machine} ({cause}): {}", failure.message;
}

pub(super) fn deleted(machine: &str, cause: &Cause) -> String {
    format!(
        "Machine {machine} has been remediated by requesting to delete it: {}",
        self::cause(cause)
    )
}

/// OpenShift's text.
pub(super) fn too_many(assessment: &Assessment, max_unhealthy: &str) -> String {
    format!(
        "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: {}, \
         unhealthy: {}, maxUnhealthy: {max_unhealthy})",
        assessment.expected,
        assessment.unhealthy()
    )
}

/// OpenShift's text.
pub(super) fn restricted(assessment: &Assessment, max_unhealthy: &str) -> String {
    format!(
        "Remediation restricted due to exceeded number of unhealthy machines (total: {}, unhealthy: {}, maxUnhealthy: \
         {max_unhealthy})",
        assessment.expected,
        assessment.unhealthy()
    )
}

pub(super) fn cause(cause: &Cause) -> String {
    match cause {
        Cause::Failed => "its phase is Failed".to_owned(),
        Cause::NoNode(timeout) => format!("no Node within nodeStartupTimeout {}", short(*timeout)),
        Cause::NodeGone(node) => format!("its Node {node} does not exist"),
        Cause::Condition { kind, status, timeout } => {
            format!("Node condition {kind}={status} for {}", short(*timeout))
        }
    }
}

fn short(time: Duration) -> String {
    SignedDuration::try_from(time).map_or_else(|_| format!("{time:?}"), |time| format!("{time:#}"))
}

/// What is the case with a Machine that is unhealthy, or becomes it; `None` for all others.
pub(super) fn finding(finding: &Finding) -> Option<String> {
    let (cause, since) = match &finding.health {
        Health::Unhealthy(cause, since) => (self::cause(cause), since.as_ref()),
        Health::Suspect(cause, _) => (self::cause(cause), None),
        Health::Unknown => ("it or its Node cannot be decoded".to_owned(), None),
        Health::Healthy | Health::Deleting | Health::External | Health::Booting(_) => return None,
    };
    let since = since.map(|since| format!(", since {since}")).unwrap_or_default();
    let step = match &finding.step {
        Step::Wait(Some(end)) => format!("remediated at {end} unless it recovers"),
        Step::Wait(None) => "not remediated".to_owned(),
        Step::Remediate => "remediated now".to_owned(),
        Step::Held(hold) => format!("not remediated: {}", self::hold(hold)),
    };
    Some(format!("Machine {} is unhealthy ({cause}{since}); {step}", finding.meta.key.name))
}

/// All of them, up to a number.
pub(super) fn findings(all: &[String]) -> String {
    let named = all.len().min(NAMED);
    let text = all.get(..named).unwrap_or_default().join("; ");
    match all.len() - named {
        0 => text,
        more => format!("{text}; and {more} more"),
    }
}

pub(super) fn hold(hold: &Hold) -> String {
    match hold {
        Hold::TooManyUnhealthy => {
            "more Machines than spec.maxUnhealthy are not healthy".to_owned()
        }
        Hold::NoController => {
            "it has no controller owner that would replace it; delete it by hand".to_owned()
        }
        Hold::ManagedElsewhere => {
            "status.authoritativeAPI is not MachineAPI, so another machine API manages it".to_owned()
        }
        Hold::External => {
            "annotation host.metal3.io/external-remediation: another controller remediates it".to_owned()
        }
        Hold::Preserved(Some(until)) => {
            format!("it is kept for debugging until {until} (annotation machinist.dev/preserve)")
        }
        Hold::Preserved(None) => {
            "it is kept for debugging (annotation machinist.dev/preserve)".to_owned()
        }
        Hold::ControlPlaneOptOut => {
            "it is of the control plane and the health check has machinist.dev/remediate-control-plane=false".to_owned()
        }
        Hold::ControlPlaneInFlight(other) => format!(
            "it is of the control plane, where one Machine at a time is replaced, and {} is being created or deleted",
            other.name
        ),
        Hold::Budget { deployment, in_flight, limit, until: _ } => format!(
            "{in_flight} Machines of MachineDeployment {} are missing or being created or deleted, and \
             spec.remediation.maxInFlight allows {limit}",
            deployment.name
        ),
        Hold::NoBudget(deployment, why) => no_budget(&deployment.name, &no_budget_reason(why)),
    }
}

fn no_budget_reason(why: &NoBudget) -> String {
    match why {
        NoBudget::Unknown(NoLimit::NotRead) => "is not read yet".to_owned(),
        NoBudget::Unknown(NoLimit::Undecodable) => {
            "cannot be read: it cannot be decoded".to_owned()
        }
        NoBudget::Invalid(value) => format!(
            "is invalid: spec.remediation.maxInFlight must be a number from 0 or a percentage such as \
             25% (got {value:?})"
        ),
    }
}

pub(super) fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Selector(error) => format!("Nothing is remediated: {error}"),
        Refusal::MaxUnhealthy(value) => format!(
            "Nothing is remediated: spec.maxUnhealthy must be a number from 0 or a percentage such as \
             40% (got {value:?})"
        ),
        Refusal::Duration(field, value) => format!(
            "Nothing is remediated: {field} must be a duration such as 5m or 1h30m (got {value:?})"
        ),
        Refusal::Template(kind, name) => format!(
            "Nothing is remediated: spec.remediationTemplate ({kind} {name}) is not supported; remove it to have \
             Machines deleted"
        ),
        Refusal::Strategy(value) => format!(
            "Nothing is remediated: annotation machine.openshift.io/remediation-strategy={value} is not supported; \
             remove it to have Machines deleted"
        ),
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::ObjectKey;
    use machinist_domain::message_table::message_table;
    use machinist_domain::report::EventReason;
    use machinist_domain::retry::{Category, Retry};

    use super::super::samples::{at, machine};
    use super::*;

    fn found(health: Health, step: Step) -> Option<String> {
        let meta = machine("web-1", &serde_json::json!({})).meta.clone();
        finding(&Finding { meta, health, step })
    }

    fn cause_of_node() -> Cause {
        let (kind, status) = ("Ready".to_owned(), "Unknown".to_owned());
        Cause::Condition { kind, status, timeout: Duration::from_mins(5) }
    }

    #[test]
    fn all_messages() {
        let (key, other) = (ObjectKey::new("ns", "web"), ObjectKey::new("ns", "master-0"));
        let unhealthy = |cause| Health::Unhealthy(cause, Some(at(0)));
        let held = |hold| found(unhealthy(cause_of_node()), Step::Held(hold)).unwrap();
        let suspect = found(Health::Suspect(cause_of_node(), at(5)), Step::Wait(Some(at(5))));
        let assessment =
            Assessment { expected: 7, healthy: 2, max_unhealthy: 4, findings: Vec::new() };
        let failure = Failure {
            category: Category::Unauthorised,
            retry: Retry::Backoff,
            message: "the API server answered 403 Forbidden".to_owned(),
        };
        let event = |reason: EventReason, text| ("Event", reason.as_str(), text);
        let healthy = |text| ("condition MachinesHealthy=False", "UnhealthyMachines", text);
        let budget = |why| held(Hold::NoBudget(key.clone(), why));
        let long = vec!["Machine …".to_owned(); NAMED + 3];
        let remediating = found(unhealthy(Cause::Failed), Step::Remediate).unwrap();
        let cannot_decode = found(Health::Unknown, Step::Wait(None)).unwrap();
        let deletion = deletion_failed("web-1", &cause(&cause_of_node()), &failure);
        let mut rows = vec![
            event(EventReason::DetectedUnhealthy, suspect.unwrap()),
            healthy(remediating),
            healthy(cannot_decode),
            healthy(findings(&long)),
            event(EventReason::MachineDeleted, deleted("web-1", &cause_of_node())),
            event(
                EventReason::MachineDeleted,
                deleted("web-1", &Cause::NoNode(Duration::from_mins(10))),
            ),
            event(
                EventReason::MachineDeleted,
                deleted("web-1", &Cause::NodeGone("ip-1".to_owned())),
            ),
            event(EventReason::MachineDeletionFailed, deletion),
            event(EventReason::RemediationRestricted, restricted(&assessment, "60%")),
            (
                "condition RemediationAllowed=False",
                "TooManyUnhealthy",
                too_many(&assessment, "60%"),
            ),
            event(EventReason::DetectedUnhealthy, held(Hold::TooManyUnhealthy)),
            event(EventReason::SkippedNoController, held(Hold::NoController)),
            event(EventReason::HealthChecksOverlap, overlap("spot, workers")),
            event(EventReason::ReconcileError, undecodable("spec.maxUnhealthy: invalid type")),
            ("condition MachinesHealthy=Unknown", "Paused", PAUSED.to_owned()),
        ];
        let until = Some(at(60));
        let holds = [
            Hold::ManagedElsewhere,
            Hold::External,
            Hold::Preserved(until),
            Hold::Preserved(None),
            Hold::ControlPlaneOptOut,
            Hold::ControlPlaneInFlight(other),
            Hold::Budget { deployment: key.clone(), in_flight: 1, limit: 1, until },
        ];
        rows.extend(holds.map(|hold| event(EventReason::RemediationHeld, held(hold))));
        let budgets = [
            NoBudget::Unknown(NoLimit::NotRead),
            NoBudget::Unknown(NoLimit::Undecodable),
            NoBudget::Invalid("many".to_owned()),
        ];
        rows.extend(budgets.map(|why| event(EventReason::RemediationHeld, budget(why))));
        let refusals = [
            Refusal::Selector("spec.selector: is invalid".to_owned()),
            Refusal::MaxUnhealthy("lots".to_owned()),
            Refusal::Duration("spec.nodeStartupTimeout".to_owned(), "soon".to_owned()),
            Refusal::Template("FooTemplate".to_owned(), "foo".to_owned()),
            Refusal::Strategy("external-baremetal".to_owned()),
        ];
        rows.extend(refusals.map(|one| event(EventReason::InvalidConfiguration, refusal(&one))));
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
