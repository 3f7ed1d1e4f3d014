use std::time::Duration;

use jiff::SignedDuration;
use machinist_domain::retry::{Category, Failure};
use machinist_domain::texts;

use super::error::Refusal;
use super::health::{Cause, Health};
use super::plan::{Assessment, Finding, Hold, NoBudget, Step};
use super::retries::MOST;
use super::snapshot::{NoLimit, Unavailable};

/// How many Machines a condition names.
const NAMED: usize = 10;

pub(super) const A_NUMBER: &str = "a number from 0";
pub(super) const A_NUMBER_OR_PERCENTAGE: &str = "a number from 0 or a percentage such as 25%";
pub(super) const A_DURATION: &str = "a duration such as 30m or 1h30m";
pub(super) const PAUSED: &str =
    "Nothing is evaluated or remediated: remove the annotation cluster.x-k8s.io/paused to continue";

texts! {
    pub(super) fn undecodable(error: &str) = "The object cannot be decoded: {error}";
    pub(super) fn no_budget(deployment: &str, why: &str) =
        "the replacement budget of MachineDeployment {deployment} {why}";
    pub(super) fn overlap(others: &str) =
        "Machines of this health check are selected by others too: {others}; each is remediated once, by the first \
         health check that finds it unhealthy";
    pub(super) fn not_recorded(failure: &Failure) =
        "Cannot record remediations in annotation machinist.dev/remediations: {}; nothing is remediated without",
        failure.message;
    pub(super) fn no_discovery(api_version: &str, error: &str) =
        "cannot read which kinds {api_version} serves: {error}";
    pub(super) fn requested(kind: &str, machine: &str, cause: &str) =
        "Created {kind} {machine}, by which another controller remediates unhealthy Machine {machine} ({cause})";
    pub(super) fn request_failed(kind: &str, machine: &str, cause: &str, failure: &Failure) =
        "Cannot create {kind} {machine} for unhealthy Machine {machine} ({cause}): {}", failure.message;
    pub(super) fn not_created(kind: &str, machine: &str, failure: &Failure) =
        "Cannot create {kind} {machine}: {}", failure.message;
    pub(super) fn recovered(kind: &str, machine: &str) =
        "Deleted {kind} {machine}: Machine {machine} is healthy again";
    pub(super) fn end_failed(kind: &str, machine: &str, failure: &Failure) =
        "Cannot delete {kind} {machine} although Machine {machine} is healthy again: {}", failure.message;
    pub(super) fn annotated(machine: &str, cause: &str) =
        "Set annotation host.metal3.io/external-remediation on unhealthy Machine {machine} ({cause}); Metal3 \
         remediates it";
    pub(super) fn annotation_failed(machine: &str, cause: &str, failure: &Failure) =
        "Cannot set annotation host.metal3.io/external-remediation on unhealthy Machine {machine} ({cause}): {}",
        failure.message;
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
        Step::Request => "a remediation object is created now".to_owned(),
        Step::Annotate => "left to Metal3 now".to_owned(),
        Step::Requested(kind) => {
            format!("another controller remediates it by {kind} {}", finding.meta.key.name)
        }
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
        Hold::Frozen(cause) => format!("frozen{cause}"),
        Hold::NoTemplate(why) => format!("no remediation object can be created: {}", unavailable(why)),
        Hold::RequestPause(until) => format!(
            "its remediation object was created a moment ago and is gone; the next one is created from {until}"
        ),
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
        Hold::InFlight { in_flight, limit, until: _ } => format!(
            "{in_flight} Machines of the health check are missing or being created, deleted or remediated, and \
             machinist.dev/max-in-flight allows {limit}"
        ),
        Hold::NoRecord => format!(
            "the health check counts retries of {MOST} Machines already (machinist.dev/remediations), and no more fit; \
             find the cause of so many replacements, then remove that annotation or machinist.dev/max-retries"
        ),
        Hold::RetryLimit { retries, period } => format!(
            "{retries} Machines were replaced in its place one after the other, none of which was healthy for {}; \
             machinist.dev/max-retries allows no more. Find the cause, then delete the Machine by hand",
            short(*period)
        ),
        Hold::NoBudget(deployment, why) => no_budget(&deployment.name, &no_budget_reason(why)),
    }
}

fn no_budget_reason(why: &NoBudget) -> String {
    match why {
        NoBudget::Unknown(NoLimit::Missing) => {
            "is not known: it does not exist, or is not read yet".to_owned()
        }
        NoBudget::Unknown(NoLimit::NotServed) => {
            "is not known: the kind MachineDeployment is not served".to_owned()
        }
        NoBudget::Unknown(NoLimit::Unreadable(error)) => format!("cannot be read: {error}"),
        NoBudget::Unknown(NoLimit::Undecodable) => {
            "cannot be read: it cannot be decoded".to_owned()
        }
        NoBudget::Invalid(value) => format!(
            "is invalid: spec.remediation.maxInFlight must be a number from 0 or a percentage such as \
             25% (got {value:?})"
        ),
    }
}

pub(super) fn unavailable(why: &Unavailable) -> String {
    let grant = "; grant its use as deploy/examples/role-remediation.yaml does";
    match why {
        Unavailable::NotServed { api_version, kind } => {
            format!(
                "no namespaced kind {kind} of {api_version} is served; install its CustomResourceDefinition"
            )
        }
        Unavailable::NotListed(kind) => {
            format!("remediation objects of kind {kind} are not listed")
        }
        Unavailable::NotFound(key) => format!("remediation template {key} does not exist"),
        Unavailable::Empty(key) => format!("remediation template {key} has no spec.template"),
        Unavailable::Undecodable(key, error) => {
            format!("remediation template {key} cannot be decoded: {error}")
        }
        Unavailable::Unreadable(failure) => {
            let grant = if failure.category == Category::Unauthorised { grant } else { "" };
            format!("{}{grant}", failure.message)
        }
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
        Refusal::Template(reference) => format!(
            "Nothing is remediated: spec.remediationTemplate must have an apiVersion with a group, a kind that ends in \
             Template, and a name (got {reference:?})"
        ),
        Refusal::Annotation(name, value, valid) => {
            format!("Nothing is remediated: annotation {name} must be {valid} (got {value:?})")
        }
        Refusal::Strategy(value) => format!(
            "Nothing is remediated: annotation machine.openshift.io/remediation-strategy must be external-baremetal \
             (got {value:?}); remove it to have Machines deleted"
        ),
    }
}

#[cfg(test)]
mod tests {
    use machinist_api::names::{
        ANNOTATION_MAX_IN_FLIGHT, ANNOTATION_MAX_RETRIES, ANNOTATION_MIN_HEALTHY_PERIOD,
    };
    use machinist_domain::key::ObjectKey;
    use machinist_domain::message_table::message_table;
    use machinist_domain::report::EventReason;
    use machinist_domain::retry::Retry;

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
    #[expect(clippy::too_many_lines, reason = "one table of all messages")]
    fn all_messages() {
        let (key, other) = (ObjectKey::new("ns", "web"), ObjectKey::new("ns", "master-0"));
        let unhealthy = |cause| Health::Unhealthy(cause, Some(at(0)));
        let held = |hold| found(unhealthy(cause_of_node()), Step::Held(hold)).unwrap();
        let suspect = found(Health::Suspect(cause_of_node(), at(5)), Step::Wait(Some(at(5))));
        let assessment =
            Assessment { expected: 7, healthy: 2, max_unhealthy: 4, ..Assessment::default() };
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
            Hold::Frozen(" by the annotation machinist.dev/freeze of Machine ns/web-1".into()),
            Hold::Frozen(", because 6 of 10 Nodes of Machines are not ready (limit 50%)".into()),
            Hold::NoTemplate(Unavailable::NotFound(key.clone())),
            Hold::RequestPause(at(1)),
            Hold::ControlPlaneOptOut,
            Hold::ControlPlaneInFlight(other),
            Hold::Budget { deployment: key.clone(), in_flight: 1, limit: 1, until },
            Hold::InFlight { in_flight: 2, limit: 2, until },
            Hold::NoRecord,
        ];
        rows.extend(holds.map(|hold| event(EventReason::RemediationHeld, held(hold))));
        let budgets = [
            NoBudget::Unknown(NoLimit::Missing),
            NoBudget::Unknown(NoLimit::NotServed),
            NoBudget::Unknown(NoLimit::Unreadable("not allowed to list it".to_owned())),
            NoBudget::Unknown(NoLimit::Undecodable),
            NoBudget::Invalid("many".to_owned()),
        ];
        rows.extend(budgets.map(|why| event(EventReason::RemediationHeld, budget(why))));
        let refusals = [
            Refusal::Selector("spec.selector: is invalid".to_owned()),
            Refusal::MaxUnhealthy("lots".to_owned()),
            Refusal::Duration("spec.nodeStartupTimeout".to_owned(), "soon".to_owned()),
            Refusal::Template("v1 Foo foo".to_owned()),
            Refusal::Strategy("none".to_owned()),
            Refusal::Annotation(ANNOTATION_MAX_RETRIES, "many".to_owned(), A_NUMBER),
            Refusal::Annotation(ANNOTATION_MAX_IN_FLIGHT, "-1".to_owned(), A_NUMBER_OR_PERCENTAGE),
            Refusal::Annotation(ANNOTATION_MIN_HEALTHY_PERIOD, "soon".to_owned(), A_DURATION),
        ];
        rows.extend(refusals.map(|one| event(EventReason::InvalidConfiguration, refusal(&one))));
        let (fix, cause) = ("Fix", cause(&cause_of_node()));
        let step = |step| healthy(found(unhealthy(cause_of_node()), step).unwrap());
        let failed = EventReason::RemediationRequestFailed;
        let period = Duration::from_hours(1);
        let limit = held(Hold::RetryLimit { retries: 4, period });
        rows.push(event(EventReason::RetryLimitReached, limit));
        rows.push(event(EventReason::ReconcileError, not_recorded(&failure)));
        rows.extend([
            step(Step::Request),
            step(Step::Annotate),
            step(Step::Requested(fix.to_owned())),
            event(EventReason::RemediationRequested, requested(fix, "web-1", &cause)),
            event(failed, request_failed(fix, "web-1", &cause, &failure)),
            event(failed, end_failed(fix, "web-1", &failure)),
            event(EventReason::RemediationEnded, recovered(fix, "web-1")),
            event(EventReason::ExternalAnnotationAdded, annotated("web-1", &cause)),
            event(
                EventReason::ExternalAnnotationFailed,
                annotation_failed("web-1", &cause, &failure),
            ),
            (
                "condition ExternalRemediationRequestAvailable=False",
                "ExternalRemediationRequestCreationFailed",
                not_created(fix, "web-1", &failure),
            ),
        ]);
        let (api_version, kind) = ("fix.example.dev/v1".to_owned(), "FixTemplate".to_owned());
        let message = no_discovery(&api_version, &failure.message);
        let unread = Failure { category: Category::Unavailable, message, ..failure.clone() };
        let forbidden = "not allowed to read fixtemplates".to_owned();
        let unavailables = [
            Unavailable::NotServed { api_version, kind },
            Unavailable::NotListed(fix.to_owned()),
            Unavailable::NotFound(key.clone()),
            Unavailable::Empty(key.clone()),
            Unavailable::Undecodable(key.clone(), "spec: invalid type".to_owned()),
            Unavailable::Unreadable(unread),
            Unavailable::Unreadable(Failure { message: forbidden, ..failure.clone() }),
        ];
        rows.extend(
            unavailables.map(|why| event(EventReason::RemediationUnavailable, unavailable(&why))),
        );
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
