//! The status of a health check: a merge patch with what changes.

use std::borrow::Cow;

use jiff::Timestamp;
use machinist_api::names::{
    CONDITION_MACHINES_HEALTHY, CONDITION_REMEDIATION_ALLOWED, CONDITION_REQUEST_AVAILABLE,
    CONDITION_TEMPLATE_AVAILABLE, ERROR_INVALID_CONFIGURATION, REASON_PAUSED,
    REASON_REQUEST_CREATION_FAILED, REASON_TEMPLATE_NOT_FOUND, REASON_TOO_MANY_UNHEALTHY,
    REASON_UNHEALTHY_MACHINES, SEVERITY_ERROR, SEVERITY_INFO, SEVERITY_WARNING,
};
use machinist_domain::conditions::{self, Condition};
use machinist_domain::meta::Meta;
use serde_json::{Map, Value, json};

use crate::health_check::decide::text_of;
use crate::health_check::messages;
use crate::health_check::plan::{Assessment, Fate, Step};
use crate::health_check::snapshot::{Unavailable, View};
use crate::kinds::MachineHealthCheck;

pub(super) struct Status;

impl Status {
    pub(super) fn assessed(
        view: &View,
        assessment: &Assessment,
        fates: &[(Meta, Fate)],
        now: Timestamp,
    ) -> Option<Value> {
        let check = &*view.check;
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
        let external = external(view, assessment, fates);
        let wanted = [allowed, healthy].into_iter().chain(external).collect();
        patch(check, &counts, wanted, now)
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

/// Whether external remediation works. Nothing without a template.
fn external(view: &View, assessment: &Assessment, fates: &[(Meta, Fate)]) -> Vec<Condition> {
    let Some(external) = &view.external else { return Vec::new() };
    let not_found = REASON_TEMPLATE_NOT_FOUND;
    let template = match &external.template {
        Ok(_) => Condition::yes(CONDITION_TEMPLATE_AVAILABLE),
        Err(why) => unavailable(CONDITION_TEMPLATE_AVAILABLE, not_found, why),
    };
    let failed = fates.iter().find_map(|(meta, fate)| match fate {
        Fate::Failed(failure) => {
            let finding = assessment.findings.iter().find(|one| one.meta.uid == meta.uid)?;
            (finding.step == Step::Request).then_some((&meta.key.name, failure))
        }
        _ => None,
    });
    let creation_failed = REASON_REQUEST_CREATION_FAILED;
    let request = match (&external.requests, failed) {
        (Err(why), _) => unavailable(CONDITION_REQUEST_AVAILABLE, creation_failed, why),
        (Ok(()), Some((machine, failure))) => {
            let text = messages::not_created(&external.kind, machine, failure);
            Condition::no(CONDITION_REQUEST_AVAILABLE, SEVERITY_ERROR, creation_failed, text)
        }
        (Ok(()), None) => Condition::yes(CONDITION_REQUEST_AVAILABLE),
    };
    vec![template, request]
}

fn unavailable(kind: &'static str, reason: &'static str, why: &Unavailable) -> Condition {
    let text = messages::unavailable(why);
    match why {
        Unavailable::Unreadable(failure) => {
            Condition::unknown(kind, failure.category.as_str(), text)
        }
        Unavailable::NotListed(_) => Condition::unknown(kind, reason, text),
        _ => Condition::no(kind, SEVERITY_ERROR, reason, text),
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
    let mut stored = Cow::Borrowed(&*check.status.conditions);
    if check.template.is_none() {
        for kind in [CONDITION_TEMPLATE_AVAILABLE, CONDITION_REQUEST_AVAILABLE] {
            if let Some(list) = conditions::without(&stored, kind) {
                stored = Cow::Owned(list);
            }
        }
    }
    let list = conditions::set(&stored, wanted, now);
    let removed = matches!(stored, Cow::Owned(_)).then(|| stored.to_vec());
    if let Some(list) = list.or(removed) {
        patch.insert("conditions".to_owned(), conditions::to_json(&list));
    }
    (!patch.is_empty()).then(|| patch.into())
}
