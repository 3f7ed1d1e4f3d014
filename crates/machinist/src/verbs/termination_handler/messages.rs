//! Messages of the conditions that the termination handler sets.

use jiff::Timestamp;

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

pub(super) fn rebalance(time: Timestamp) -> String {
    format!("EC2 reported at {time} that this instance is at an elevated risk of interruption")
}

#[cfg(test)]
mod tests {
    use machinist_api::names::{REASON_REBALANCE_RECOMMENDATION, REASON_TERMINATION_REQUESTED};
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let time: Timestamp = "2026-09-18T08:22:00Z".parse().unwrap();
        let (place, reason) = ("condition Terminating=True", REASON_TERMINATION_REQUESTED);
        let rows = [
            (place, reason, terminating(Action::Terminate, Some(time))),
            (place, reason, terminating(Action::Stop, Some(time))),
            (place, reason, terminating(Action::Hibernate, None)),
            (
                "condition RebalanceRecommended=True",
                REASON_REBALANCE_RECOMMENDATION,
                rebalance(time),
            ),
        ];
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
