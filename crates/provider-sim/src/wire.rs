//! The JSON protocol of client and server.
//!
//! `POST /v1/instances` is idempotent by token. `GET /v1/instances?ids=&uids=&cluster=&limit=&continue=` has pages.
//! `PATCH /v1/instances/{id}` merges `{"tags": {...}}`. `GET` and `DELETE /v1/instances/{id}`, `DELETE
//! /v1/volumes/{id}`. `GET` and `PUT /v1/modes`: [`Modes`](crate::server::Modes).

use std::collections::BTreeMap;

use http::StatusCode;
use serde::{Deserialize, Serialize};

/// A create request. The same token requires the same request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateInstance {
    pub metadata: Name,
    pub token: String,
    pub region: String,
    pub zone: String,
    pub instance_type: String,
    /// The size of the root volume in GiB. It is deleted with the instance.
    pub root_volume_gib: u32,
    /// The size of a second volume, which outlives the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_volume_gib: Option<u32>,
    pub boot_seconds: u32,
    pub stop_seconds: u32,
    #[serde(default)]
    pub failures: Failures,
    pub tags: BTreeMap<String, String>,
}

/// Faults of an instance; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Failures {
    pub never_boots: bool,
    /// It terminates this many seconds after boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dies_after_seconds: Option<u32>,
    pub no_capacity: bool,
    pub lost_create_answers: u32,
    pub create_answer_delay_seconds: u32,
}

/// The name, at the place where Kubernetes has it, so that tools for Kubernetes requests work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// The id, which is its hostname as well.
    pub id: String,
    pub name: String,
    pub token: String,
    pub state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_reason: Option<String>,
    pub region: String,
    pub zone: String,
    pub instance_type: String,
    pub address: String,
    /// Its volumes, leftovers included.
    pub volumes: Vec<Volume>,
    pub tags: BTreeMap<String, String>,
    pub created_at: jiff::Timestamp,
}

impl Instance {
    /// `spec.providerID` of the Machine and of the Node.
    pub fn provider_id(&self) -> String {
        format!("{PROVIDER_ID}{}/{}/{}", self.region, self.zone, self.id)
    }

    pub fn is_left(&self) -> bool {
        self.state != State::Terminated || !self.volumes.is_empty()
    }
}

pub const PROVIDER_ID: &str = "sim:///";

pub fn id_of(provider_id: &str) -> Option<&str> {
    provider_id.strip_prefix(PROVIDER_ID)?.split('/').nth(2).filter(|id| !id.is_empty())
}

machinist_api::named_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum State {
        Pending = "pending",
        Running = "running",
        ShuttingDown = "shutting-down",
        /// Terminated, and listed for a while.
        Terminated = "terminated",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    pub id: String,
    pub gib: u32,
}

/// A page of instances, in order of creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    pub items: Vec<Instance>,
    /// The token of the next page; `None`: this is the last.
    #[serde(rename = "continue", default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeTags {
    pub tags: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub code: Code,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Code {
    InvalidParameter,
    /// The token was used for another request.
    TokenMismatch,
    /// It does not exist, or is not listed yet.
    NotFound,
    InsufficientCapacity,
    Throttled,
    Unauthorised,
    Unavailable,
}

impl Code {
    pub fn status(self) -> StatusCode {
        match self {
            Self::InvalidParameter => StatusCode::BAD_REQUEST,
            Self::Unauthorised => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::TokenMismatch | Self::InsufficientCapacity => StatusCode::CONFLICT,
            Self::Throttled => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}
