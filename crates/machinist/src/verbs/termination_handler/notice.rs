//! What the metadata service says, read with suspicion: pure functions from bytes to conditions.
//!
//! Nothing of an answer gets into the cluster as it was: an action is one of three, and a time is parsed and printed again.

use jiff::Timestamp;
use machinist_api::names::{
    NODE_CONDITION_REBALANCE_RECOMMENDED, NODE_CONDITION_TERMINATING,
    REASON_REBALANCE_RECOMMENDATION, REASON_TERMINATION_REQUESTED,
};
use machinist_domain::conditions::Condition;
use serde::Deserialize;

/// `spot/instance-action`.
#[derive(Deserialize)]
struct InstanceAction {
    action: Action,
    /// A notice without a time is a notice all the same.
    time: Option<Timestamp>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Terminate,
    Stop,
    Hibernate,
}

/// `events/recommendations/rebalance`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rebalance {
    notice_time: Timestamp,
}

/// Reads `spot/instance-action`.
pub(super) fn instance_action(answer: &[u8]) -> Result<Condition, serde_json::Error> {
    let InstanceAction { action, time } = serde_json::from_slice(answer)?;
    Ok(terminating(action, time))
}

/// Reads `spot/termination-time`. It may also hold something that is no time; EC2's documentation says that this is no notice.
pub(super) fn termination_time(answer: &[u8]) -> Option<Condition> {
    let time = std::str::from_utf8(answer).ok()?.trim().parse().ok()?;
    Some(terminating(Action::Terminate, Some(time)))
}

/// Reads `events/recommendations/rebalance`.
pub(super) fn rebalance(answer: &[u8]) -> Result<Condition, serde_json::Error> {
    let Rebalance { notice_time } = serde_json::from_slice(answer)?;
    let message = format!(
        "EC2 said at {notice_time} that this instance is at a higher risk to be interrupted"
    );
    let condition = Condition::yes(NODE_CONDITION_REBALANCE_RECOMMENDED);
    Ok(condition.because(REASON_REBALANCE_RECOMMENDATION, message))
}

fn terminating(action: Action, time: Option<Timestamp>) -> Condition {
    let action = match action {
        Action::Terminate => "terminates",
        Action::Stop => "stops",
        Action::Hibernate => "hibernates",
    };
    let message = match time {
        Some(time) => format!("EC2 {action} this instance at {time}"),
        None => format!("EC2 {action} this instance; it did not say when"),
    };
    Condition::yes(NODE_CONDITION_TERMINATING).because(REASON_TERMINATION_REQUESTED, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_ec2_are_understood() {
        for (action, message) in [
            (
                r#"{"action": "terminate", "time": "2026-09-18T08:22:00Z"}"#,
                "EC2 terminates this instance at 2026-09-18T08:22:00Z",
            ),
            (
                "{\"action\":\"stop\",\"time\":\"2026-09-18T08:22:00Z\"}\n",
                "EC2 stops this instance at 2026-09-18T08:22:00Z",
            ),
            (
                r#"{"action": "hibernate", "new": [1]}"#,
                "EC2 hibernates this instance; it did not say when",
            ),
        ] {
            let condition = instance_action(action.as_bytes()).unwrap();
            assert_eq!(condition.message.as_deref(), Some(message));
            assert_eq!(condition.kind, "Terminating");
            assert_eq!(condition.reason.as_deref(), Some("TerminationRequested"));
        }
        let condition = termination_time(b"2026-01-05T18:02:00Z\n").unwrap();
        let message = "EC2 terminates this instance at 2026-01-05T18:02:00Z";
        assert_eq!(condition.message.as_deref(), Some(message));
        let condition = rebalance(br#"{"noticeTime": "2026-10-27T08:22:00Z"}"#).unwrap();
        assert!(condition.message.unwrap().contains("2026-10-27T08:22:00Z"));
    }

    #[test]
    fn what_ec2_never_says_is_an_error_and_no_notice() {
        for answer in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"action": "explode", "time": "2026-09-18T08:22:00Z"}"#,
            r#"{"action": "terminate", "time": "soon"}"#,
            r#"{"action": "terminate", "time": "999999-09-18T08:22:00Z"}"#,
            r#"{"action": "terminate", "time": 7}"#,
            "<html>",
        ] {
            assert!(instance_action(answer.as_bytes()).is_err(), "{answer}");
            assert!(rebalance(answer.as_bytes()).is_err(), "{answer}");
            assert!(termination_time(answer.as_bytes()).is_none(), "{answer}");
        }
        let deep = "[".repeat(4096);
        assert!(instance_action(deep.as_bytes()).is_err());
        assert!(termination_time(b"\xff\xfe").is_none());
    }
}
