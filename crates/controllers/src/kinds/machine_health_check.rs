//! MachineHealthChecks as the caches store them. There are few. What is invalid stays as text, so that the controller
//! can report it.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{
    ANNOTATION_FREEZE, ANNOTATION_MAX_IN_FLIGHT, ANNOTATION_MAX_RETRIES,
    ANNOTATION_MIN_HEALTHY_PERIOD, ANNOTATION_PAUSED, ANNOTATION_REMEDIATE_CONTROL_PLANE,
    ANNOTATION_REMEDIATION_STRATEGY, ANNOTATION_REMEDIATIONS,
};
use machinist_api::resource::{MACHINE_HEALTH_CHECKS, Resource};
use machinist_api::wire;
use machinist_api::wire::IntOrText;
use machinist_domain::conditions::{self, Condition};
use machinist_domain::meta::Meta;
use machinist_domain::remediation::MaxInFlight;
use machinist_runtime::cache::kind::Kind;

use super::interner::name;
use crate::machine_set::selector::{Selector, SelectorError};

/// Without `spec.nodeStartupTimeout`, which the CRD fills in.
const STARTUP: Duration = Duration::from_mins(10);
/// Without the annotation.
const MIN_HEALTHY: Duration = Duration::from_hours(1);

#[derive(Debug, Clone)]
pub struct MachineHealthCheck {
    pub meta: Meta,
    pub created: Timestamp,
    pub paused: bool,
    /// The annotation `machinist.dev/freeze`.
    pub freeze: Option<Arc<str>>,
    /// The annotation that leaves the remediation to another controller.
    pub strategy: Option<Arc<str>>,
    /// How many of its Machines may be in replacement at a time. The error is the value.
    pub max_in_flight: Result<Option<MaxInFlight>, String>,
    /// How many Machines are replaced in the same place. The error is the value.
    pub max_retries: Result<Option<usize>, String>,
    /// A Machine that was healthy for that long does not count. The error is the value.
    pub min_healthy: Result<Duration, String>,
    /// The Machines that were deleted, as stored.
    pub remediations: Option<Arc<str>>,
    /// Whether Machines of the control plane are remediated.
    pub control_plane: bool,
    /// `None` selects every Machine of the namespace.
    pub selector: Result<Option<Selector>, SelectorError>,
    pub max_unhealthy: Option<IntOrText>,
    /// `Ok(None)` if it is 0, which disables it.
    pub node_startup_timeout: Result<Option<Duration>, String>,
    pub unhealthy_conditions: Box<[UnhealthyCondition]>,
    pub template: Option<wire::RemediationTemplate>,
    pub status: HealthCheckStatus,
}

#[derive(Debug, Clone)]
pub struct UnhealthyCondition {
    pub kind: Arc<str>,
    pub status: Arc<str>,
    /// The error is the text.
    pub timeout: Result<Duration, String>,
}

#[derive(Debug, Clone, Default)]
pub struct HealthCheckStatus {
    pub expected: Option<i64>,
    pub healthy: Option<i64>,
    pub allowed: Option<i64>,
    pub conditions: Box<[Condition]>,
}

#[derive(Debug, Clone, Copy)]
pub struct MachineHealthChecks;

impl Kind for MachineHealthChecks {
    type Wire = wire::MachineHealthCheck;
    type Stored = MachineHealthCheck;
    const RESOURCE: Resource = MACHINE_HEALTH_CHECKS;

    fn project(&self, wire: wire::MachineHealthCheck) -> MachineHealthCheck {
        let wire::MachineHealthCheck { metadata, spec, status } = wire;
        let annotations = &metadata.annotations;
        let condition = |one: wire::UnhealthyCondition| UnhealthyCondition {
            kind: name(one.kind),
            status: name(one.status),
            timeout: duration(&one.timeout),
        };
        let startup = spec.node_startup_timeout.as_deref().map_or(Ok(STARTUP), duration);
        MachineHealthCheck {
            meta: Meta::of(&metadata),
            created: metadata.creation_timestamp.unwrap_or(Timestamp::UNIX_EPOCH),
            paused: annotations.contains_key(ANNOTATION_PAUSED),
            freeze: annotations.get(ANNOTATION_FREEZE).map(name),
            strategy: annotations.get(ANNOTATION_REMEDIATION_STRATEGY).map(name),
            max_in_flight: annotations
                .get(ANNOTATION_MAX_IN_FLIGHT)
                .map(|text| limit(text))
                .transpose(),
            max_retries: annotations
                .get(ANNOTATION_MAX_RETRIES)
                .map(|text| text.parse().map_err(|_| text.clone()))
                .transpose(),
            min_healthy: annotations
                .get(ANNOTATION_MIN_HEALTHY_PERIOD)
                .map_or(Ok(MIN_HEALTHY), |text| duration(text)),
            remediations: annotations.get(ANNOTATION_REMEDIATIONS).map(|text| Arc::from(&**text)),
            control_plane: annotations
                .get(ANNOTATION_REMEDIATE_CONTROL_PLANE)
                .is_none_or(|one| one != "false"),
            selector: match Selector::read(&spec.selector) {
                Ok(selector) => Ok(Some(selector)),
                Err(SelectorError::Empty) => Ok(None),
                Err(error) => Err(error),
            },
            max_unhealthy: spec.max_unhealthy,
            node_startup_timeout: startup.map(|time| Some(time).filter(|time| !time.is_zero())),
            unhealthy_conditions: spec.unhealthy_conditions.into_iter().map(condition).collect(),
            template: spec.remediation_template,
            status: HealthCheckStatus {
                expected: status.expected_machines,
                healthy: status.current_healthy,
                allowed: status.remediations_allowed,
                conditions: conditions::read(&status.conditions).into(),
            },
        }
    }
}

impl MachineHealthCheck {
    /// Whether a Machine of its namespace with these labels is selected. An invalid selector selects none.
    pub(crate) fn selects<'a>(&self, get: impl Fn(&str) -> Option<&'a str>) -> bool {
        match &self.selector {
            Ok(None) => true,
            Ok(Some(selector)) => selector.matches_by(get),
            Err(_) => false,
        }
    }
}

/// A number or a percentage.
fn limit(text: &str) -> Result<MaxInFlight, String> {
    let value = text.parse().map_or_else(|_| IntOrText::Text(text.to_owned()), IntOrText::Int);
    MaxInFlight::read(Some(&value))
}

/// A Go duration. Without a unit only zero is valid; an empty one is zero, as in Go.
fn duration(text: &str) -> Result<Duration, String> {
    if matches!(text, "" | "0") {
        return Ok(Duration::ZERO);
    }
    let read = text.parse::<SignedDuration>().ok().and_then(|time| time.try_into().ok());
    read.ok_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(spec: &Value) -> MachineHealthCheck {
        let object = json!({"metadata": {"name": "c", "namespace": "ns"}, "spec": spec});
        MachineHealthChecks.project(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn durations_have_the_go_syntax_and_zero_disables_the_startup_timeout() {
        let minutes = |count| Ok(Some(Duration::from_mins(count)));
        for (text, expected) in [
            (Value::Null, minutes(10)),
            (json!("0"), Ok(None)),
            (json!("0s"), Ok(None)),
            (json!("2h45m"), minutes(165)),
            (json!("1.5h"), minutes(90)),
            (json!("300ms"), Ok(Some(Duration::from_millis(300)))),
            (json!("-1s"), Err("-1s".to_owned())),
            (json!("soon"), Err("soon".to_owned())),
            (json!("10"), Err("10".to_owned())),
        ] {
            let check = read(&json!({ "nodeStartupTimeout": text }));
            assert_eq!(check.node_startup_timeout, expected, "{text}");
        }
    }

    #[test]
    fn limits_are_annotations_and_what_is_invalid_stays_as_text() {
        let of = |annotations: Value| {
            let object = json!({"metadata": {"name": "c", "annotations": annotations}, "spec": {}});
            MachineHealthChecks.project(serde_json::from_value(object).unwrap())
        };
        let plain = of(json!({}));
        assert_eq!((plain.max_in_flight, plain.max_retries), (Ok(None), Ok(None)));
        assert_eq!(plain.min_healthy, Ok(Duration::from_hours(1)));
        let valid =
            of(json!({"machinist.dev/max-in-flight": "20%", "machinist.dev/max-retries": "4",
            "machinist.dev/min-healthy-period": "30m"}));
        assert_eq!(valid.max_in_flight, Ok(Some(MaxInFlight::Percent(20))));
        assert_eq!(
            (valid.max_retries, valid.min_healthy),
            (Ok(Some(4)), Ok(Duration::from_mins(30)))
        );
        let invalid =
            of(json!({"machinist.dev/max-in-flight": "-1", "machinist.dev/max-retries": "x"}));
        assert_eq!(invalid.max_in_flight, Err("-1".to_owned()));
        assert_eq!(invalid.max_retries, Err("x".to_owned()));
    }

    #[test]
    fn an_empty_selector_selects_everything_and_an_invalid_one_nothing() {
        let selects = |selector| read(&json!({ "selector": selector })).selects(|_| Some("v"));
        assert!(selects(Value::Null) && selects(json!({})));
        assert!(selects(json!({"matchLabels": {"a": "v"}})));
        assert!(!selects(json!({"matchLabels": {"a": "w"}})));
        assert!(!selects(json!({"matchLabels": {"-a": "v"}})));
    }
}
