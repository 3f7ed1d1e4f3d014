//! Conditions that the termination handler sets, and errors in its log.

use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use machinist_domain::texts;

use super::notice::Action;

pub(super) fn terminating(action: Action, time: Option<Timestamp>) -> String {
    let action = match action {
        Action::Terminate => "terminates",
        Action::Stop => "stops",
        Action::Hibernate => "hibernates",
    };
    match time {
        Some(time) => format!("EC2 {action} this instance at {time}"),
        None => format!("EC2 {action} this instance (no time given)"),
    }
}

texts! {
    pub(super) fn rebalance(time: Timestamp) =
        "EC2 reported at {time} that this instance is at an elevated risk of interruption";
    pub(super) fn unparsable(path: &str) = "cannot parse the response to {path}";
    pub(super) fn bad_status(path: &str, status: StatusCode) = "{path} returned {status}";
    pub(super) fn no_response(path: &str) = "no response from the instance metadata service to {path}";
    pub(super) fn timed_out(path: &str, timeout: Duration) =
        "no response from the instance metadata service to {path} within {timeout:?}";
    pub(super) fn too_long(path: &str, limit: usize) = "the response to {path} exceeds {limit} bytes";
    pub(super) fn cannot(verb: &str, node: &str) = "cannot {verb} Node {node}";
}

pub(super) const METADATA: &str = "instance metadata";
pub(super) const INVALID_REQUEST: &str = "invalid request";
pub(super) const INVALID_TOKEN: &str = "invalid token";
pub(super) const NO_TTL: &str = "no TTL";
pub(super) const EMPTY: &str = "empty";
pub(super) const NOT_A_HEADER: &str = "not valid in a header";

#[cfg(test)]
mod tests {
    use machinist_api::names::{REASON_REBALANCE_RECOMMENDATION, REASON_TERMINATION_REQUESTED};
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let time: Timestamp = "2026-09-18T08:22:00Z".parse().unwrap();
        let (place, reason) = ("condition Terminating=True", REASON_TERMINATION_REQUESTED);
        let path = "/latest/api/token";
        let token = |why| format!("{METADATA}: {INVALID_TOKEN}: {why}");
        let errors = [
            format!("{METADATA}: {INVALID_REQUEST}: invalid uri character"),
            token(NO_TTL),
            token(EMPTY),
            token(NOT_A_HEADER),
            unparsable(path),
            bad_status(path, StatusCode::BAD_GATEWAY),
            no_response(path),
            timed_out(path, Duration::from_secs(2)),
            too_long(path, 4096),
            cannot("read", "worker-1"),
        ];
        let mut rows = vec![
            (place, reason, terminating(Action::Terminate, Some(time))),
            (place, reason, terminating(Action::Stop, Some(time))),
            (place, reason, terminating(Action::Hibernate, None)),
            (
                "condition RebalanceRecommended=True",
                REASON_REBALANCE_RECOMMENDATION,
                rebalance(time),
            ),
        ];
        rows.extend(errors.map(|text| ("log", "", text)));
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
