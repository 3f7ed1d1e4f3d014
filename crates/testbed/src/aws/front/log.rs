//! Every call that reached the front, also those that it refused or cut off, but not its own calls to moto.

use std::collections::BTreeMap;

use http::StatusCode;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::query::Query;

#[derive(Clone, Debug)]
pub struct Call {
    /// By the front's clock.
    pub at: Timestamp,
    /// From the credential scope, as are key and region; empty when the call was not signed.
    pub service: String,
    /// Method and path for services that do not speak the Query protocol.
    pub action: String,
    pub parameters: BTreeMap<String, String>,
    pub access_key_id: String,
    pub region: String,
    /// None when the connection was cut.
    pub status: Option<StatusCode>,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    calls: Mutex<Vec<Call>>,
}

impl Log {
    pub(super) fn add(&self, at: Timestamp, query: Query, status: Option<StatusCode>) {
        self.calls.lock().push(Call {
            at,
            service: query.service,
            action: query.action,
            parameters: query.parameters,
            access_key_id: query.access_key_id,
            region: query.region,
            status,
        });
    }

    pub(super) fn all(&self) -> Vec<Call> {
        self.calls.lock().clone()
    }

    pub(super) fn clear(&self) {
        self.calls.lock().clear();
    }
}
