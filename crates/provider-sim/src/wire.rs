//! The JSON protocol of client and server.
//!
//! ```text
//! POST   /v1/instances                       create; idempotent by token
//! GET    /v1/instances?ids=&uids=&cluster=   &limit=&continue= for pages
//! GET    /v1/instances/{id};  DELETE /v1/instances/{id};  DELETE /v1/volumes/{id}
//! PATCH  /v1/instances/{id}                  {"tags": {...}}, merged
//! GET, PUT /v1/modes                         server::Modes
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A create request. The same token requires the same request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateInstance {
    /// The name.
    pub metadata: Name,
    /// The idempotency token.
    pub token: String,
    /// The region.
    pub region: String,
    /// The zone.
    pub zone: String,
    /// The type.
    pub instance_type: String,
    /// The size of the root volume in GiB. It is deleted with the instance.
    pub root_volume_gib: u32,
    /// The size of a second volume, which outlives the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_volume_gib: Option<u32>,
    /// Seconds until it runs.
    pub boot_seconds: u32,
    /// Seconds until it is deleted.
    pub stop_seconds: u32,
    /// Faults of this instance.
    #[serde(default)]
    pub failures: Failures,
    /// Tags.
    pub tags: BTreeMap<String, String>,
}

/// Faults of an instance; none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Failures {
    /// It stays pending.
    pub never_boots: bool,
    /// It terminates this many seconds after boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dies_after_seconds: Option<u32>,
    /// There is no capacity for it.
    pub no_capacity: bool,
    /// The number of create responses that are lost.
    pub lost_create_answers: u32,
    /// The delay of create responses in seconds.
    pub create_answer_delay_seconds: u32,
}

/// The name, at the place where Kubernetes has it, so that tools for Kubernetes requests work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// The name.
    pub name: String,
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// The id, which is its hostname as well.
    pub id: String,
    /// The name.
    pub name: String,
    /// The token of its create request.
    pub token: String,
    /// The state.
    pub state: State,
    /// The reason of the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_reason: Option<String>,
    /// The region.
    pub region: String,
    /// The zone.
    pub zone: String,
    /// The type.
    pub instance_type: String,
    /// Its address.
    pub address: String,
    /// Its volumes, leftovers included.
    pub volumes: Vec<Volume>,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// The creation time.
    pub created_at: jiff::Timestamp,
}

impl Instance {
    /// `spec.providerID` of the Machine and of the Node.
    pub fn provider_id(&self) -> String {
        format!("{PROVIDER_ID}{}/{}/{}", self.region, self.zone, self.id)
    }

    /// Whether anything of it is left.
    pub fn is_left(&self) -> bool {
        self.state != State::Terminated || !self.volumes.is_empty()
    }
}

/// The prefix of a providerID; region, zone and id follow.
pub const PROVIDER_ID: &str = "sim:///";

/// The id in a providerID of this cloud.
pub fn id_of(provider_id: &str) -> Option<&str> {
    provider_id.strip_prefix(PROVIDER_ID)?.split('/').nth(2).filter(|id| !id.is_empty())
}

/// The state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Booting.
    Pending,
    /// Running.
    Running,
    /// Being terminated.
    ShuttingDown,
    /// Terminated, and listed for a while.
    Terminated,
}

impl State {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::ShuttingDown => "shutting-down",
            Self::Terminated => "terminated",
        }
    }
}

/// A volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// The id.
    pub id: String,
    /// The size.
    pub gib: u32,
}

/// A page of instances, in order of creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The instances.
    pub items: Vec<Instance>,
    /// The token of the next page; `None`: this is the last.
    #[serde(rename = "continue", default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A change of tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeTags {
    /// Tags to add or replace.
    pub tags: BTreeMap<String, String>,
}

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// The message.
    pub message: String,
}

/// Error codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Code {
    /// The request is invalid.
    InvalidParameter,
    /// The token was used for another request.
    TokenMismatch,
    /// It does not exist, or is not listed yet.
    NotFound,
    /// No capacity in this zone.
    InsufficientCapacity,
    /// Too many calls.
    Throttled,
    /// The token is missing or wrong.
    Unauthorised,
    /// The cloud has an outage.
    Unavailable,
}

impl Code {
    /// The HTTP status.
    pub fn status(self) -> u16 {
        match self {
            Self::InvalidParameter => 400,
            Self::Unauthorised => 403,
            Self::NotFound => 404,
            Self::TokenMismatch | Self::InsufficientCapacity => 409,
            Self::Throttled => 429,
            Self::Unavailable => 503,
        }
    }
}
