//! What client and server say to each other, in JSON.
//!
//! ```text
//! POST   /v1/instances                        create; the same token is the same instance
//! GET    /v1/instances?ids=&uids=&cluster=    find (ids or uids), or all of a cluster; &limit=&continue= for pages
//! GET    /v1/instances/{id}
//! PATCH  /v1/instances/{id}                   {"tags": {...}}, merged
//! DELETE /v1/instances/{id}
//! DELETE /v1/volumes/{id}                     what an instance leaves behind
//! GET    /v1/modes, PUT /v1/modes             how the cloud behaves (see server::Modes)
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A request for an instance. With the same token it must be the same request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateInstance {
    /// What people call it.
    pub metadata: Name,
    /// What makes a repeat a repeat.
    pub token: String,
    /// Where.
    pub region: String,
    /// Where in the region.
    pub zone: String,
    /// The type.
    pub instance_type: String,
    /// Size of the root volume in GiB. It goes with the instance.
    pub root_volume_gib: u32,
    /// Size of a second volume, which outlives the instance until somebody deletes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_volume_gib: Option<u32>,
    /// Seconds from the request until it runs.
    pub boot_seconds: u32,
    /// Seconds from the request to delete it until it is gone.
    pub stop_seconds: u32,
    /// How this instance fails.
    #[serde(default)]
    pub failures: Failures,
    /// Tags.
    pub tags: BTreeMap<String, String>,
}

/// How an instance fails; by default it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Failures {
    /// It stays pending for ever.
    pub never_boots: bool,
    /// It is gone this many seconds after it has booted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dies_after_seconds: Option<u32>,
    /// There is no room for it.
    pub no_capacity: bool,
    /// This many answers to its creation are lost, although it is carried out.
    pub lost_create_answers: u32,
    /// The answers to its creation come this many seconds late.
    pub create_answer_delay_seconds: u32,
}

/// Where Kubernetes keeps a name, too: whoever looks at requests need not know this cloud.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// The name.
    pub name: String,
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// The cloud's name for it; also what it calls itself.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The token that it was created with.
    pub token: String,
    /// What it is doing.
    pub state: State,
    /// Why, where there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_reason: Option<String>,
    /// Where.
    pub region: String,
    /// Where in the region.
    pub zone: String,
    /// The type.
    pub instance_type: String,
    /// Its address.
    pub address: String,
    /// Its volumes, also those that it left behind.
    pub volumes: Vec<Volume>,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// When it was made.
    pub created_at: jiff::Timestamp,
}

impl Instance {
    /// `spec.providerID` of the Machine and of the Node.
    pub fn provider_id(&self) -> String {
        format!("{PROVIDER_ID}{}/{}/{}", self.region, self.zone, self.id)
    }

    /// Whether something of it is left that costs money.
    pub fn is_left(&self) -> bool {
        self.state != State::Terminated || !self.volumes.is_empty()
    }
}

/// How a providerID of this cloud begins; region, zone and id follow.
pub const PROVIDER_ID: &str = "sim:///";

/// The id in a providerID, if it is one of this cloud.
pub fn id_of(provider_id: &str) -> Option<&str> {
    provider_id.strip_prefix(PROVIDER_ID)?.split('/').nth(2).filter(|id| !id.is_empty())
}

/// What an instance is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It boots.
    Pending,
    /// It runs.
    Running,
    /// It is being removed.
    ShuttingDown,
    /// It is gone; the cloud remembers it for a while.
    Terminated,
}

impl State {
    /// The cloud's word for it.
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
    /// The cloud's name for it.
    pub id: String,
    /// Its size.
    pub gib: u32,
}

/// A page of instances, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The instances.
    pub items: Vec<Instance>,
    /// What to pass on to get the next page; `None`: this is the last.
    #[serde(rename = "continue", default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A change of tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeTags {
    /// Tags to add or replace.
    pub tags: BTreeMap<String, String>,
}

/// An answer that is a no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What is wrong, for programs.
    pub code: Code,
    /// What is wrong, for people.
    pub message: String,
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Code {
    /// The request asks for what cannot be.
    InvalidParameter,
    /// The token was used for another request.
    TokenMismatch,
    /// There is no such thing, or it is not shown yet.
    NotFound,
    /// No room in this zone.
    InsufficientCapacity,
    /// Too many calls.
    Throttled,
    /// Not as this caller.
    Unauthorised,
    /// The cloud is in trouble.
    Unavailable,
}

impl Code {
    /// The HTTP status that goes with it.
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
