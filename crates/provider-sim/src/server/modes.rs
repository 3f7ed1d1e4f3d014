//! The faults of the cloud, changed by the handle or with `PUT /v1/modes`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The behaviour of the cloud. The default has no faults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Modes {
    pub full_zones: BTreeSet<String>,
    /// The rate limit per second of cloud time; `None`: none.
    pub calls_per_second: Option<u32>,
    /// How long a new instance is not listed, in milliseconds of cloud time.
    pub hidden_millis: u64,
    /// The delay of responses to creates, in milliseconds of cloud time.
    pub create_answer_delay_millis: u64,
    /// The number of next creates whose response is lost.
    pub lose_create_answers: u32,
    /// The share of lost responses to writes, in permille. The seed decides which.
    pub lost_per_mille: u32,
    pub trouble: Option<Trouble>,
    /// The required bearer token; `None`: any.
    pub token: Option<String>,
    /// The most instances of a page; `None`: 1000.
    pub page_size: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Trouble {
    /// 401.
    Unauthorised,
    /// 429, at any rate.
    Throttled,
    Unavailable,
    /// An invalid response.
    Nonsense,
    /// The connection is closed without a response or effect.
    Silence,
}
