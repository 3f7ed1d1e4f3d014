//! How the cloud as a whole behaves: data, changed at any time by the handle or with `PUT /v1/modes`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// How the cloud behaves. By default it is well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Modes {
    /// Zones without room.
    pub full_zones: BTreeSet<String>,
    /// How many calls it takes per second of cloud time; `None`: any number.
    pub calls_per_second: Option<u32>,
    /// For how many milliseconds of cloud time a new instance is not shown to anybody who looks.
    pub hidden_millis: u64,
    /// How many milliseconds of cloud time late the answers to creations come.
    pub create_answer_delay_millis: u64,
    /// How many of the next answers to creations are lost although the creation is carried out.
    pub lose_create_answers: u32,
    /// Of a thousand answers to calls that change something, how many are lost. Which ones is decided by the seed.
    pub lost_per_mille: u32,
    /// What every call meets.
    pub trouble: Option<Trouble>,
    /// What callers must show (`Authorization: Bearer …`); `None`: anybody may call.
    pub token: Option<String>,
    /// How many instances are on a page at most.
    pub page_size: usize,
}

impl Default for Modes {
    fn default() -> Self {
        Self {
            full_zones: BTreeSet::new(),
            calls_per_second: None,
            hidden_millis: 0,
            create_answer_delay_millis: 0,
            lose_create_answers: 0,
            lost_per_mille: 0,
            trouble: None,
            token: None,
            page_size: 1000,
        }
    }
}

/// What every call meets when the cloud is not well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Trouble {
    /// It is refused.
    Unauthorised,
    /// It is told to come back later, whatever its rate.
    Throttled,
    /// It is told that the cloud is in trouble.
    Unavailable,
    /// It gets an answer that makes no sense.
    Nonsense,
    /// The connection is closed without an answer, and nothing is done.
    Silence,
}
