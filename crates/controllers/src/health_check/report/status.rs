//! The status of a health check: a merge patch with what changes.

use jiff::Timestamp;
use machinist_api::names::{
    CONDITION_MACHINES_HEALTHY, CONDITION_REMEDIATION_ALLOWED, ERROR_INVALID_CONFIGURATION,
    REASON_PAUSED, REASON_TOO_MANY_UNHEALTHY, REASON_UNHEALTHY_MACHINES, SEVERITY_ERROR,
    SEVERITY_INFO, SEVERITY_WARNING,
};
use machinist_domain::conditions::{self, Condition};
use serde_json::{Map, Value, json};

use crate::health_check::decide::text_of;
use crate::health_check::messages;
use crate::health_check::plan::Assessment;
use crate::kinds::MachineHealthCheck;

pub(super) struct Status;

impl Status {
    pub(super) fn assessed(
        check: &MachineHealthCheck,
        assessment: &Assessment,
        now: Timestamp,
    ) -> Option<Value> {
        let allowed = if assessment.is_allowed() {
            Condition::yes(CONDITION_REMEDIATION_ALLOWED)
        } else {
            let text = messages::too_many(assessment, &Self::max_unhealthy(check));
            Condition::no(
                CONDITION_REMEDIATION_ALLOWED,
                SEVERITY_WARNING,
                REASON_TOO_MANY_UNHEALTHY,
                text,
            )
        };
        let findings: Vec<_> = assessment.findings.iter().filter_map(messages::finding).collect();
        let healthy = if findings.is_empty() {
            Condition::yes(CONDITION_MACHINES_HEALTHY)
        } else {
            let text = messages::findings(&findings);
            Condition::no(
                CONDITION_MACHINES_HEALTHY,
                SEVERITY_INFO,
                REASON_UNHEALTHY_MACHINES,
                text,
            )
        };
        let counts = [
            ("expectedMachines", check.status.expected, assessment.expected),
            ("currentHealthy", check.status.healthy, assessment.healthy),
            ("remediationsAllowed", check.status.allowed, assessment.remediations_allowed()),
        ];
        patch(check, &counts, vec![allowed, healthy], now)
    }

    pub(super) fn refused(
        check: &MachineHealthCheck,
        expected: usize,
        text: &str,
        now: Timestamp,
    ) -> Option<Value> {
        let refused = Condition::no(
            CONDITION_REMEDIATION_ALLOWED,
            SEVERITY_ERROR,
            ERROR_INVALID_CONFIGURATION,
            text.to_owned(),
        );
        let healthy =
            Condition::unknown(CONDITION_MACHINES_HEALTHY, ERROR_INVALID_CONFIGURATION, text);
        let counts = [
            ("expectedMachines", check.status.expected, expected),
            ("remediationsAllowed", check.status.allowed, 0),
        ];
        patch(check, &counts, vec![refused, healthy], now)
    }

    pub(super) fn paused(check: &MachineHealthCheck, now: Timestamp) -> Option<Value> {
        let text = messages::PAUSED;
        let healthy = Condition::unknown(CONDITION_MACHINES_HEALTHY, REASON_PAUSED, text);
        patch(check, &[], vec![healthy], now)
    }

    /// `spec.maxUnhealthy` as it is written.
    pub(super) fn max_unhealthy(check: &MachineHealthCheck) -> String {
        check.max_unhealthy.as_ref().map_or_else(|| "100%".to_owned(), text_of)
    }
}

fn patch(
    check: &MachineHealthCheck,
    counts: &[(&str, Option<i64>, usize)],
    wanted: Vec<Condition>,
    now: Timestamp,
) -> Option<Value> {
    let mut patch = Map::new();
    for (field, stored, count) in counts {
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        if *stored != Some(count) {
            patch.insert((*field).to_owned(), json!(count));
        }
    }
    if let Some(list) = conditions::set(&check.status.conditions, wanted, now) {
        patch.insert("conditions".to_owned(), conditions::to_json(&list));
    }
    (!patch.is_empty()).then(|| patch.into())
}
