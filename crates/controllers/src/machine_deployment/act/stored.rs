//! The annotations that store how a rollout stands. Pure.

use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_CANARY_PASSED, ANNOTATION_CHANGE_CAUSE, ANNOTATION_FAILED_MACHINES,
    ANNOTATION_REVISION, ANNOTATION_ROLLOUT_ABORTED, ANNOTATION_ROLLOUT_STARTED,
};
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::conditions;

use super::super::plan::Finding;
use crate::kinds::MachineSet;

pub(super) fn numbered(revision: i64) -> AnnotationChange {
    let mut change = AnnotationChange::default();
    change.want(ANNOTATION_REVISION, None, &revision.to_string());
    change
}

/// `started`: when a rollout of the template begins that had one before.
pub(super) fn revision(
    set: &MachineSet,
    revision: i64,
    cause: Option<&str>,
    started: Option<Timestamp>,
) -> AnnotationChange {
    let mut change = numbered(revision);
    if let Some(cause) = cause {
        change.want(ANNOTATION_CHANGE_CAUSE, None, cause);
    }
    if let Some(at) = started {
        change.want(ANNOTATION_ROLLOUT_STARTED, None, &time(at));
        // What failed in the earlier rollout does not count, unless this one stays aborted because of it.
        let stored = &set.state.guard;
        if !stored.aborted {
            change.remove(ANNOTATION_FAILED_MACHINES, stored.failed.as_deref());
        }
    }
    change
}

pub(super) fn found(finding: &Finding) -> AnnotationChange {
    let mut change = AnnotationChange::default();
    match finding {
        Finding::CanaryPassed(at) | Finding::Complete(at) => {
            change.want(ANNOTATION_CANARY_PASSED, None, &time(*at));
        }
        Finding::Failed(failed, aborted) => {
            change.want(ANNOTATION_FAILED_MACHINES, None, &failed.to_text());
            if let Some(at) = aborted {
                change.want(ANNOTATION_ROLLOUT_ABORTED, None, &time(*at));
            }
        }
    }
    change
}

/// In whole seconds, as the times of objects.
fn time(at: Timestamp) -> String {
    format!("v1 {}", conditions::whole_seconds(at))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::samples::{now, set};
    use super::*;

    #[test]
    fn machines_that_failed_in_an_earlier_rollout_of_the_template_do_not_count() {
        let mut annotations = json!({ANNOTATION_FAILED_MACHINES: "v1 b-0=Failed"});
        let change = |annotations, started| {
            let set = set("b", 3, 1, &json!({"metadata": {"annotations": annotations}}));
            revision(&set, 3, None, started)
        };
        let removed = |change: &AnnotationChange| {
            change.iter().any(|one| one == (ANNOTATION_FAILED_MACHINES, None))
        };
        let first = change(annotations.clone(), Some(now()));
        assert!(removed(&first), "{first:?}");
        let started = (ANNOTATION_ROLLOUT_STARTED, Some("v1 2026-06-01T12:00:00Z"));
        assert!(first.iter().any(|one| one == started), "with the same write: {first:?}");
        assert!(!removed(&change(annotations.clone(), None)), "the same rollout");
        annotations[ANNOTATION_ROLLOUT_ABORTED] = json!("v1 2026-06-01T11:00:00Z");
        assert!(!removed(&change(annotations, Some(now()))), "they are why it stays aborted");
    }
}
