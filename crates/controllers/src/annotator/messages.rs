use machinist_api::names::ANNOTATION_ANNOTATED;
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::messages::capitalized;
use machinist_domain::retry::Failure;
use machinist_domain::texts;
use machinist_provider::spec::SpecError;

use super::error::Refusal;
use crate::cloud_access::messages::no_secret;

/// The longest part of a failure's message that an Event repeats, in characters.
const MESSAGE_LENGTH: usize = 200;

/// The keys that were written; `None` if only the annotator's own record was.
pub(super) fn annotated(change: &AnnotationChange) -> Option<String> {
    let (mut set, mut removed) = (Vec::new(), Vec::new());
    for (key, value) in change.iter().filter(|(key, _)| *key != ANNOTATION_ANNOTATED) {
        match value {
            Some(value) => set.push(format!("{key}={value}")),
            None => removed.push(key),
        }
    }
    match (set.is_empty(), removed.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("Set {}", set.join(", "))),
        (true, false) => Some(format!("Removed {}", removed.join(", "))),
        (false, false) => Some(format!("Set {}; removed {}", set.join(", "), removed.join(", "))),
    }
}

texts! {
    pub(super) fn architecture_replaced(wrong: &str) =
        "Replaced kubernetes.io/arch={wrong}: the instance type has another architecture";
    pub(super) fn write_failed(failure: &Failure) = "Cannot write annotations: {}", failure.message;
}

pub(super) fn user_value_kept(keys: &[&str]) -> String {
    let keys = keys.join(", ");
    format!(
        "Kept user-set values that differ from the instance type: {keys}; remove them to have them managed"
    )
}

pub(super) fn catalogue_used(failure: &Failure) -> String {
    let category = failure.category.as_str();
    let cause: String = failure.message.chars().take(MESSAGE_LENGTH).collect();
    format!("Used the built-in catalogue because the cloud failed ({category}): {cause}")
}

pub(super) fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::UnknownType { instance_type, provider } => format!(
            "Instance type {instance_type:?} is unknown to provider {provider}, so annotations are unchanged; correct \
             the instance type or the region in the provider spec"
        ),
        Refusal::NoCapacities { provider } => {
            format!(
                "Provider {provider} reports no instance type capacities, so annotations are unchanged; set the \
                 capacity.cluster-autoscaler.kubernetes.io/ annotations by hand"
            )
        }
        Refusal::BadSpec(SpecError::Missing) => {
            "spec.template.spec.providerSpec.value: is required".to_owned()
        }
        Refusal::BadSpec(error) => capitalized(&error.to_string()),
        Refusal::Undecodable(reason) => format!("The object cannot be decoded: {reason}"),
        Refusal::NoSecret(key) => no_secret(key),
        Refusal::NoAccess(failure) | Refusal::CloudFailed(failure) => {
            format!("Cannot read capacities from the cloud: {}", failure.message)
        }
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::ObjectKey;
    use machinist_domain::message_table::message_table;
    use machinist_domain::report::EventReason;
    use machinist_domain::retry::{Category, Retry};

    use super::*;

    fn failure(message: &str) -> Failure {
        Failure {
            category: Category::Throttled,
            retry: Retry::Backoff,
            message: message.to_owned(),
        }
    }

    #[test]
    fn all_messages() {
        let mut change = AnnotationChange::default();
        change.want("machine.openshift.io/vCPU", None, "2");
        change.remove("capacity.cluster-autoscaler.kubernetes.io/maxPods", Some("1"));
        change.want(ANNOTATION_ANNOTATED, None, "v1:b=2");
        let event = |warning: bool, reason: EventReason, text| {
            (if warning { "Event Warning" } else { "Event Normal" }, reason.as_str(), text)
        };
        let cpu = "capacity.cluster-autoscaler.kubernetes.io/cpu";
        let throttled = failure("Rate exceeded");
        let forbidden = failure(
            "the API server answered 403 Forbidden: machinesets.machine.openshift.io \"a\" is forbidden",
        );
        let mut rows = vec![
            event(false, EventReason::Annotated, annotated(&change).unwrap()),
            event(true, EventReason::ArchitectureReplaced, architecture_replaced("amd64")),
            event(false, EventReason::UserValueKept, user_value_kept(&[cpu])),
            event(true, EventReason::CatalogueUsed, catalogue_used(&throttled)),
            event(true, EventReason::ReconcileError, write_failed(&forbidden)),
        ];
        let refusals = [
            Refusal::UnknownType { instance_type: "m99.mega".to_owned(), provider: "aws" },
            Refusal::NoCapacities { provider: "example" },
            Refusal::BadSpec(SpecError::Missing),
            Refusal::BadSpec(SpecError::Invalid {
                reason: "placement.region: is required".to_owned(),
            }),
            Refusal::Undecodable(
                "spec.replicas: invalid type: string \"x\", expected a whole number".to_owned(),
            ),
            Refusal::NoSecret(ObjectKey::new("ns", "aws")),
            Refusal::NoAccess(failure("not allowed to read Secret ns/aws")),
            Refusal::CloudFailed(throttled),
        ];
        rows.extend(refusals.iter().map(|one| event(true, one.event_reason(), refusal(one))));
        insta::assert_snapshot!("messages", message_table(&rows));
    }

    #[test]
    fn a_change_of_the_own_record_alone_has_no_message() {
        let mut change = AnnotationChange::default();
        change.want(ANNOTATION_ANNOTATED, None, "v1:b=2");
        assert_eq!(annotated(&change), None);
    }

    #[test]
    fn a_long_cause_is_cut_between_characters() {
        let text = catalogue_used(&failure(&"é".repeat(1000)));
        assert_eq!(text.matches('é').count(), MESSAGE_LENGTH);
    }
}
