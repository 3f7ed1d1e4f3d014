//! The record of every call that reached the front.
//!
//! It is how tests count calls and prove that a dry run changes nothing. Calls that the front
//! itself makes to moto are not in it; calls that it refused or cut off are.

use std::collections::BTreeMap;

use http::StatusCode;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::query::Query;

/// One call of a client.
#[derive(Clone, Debug)]
pub struct Call {
    /// When it came in, by the front's clock.
    pub at: Timestamp,
    /// The service in the credential scope, as `ec2`; empty when the call was not signed.
    pub service: String,
    /// As `RunInstances`; method and path for services that do not speak the Query protocol.
    pub action: String,
    /// The parameters as they were on the wire, without `Action` and `Version`.
    pub parameters: BTreeMap<String, String>,
    /// Who signed the call; empty when it was not signed.
    pub access_key_id: String,
    /// The region in the credential scope; empty when the call was not signed.
    pub region: String,
    /// The answer to the client; none when its connection was cut.
    pub status: Option<StatusCode>,
}

/// The calls in the order of their ends.
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
