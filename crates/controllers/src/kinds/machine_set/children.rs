//! What a MachineSet says of its machines: how many, which, made from what; and what its status says of them.
//!
//! What is wrong with it (a selector that selects everything, a policy that nobody knows) is stored as such: the controller tells.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::names::{
    ANNOTATION_ORDINALS, DELETE_POLICY_NEWEST, DELETE_POLICY_OLDEST, DELETE_POLICY_RANDOM,
};
use machinist_api::wire;
use machinist_domain::conditions::{self, Condition};
use machinist_domain::machine::MachineAuthority;
use machinist_domain::ordinals::{Window, WindowError};
use machinist_domain::pairs::Pairs;
use machinist_domain::selector::{Selector, SelectorError};
use parking_lot::Mutex;

use super::super::words::Words;

/// When texts that nobody has any more are swept.
const SWEEP_AT: usize = 1024;

/// What a MachineSet says of its machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Children {
    /// Counts the changes of the spec.
    pub generation: i64,
    /// When the set was created.
    pub created: Option<Timestamp>,
    /// How many are wanted, as it stands there.
    pub replicas: Option<i32>,
    /// Which machines are meant.
    pub selector: Result<Selector, SelectorError>,
    /// What they are made from.
    pub template: Template,
    /// How long a machine must be ready before it counts as available.
    pub min_ready: Duration,
    /// Which go first.
    pub delete_policy: Result<DeletePolicy, UnknownDeletePolicy>,
    /// Numbers whose machines may be in the making.
    pub window: Result<Window, WindowError>,
    /// Which machine API shall be in charge.
    pub wanted_authority: MachineAuthority,
    /// What was observed.
    pub status: MachineSetStatus,
}

/// What machines are made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Labels that they get.
    pub labels: Pairs,
    /// Annotations that they get.
    pub annotations: Pairs,
    /// Their spec as JSON, word for word: what we do not know is in it, too.
    pub spec: Option<Arc<str>>,
}

/// Which machines go first when a set shrinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletePolicy {
    /// Whichever.
    Random,
    /// The youngest.
    Newest,
    /// The oldest.
    Oldest,
}

/// A delete policy that nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("spec.deletePolicy {0:?} is not Random, Newest or Oldest")]
pub struct UnknownDeletePolicy(String);

/// What a MachineSet says was observed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineSetStatus {
    /// How many machines there are.
    pub replicas: Option<i32>,
    /// How many of them have all labels of the template.
    pub fully_labeled: Option<i32>,
    /// How many of them have a Node that is ready.
    pub ready: Option<i32>,
    /// How many of them have had one for long enough.
    pub available: Option<i32>,
    /// Up to which generation the spec was acted upon.
    pub observed_generation: Option<i64>,
    /// The selector as text.
    pub label_selector: Option<Arc<str>>,
    /// What is wrong for good, in one word.
    pub error_reason: Option<Arc<str>>,
    /// What is wrong for good, for people.
    pub error_message: Option<Arc<str>>,
    /// Conditions, of whoever.
    pub conditions: Box<[Condition]>,
    /// Which machine API is in charge.
    pub authority: MachineAuthority,
}

impl Children {
    pub(super) fn read(wire: wire::MachineSet, words: &Words, texts: &Texts) -> Self {
        let wire::MachineSet { metadata, spec, status } = wire;
        let window = metadata.annotations.get(ANNOTATION_ORDINALS);
        let pairs = |map| Pairs::shared(map, |word| words.share(word));
        let word = |text: Option<String>| {
            text.filter(|text| !text.is_empty()).map(|text| words.share(text))
        };
        Self {
            generation: metadata.generation,
            created: metadata.creation_timestamp,
            replicas: spec.replicas,
            selector: Selector::read(&spec.selector),
            template: Template {
                labels: pairs(spec.template.metadata.labels),
                annotations: pairs(spec.template.metadata.annotations),
                spec: spec.template.spec.raw.map(|raw| texts.share(raw.get())),
            },
            min_ready: Duration::from_secs(u64::try_from(spec.min_ready_seconds).unwrap_or(0)),
            delete_policy: DeletePolicy::read(spec.delete_policy.as_deref()),
            window: window.map_or(Ok(Window::default()), |text| text.parse()),
            wanted_authority: MachineAuthority::read(spec.authoritative_api.as_deref()),
            status: MachineSetStatus {
                replicas: status.replicas,
                fully_labeled: status.fully_labeled_replicas,
                ready: status.ready_replicas,
                available: status.available_replicas,
                observed_generation: status.observed_generation,
                label_selector: word(status.label_selector),
                error_reason: word(status.error_reason),
                error_message: word(status.error_message),
                conditions: conditions::read(&status.conditions).into(),
                authority: MachineAuthority::read(status.authoritative_api.as_deref()),
            },
        }
    }
}

impl DeletePolicy {
    fn read(text: Option<&str>) -> Result<Self, UnknownDeletePolicy> {
        match text {
            None | Some("" | DELETE_POLICY_RANDOM) => Ok(Self::Random),
            Some(DELETE_POLICY_NEWEST) => Ok(Self::Newest),
            Some(DELETE_POLICY_OLDEST) => Ok(Self::Oldest),
            Some(other) => Err(UnknownDeletePolicy(other.to_owned())),
        }
    }
}

/// Texts that somebody has. Sets are often copies of each other, and every version of a set is a copy of the last one.
#[derive(Default)]
pub(super) struct Texts {
    hasher: RandomState,
    known: Mutex<HashMap<u64, Weak<str>>>,
}

impl Texts {
    /// The text, in the place where it was stored first.
    fn share(&self, text: &str) -> Arc<str> {
        let hash = self.hasher.hash_one(text);
        let mut known = self.known.lock();
        if let Some(found) =
            known.get(&hash).and_then(Weak::upgrade).filter(|known| **known == *text)
        {
            return found;
        }
        if known.len() >= SWEEP_AT {
            known.retain(|_, text| text.strong_count() > 0);
        }
        let text = Arc::from(text);
        known.insert(hash, Arc::downgrade(&text));
        text
    }
}
