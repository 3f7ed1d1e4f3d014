//! The result for one instance.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Uid};

use super::view::Doubt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Kept(Kept),
    Orphan(Origin, Standing),
}

/// Why an instance is no orphan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// It is the instance of this Machine, or may become it.
    Machine(ObjectKey),
    /// Its tags are not those of machinist and of this cluster.
    Foreign,
}

/// Where an orphan comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// No Machine has the uid in its tags.
    NoMachine(Uid),
    /// An earlier attempt of a Machine that has another instance.
    Duplicate { machine: ObjectKey, attempt: u32, current: Arc<str> },
}

/// Whether an orphan may be deleted, or why not yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// This Node runs on it.
    HasNode(Arc<str>),
    /// Nothing may be deleted at this time.
    Blocked(Doubt),
    /// The time that is left of the grace period; `None` if its age is unknown.
    Young(Option<Duration>),
    SeenOnce,
    /// At most so many are deleted at once.
    OverLimit(usize),
    Collectable,
}

impl Verdict {
    pub fn is_orphan(&self) -> bool {
        matches!(self, Self::Orphan(..))
    }

    pub fn is_collectable(&self) -> bool {
        matches!(self, Self::Orphan(_, Standing::Collectable))
    }

    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Kept(Kept::Machine(_)) => "BelongsToMachine",
            Self::Kept(Kept::Foreign) => "Foreign",
            Self::Orphan(_, Standing::HasNode(_)) => "HasNode",
            Self::Orphan(_, Standing::Blocked(_)) => "Blocked",
            Self::Orphan(_, Standing::Young(_)) => "Young",
            Self::Orphan(_, Standing::SeenOnce) => "SeenOnce",
            Self::Orphan(_, Standing::OverLimit(_)) => "OverLimit",
            Self::Orphan(_, Standing::Collectable) => "Collectable",
        }
    }
}
