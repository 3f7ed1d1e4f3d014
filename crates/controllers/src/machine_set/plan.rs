//! What is to be done about a MachineSet, and what came of it, as data.

use std::fmt;
use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::machine::MachineAuthority;
use machinist_domain::ordinals::Window;
use machinist_domain::retry::Failure;

use super::error::Refusal;
use crate::kinds::Machine;

/// The most machines that one pass creates or deletes, so that a set that has changed its mind is heard.
pub const MOST_PER_PASS: usize = 512;

/// How many names a text has room for.
const NAMES_SHOWN: usize = 5;

/// What to do about one MachineSet.
#[derive(Debug, Clone)]
pub enum Plan {
    /// Nothing.
    Leave(Why),
    /// Nothing: it is not valid.
    Refuse(Refusal),
    /// Become the manager of machines that nobody manages, and stop being that of machines that are not selected any more.
    Claim {
        /// Whom to adopt.
        adopt: Vec<Arc<Machine>>,
        /// Whom to release.
        release: Vec<Arc<Machine>>,
    },
    /// Say on the set which ordinals may be in the making, before they are.
    MoveWindow {
        /// The new window.
        to: Window,
    },
    /// Make machines with these ordinals, all of which are in the window.
    Create(Vec<u64>),
    /// List the machines of the set before it is chosen which of them go. Whoever wants fewer has often marked first whom to take, and the watch of machines
    /// may be later than that of sets.
    Look,
    /// Delete these machines.
    Delete(Vec<Arc<Machine>>),
}

/// Why nothing is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// All is as it should be.
    Settled,
    /// There are so many machines too many, and none of them can be read: what is not understood is not deleted.
    NobodyToDelete {
        /// How many.
        excess: usize,
    },
    /// It is being deleted; its machines follow it by garbage collection.
    Deleting,
    /// Another machine API is in charge of it.
    Elsewhere(MachineAuthority),
    /// Nobody is in charge of it yet: its status has to say who is.
    NotAssigned(MachineAuthority),
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |machines: &[Arc<Machine>]| {
            names(machines.iter().map(|machine| &*machine.meta.key.name))
        };
        match self {
            Self::Leave(Why::Settled) => f.write_str("leave it: all machines are there"),
            Self::Leave(Why::NobodyToDelete { excess }) => {
                write!(f, "leave it: {excess} machines too many, and none that can be read")
            }
            Self::Leave(Why::Deleting) => f.write_str("leave it: it is being deleted"),
            Self::Leave(Why::Elsewhere(_)) => {
                f.write_str("leave it: another machine API is in charge of it")
            }
            Self::Leave(Why::NotAssigned(_)) => f.write_str("say who is in charge of it"),
            Self::Refuse(refusal) => write!(f, "leave it: {refusal}"),
            Self::Claim { adopt, release } => {
                write!(f, "adopt {}, release {}", names(adopt), names(release))
            }
            Self::MoveWindow { to } => write!(f, "reserve ordinals {to}"),
            Self::Create(ordinals) => {
                let first = ordinals.first().copied().unwrap_or_default();
                write!(f, "create {} machines from ordinal {first}", ordinals.len())
            }
            Self::Look => f.write_str("list the machines before some are deleted"),
            Self::Delete(machines) => write!(f, "delete {}", names(machines)),
        }
    }
}

/// How many, and the first names.
pub(super) fn names<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    let first: Vec<_> = names.take(NAMES_SHOWN).collect();
    let rest = if count > first.len() { ", …" } else { "" };
    match count {
        0 => "none".to_owned(),
        _ => format!("{count} ({}{rest})", first.join(", ")),
    }
}

/// What came of a plan.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// There was nothing to do.
    Left(Why),
    /// The set went away, or changed its mind while we were thinking: what was planned is void.
    Void,
    /// It is only a dry run.
    DryRun,
    /// It is not valid.
    Refused(Refusal),
    /// Machines have another manager.
    Claimed {
        /// Who was adopted.
        adopted: Vec<ObjectKey>,
        /// Who was released.
        released: Vec<ObjectKey>,
        /// What went wrong with the others.
        failure: Option<Failure>,
    },
    /// The window is moved, or could not be.
    Moved(Result<(), Failure>),
    /// Machines were made.
    Created {
        /// Which.
        made: Vec<ObjectKey>,
        /// How many names were taken already: by an earlier attempt, or by somebody else's machine.
        met: usize,
        /// What went wrong with the others.
        failure: Option<Failure>,
    },
    /// The machines were listed, or could not be.
    Looked(Result<(), Failure>),
    /// Machines were deleted.
    Deleted {
        /// Which.
        gone: Vec<ObjectKey>,
        /// What went wrong with the others.
        failure: Option<Failure>,
    },
}
