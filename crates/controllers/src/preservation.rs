//! Whether a Machine is kept for debugging (`machinist.dev/preserve`). Pure, and shared by the controllers of Machines,
//! MachineSets and MachineDeployments.
//!
//! The annotation on the Node wins over that on the Machine. `machinist.dev/preserved-until` is written once, when the
//! preservation begins, by the controller of Machines; the others read it, and treat a request that it has not handled
//! yet as a preservation that has begun. Deletion marks of others than machinist win: they name this very Machine.

use jiff::Timestamp;
use machinist_api::names::{ANNOTATION_PRESERVE, ANNOTATION_PRESERVED_UNTIL, PRESERVE_AUTO};
use machinist_domain::machine::Phase;

use crate::deletion_order::is_marked_by_others;
use crate::kinds::{Machine, Node};

/// What `machinist.dev/preserve` requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request<'a> {
    /// Nothing, or `false`.
    None,
    Now,
    WhenFailed,
    /// Neither begins nor ends a preservation.
    Invalid(&'a str),
}

impl<'a> Request<'a> {
    /// `on_node`: the annotation of its Node.
    pub(crate) fn of(machine: &'a Machine, on_node: Option<&'a str>) -> Self {
        match on_node.or_else(|| machine.annotations.get(ANNOTATION_PRESERVE)) {
            None | Some("false") => Self::None,
            Some("now") => Self::Now,
            Some("when-failed" | PRESERVE_AUTO) => Self::WhenFailed,
            Some(other) => Self::Invalid(other),
        }
    }
}

/// The request on a Node.
pub(crate) fn on_node(node: &Node) -> Option<&str> {
    node.annotations.get(ANNOTATION_PRESERVE)
}

/// The stored end. A value that is no time counts as none.
pub(crate) fn until(machine: &Machine) -> Option<Timestamp> {
    machine.annotations.get(ANNOTATION_PRESERVED_UNTIL)?.parse().ok()
}

pub(crate) fn has_failed(machine: &Machine) -> bool {
    let status = &machine.status;
    status.phase == Some(Phase::Failed)
        || status.error_reason.is_some()
        || status.error_message.is_some()
}

/// A Machine that is preserved, from the point of view of those that scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Preserved {
    /// When that ends; `None` if it is not stored yet.
    pub(crate) until: Option<Timestamp>,
}

impl Preserved {
    /// `None` if the Machine may be deleted.
    pub(crate) fn of(machine: &Machine, on_node: Option<&str>, now: Timestamp) -> Option<Self> {
        // A user or cluster-autoscaler has chosen it. cluster-autoscaler scales down by one for it, so that keeping it
        // would cost another Machine.
        if is_marked_by_others(machine) {
            return None;
        }
        let until = until(machine);
        let preserved = match (until, Request::of(machine, on_node)) {
            (Some(until), _) => now < until,
            (None, Request::Now) => true,
            (None, Request::WhenFailed) => has_failed(machine),
            (None, Request::None | Request::Invalid(_)) => false,
        };
        preserved.then_some(Self { until })
    }
}

#[cfg(test)]
mod tests {
    use machinist_api::names::{
        ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY, MARKED_BY_DEPLOYMENT,
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::machine::samples::{object, read};

    const NOW: &str = "2026-06-01T12:00:00Z";
    const LATER: &str = "2026-06-01T12:00:01Z";

    fn preserved(machine: &Value, on_node: Option<&str>) -> Option<Preserved> {
        Preserved::of(&read(&object(machine)), on_node, NOW.parse().unwrap())
    }

    fn annotated(preserve: &Value, until: &Value) -> Value {
        json!({"metadata": {"annotations": {
            "machinist.dev/preserve": preserve, "machinist.dev/preserved-until": until,
        }}})
    }

    #[test]
    fn is_preserved_until_the_stored_time_whatever_is_requested_meanwhile() {
        let requests = [json!("now"), json!("when-failed"), json!("false"), json!("x")];
        for preserve in requests.iter().chain([&Value::Null]) {
            let kept = preserved(&annotated(preserve, &json!(LATER)), None);
            assert_eq!(kept, Some(Preserved { until: LATER.parse().ok() }), "{preserve}");
            assert_eq!(preserved(&annotated(preserve, &json!(NOW)), None), None, "{preserve}");
        }
    }

    #[test]
    fn a_request_that_is_not_handled_yet_counts_and_the_nodes_wins() {
        for (on_machine, on_node, running, broken) in [
            (json!("now"), None, true, true),
            (json!("when-failed"), None, false, true),
            (json!("false"), None, false, false),
            (json!("soon"), None, false, false),
            (Value::Null, None, false, false),
            (json!("now"), Some("false"), false, false),
            (json!("false"), Some("now"), true, true),
            (json!("now"), Some("when-failed"), false, true),
            (json!("now"), Some(""), false, false),
        ] {
            for until in [Value::Null, json!("soon")] {
                let mut machine = annotated(&on_machine, &until);
                assert_eq!(preserved(&machine, on_node).is_some(), running, "{on_machine}");
                machine["status"] = json!({"phase": "Failed"});
                assert_eq!(preserved(&machine, on_node).is_some(), broken, "{on_machine}, failed");
            }
        }
    }

    #[test]
    fn a_deletion_mark_of_others_wins() {
        for (mark, expected) in [("2026-06-01", false), ("", true), (MARKED_BY_DEPLOYMENT, true)] {
            for name in [ANNOTATION_DELETE_MACHINE, ANNOTATION_DELETE_MACHINE_LEGACY] {
                let mut machine = annotated(&json!("now"), &json!(LATER));
                machine["metadata"]["annotations"][name] = json!(mark);
                assert_eq!(preserved(&machine, None).is_some(), expected, "{name}={mark}");
            }
        }
    }
}
