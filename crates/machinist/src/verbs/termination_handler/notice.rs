//! Pure. Responses are not trusted: an action is one of three, a time is parsed and formatted, nothing is copied.

use jiff::Timestamp;
use machinist_api::names::{
    NODE_CONDITION_REBALANCE_RECOMMENDED, NODE_CONDITION_TERMINATING,
    REASON_REBALANCE_RECOMMENDATION, REASON_TERMINATION_REQUESTED,
};
use machinist_domain::conditions::Condition;
use serde::Deserialize;

use super::messages;

#[derive(Deserialize)]
struct InstanceAction {
    action: Action,
    time: Option<Timestamp>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    Terminate,
    Stop,
    Hibernate,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rebalance {
    notice_time: Timestamp,
}

pub(super) fn instance_action(answer: &[u8]) -> Result<Condition, serde_json::Error> {
    let InstanceAction { action, time } = serde_json::from_slice(answer)?;
    Ok(terminating(action, time))
}

/// Parses `spot/termination-time`. Per EC2's documentation, a value that is not a time is not a notice.
pub(super) fn termination_time(answer: &[u8]) -> Option<Condition> {
    let time = std::str::from_utf8(answer).ok()?.trim().parse().ok()?;
    Some(terminating(Action::Terminate, Some(time)))
}

pub(super) fn rebalance(answer: &[u8]) -> Result<Condition, serde_json::Error> {
    let Rebalance { notice_time } = serde_json::from_slice(answer)?;
    let message = messages::rebalance(notice_time);
    let condition = Condition::yes(NODE_CONDITION_REBALANCE_RECOMMENDED);
    Ok(condition.because(REASON_REBALANCE_RECOMMENDATION, message))
}

fn terminating(action: Action, time: Option<Timestamp>) -> Condition {
    let message = messages::terminating(action, time);
    Condition::yes(NODE_CONDITION_TERMINATING).because(REASON_TERMINATION_REQUESTED, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_notices_of_ec2() {
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
                "EC2 hibernates this instance (no time given)",
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
    fn malformed_notices_are_errors() {
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
    #[test]
    fn fuzz_notices_of_the_metadata_service() -> anyhow::Result<()> {
        let samples = [
            r#"{"action": "terminate", "time": "2026-09-18T08:22:00Z"}"#,
            r#"{"noticeTime": "2026-10-27T08:22:00Z"}"#,
            "2026-01-05T18:02:00Z\n",
        ];
        machinist_testbed::fuzz::feed(&samples, |answer| {
            let read = (instance_action(answer), rebalance(answer), termination_time(answer));
            machinist_testbed::fuzz::done(read);
        })
    }
}
