//! Texts of the simulated cloud: problems of its provider specs, errors of its client and refusals of its service.

use std::error::Error;
use std::time::Duration;

use http::StatusCode;
use machinist_domain::key::ObjectKey;
use machinist_domain::texts;
pub(crate) use machinist_provider::messages::{
    instance_state, may_still_appear, no_instance, not_listed_yet, not_prepared, owner_changed,
    tags_differ,
};

use crate::wire::{CreateInstance, Refusal};

/// As the shared texts name it.
pub(crate) const CLOUD: &str = "the simulated cloud";

pub(crate) const REQUIRED: &str = "is required";
pub(crate) const ROOT_VOLUME: &str = "must be at least 1 (got 0)";
pub(crate) const DATA_VOLUME: &str = "must be at least 1, or left out (got 0)";
pub(crate) const NO_ENDPOINT: &str =
    "the simulated cloud has no endpoint; set MACHINIST_SIM_ENDPOINT";
pub(crate) const DIED: &str = "the host failed";
pub(crate) const DELETED: &str = "deleted by the user";
pub(crate) const CLOSED: &str = "the account is closed";
pub(crate) const THROTTLED: &str = "too many calls";
pub(crate) const UNAVAILABLE: &str = "the service is unavailable";
pub(crate) const WRONG_TOKEN: &str = "the token is missing or wrong";
pub(crate) const NO_NAME: &str = "token and name are required";

/// Conditions of a Node. The wording is that of Kubernetes.
pub(crate) const NODE_READY: &str = "kubelet is posting ready status";
pub(crate) const NODE_SILENT: &str = "Kubelet stopped posting node status.";

texts! {
    pub(crate) fn bad_region(region: &str) = "must be a name without slashes (got {region:?})";
    pub(crate) fn choice(known: &[&str]) = "must be one of {}", known.join(", ");
    pub(crate) fn no_token(secret: &ObjectKey) = "Secret {secret} has no key \"token\"";
    pub(crate) fn foreign_instance(id: &str, owner: &str) = "instance {id} belongs to the Machine with uid {owner}";
    pub(crate) fn not_sent(error: &dyn Error) = "cannot send the request: {error}";
    pub(crate) fn no_response(causes: &[String]) = "the simulated cloud did not respond: {}", causes.join(": ");
    pub(crate) fn timed_out(timeout: Duration) = "the simulated cloud did not respond within {timeout:?}";
    pub(crate) fn bad_response(error: &dyn Error) = "the simulated cloud sent an invalid response: {error}";
    pub(crate) fn bad_status(status: StatusCode) = "the simulated cloud responded with {status}";
    pub(crate) fn refused(refusal: &Refusal) = "{:?}: {}", refusal.code, refusal.message;
    pub(crate) fn unknown(what: &str, name: &str) = "unknown {what} {name:?}";
    pub(crate) fn not_found(what: &str, id: &str) = "{what} {id:?} does not exist";
    pub(crate) fn not_a_number(name: &str, value: &str) = "{name}: {value:?} is not a number";
    pub(crate) fn token_reused(token: &str) = "token {token:?} was used for another request";
    pub(crate) fn no_capacity(request: &CreateInstance) =
        "no capacity for {} in zone {}", request.instance_type, request.zone;
}

#[cfg(test)]
mod tests {
    use machinist_domain::message_table::message_table;

    use super::*;
    use crate::types::ZONES;
    use crate::wire::Code;

    fn service() -> Vec<(Code, String)> {
        let request: CreateInstance = serde_json::from_value(serde_json::json!({
            "metadata": { "name": "worker-1" }, "token": "uid-1-0", "region": "sim-1", "zone": "a",
            "instanceType": "sim.small", "rootVolumeGib": 20, "bootSeconds": 5, "stopSeconds": 0,
            "tags": {},
        }))
        .unwrap();
        vec![
            (Code::Unauthorised, CLOSED.to_owned()),
            (Code::Unauthorised, WRONG_TOKEN.to_owned()),
            (Code::Throttled, THROTTLED.to_owned()),
            (Code::Unavailable, UNAVAILABLE.to_owned()),
            (Code::NotFound, unknown("operation", "GET /v2/instances")),
            (Code::NotFound, not_found("instance", "worker-1-0a1b2c3d")),
            (Code::InvalidParameter, NO_NAME.to_owned()),
            (Code::InvalidParameter, unknown("zone", "z")),
            (Code::InvalidParameter, not_a_number("limit", "ten")),
            (Code::TokenMismatch, token_reused("uid-1-0")),
            (Code::InsufficientCapacity, no_capacity(&request)),
        ]
    }

    #[test]
    fn messages() {
        let error = serde_json::from_str::<bool>("1").unwrap_err();
        let mut rows = vec![
            ("provider spec", "instanceType", REQUIRED.to_owned()),
            ("provider spec", "region", bad_region("a/b")),
            ("provider spec", "zone", choice(&ZONES)),
            ("provider spec", "rootVolumeGiB", ROOT_VOLUME.to_owned()),
            ("provider spec", "dataVolumeGiB", DATA_VOLUME.to_owned()),
            ("condition Ready=True of a Node", "KubeletReady", NODE_READY.to_owned()),
            ("condition Ready=Unknown of a Node", "NodeStatusUnknown", NODE_SILENT.to_owned()),
        ];
        let calls = [
            NO_ENDPOINT.to_owned(),
            no_token(&ObjectKey::new("ns", "keys")),
            foreign_instance("worker-1-0a1b2c3d", "uid-2"),
            not_listed_yet(CLOUD),
            not_sent(&error),
            no_response(&["client error (Connect)".to_owned(), "connection refused".to_owned()]),
            timed_out(Duration::from_secs(60)),
            bad_response(&error),
            bad_status(StatusCode::BAD_GATEWAY),
        ];
        rows.extend(calls.map(|text| ("cloud call", "", text)));
        let refusals = service().into_iter();
        let refusals = refusals.map(|(code, message)| refused(&Refusal { code, message }));
        rows.extend(refusals.map(|text| ("cloud call", "", text)));
        for reason in [DIED, DELETED] {
            rows.push(("state of an instance", "", reason.to_owned()));
        }
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
