//! Events of the driver itself. `report` covers the failures of `act`.

use machinist_domain::report::{EventNote, EventReason};
use machinist_domain::retry::Classified as _;

use crate::cluster::ApiError;

pub(super) fn cannot_read(error: &ApiError) -> Option<EventNote> {
    note("Cannot read an object that this reconcile needs", error)
}

pub(super) fn cannot_update_status(error: &ApiError) -> Option<EventNote> {
    note("Cannot update the status", error)
}

/// `None` if no person has to act. A response that cannot be decoded is not quoted: it may contain secrets.
fn note(what: &str, error: &ApiError) -> Option<EventNote> {
    let relevant = error.category().needs_attention() && error.code().is_some();
    relevant.then(|| {
        EventNote::warning(EventReason::ReconcileError, "Reconcile", format!("{what}: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;

    #[test]
    fn messages() {
        let forbidden = |message: &str| ApiError::Refused {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: message.to_owned(),
            retry_after: None,
        };
        let read =
            forbidden("secrets \"aws\" is forbidden: User \"machinist\" cannot get resource");
        let write =
            forbidden("machines \"m\" is forbidden: User \"machinist\" cannot patch resource");
        let rows = [cannot_read(&read), cannot_update_status(&write)].map(|note| {
            let note = note.unwrap();
            ("Event Warning", note.reason.as_str(), note.note)
        });
        insta::assert_snapshot!("messages", message_table(&rows));
    }

    #[test]
    fn does_not_quote_a_response_that_cannot_be_decoded() {
        let answer = ApiError::NotUnderstood("invalid type: string \"s3cret\"".to_owned());
        assert_eq!(cannot_read(&answer), None);
    }
}
