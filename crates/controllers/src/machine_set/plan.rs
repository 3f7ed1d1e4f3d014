use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_domain::machine::MachineAuthority;
use machinist_domain::retry::Failure;

use super::error::Refusal;
use super::messages::machine_names;
use super::ordinals::Window;
use crate::kinds::Machine;

/// The most Machines that one reconcile creates or deletes, so that a change of `replicas` takes effect in between.
pub(super) const MOST_PER_RECONCILE: usize = 512;

#[derive(Debug, Clone)]
pub enum Plan {
    NoOp(Reason),
    /// Set `status.authoritativeAPI`: no machine API manages the set yet.
    SetAuthority(MachineAuthority),
    Refuse(Refusal),
    Claim {
        adopt: Vec<Arc<Machine>>,
        release: Vec<Arc<Machine>>,
    },
    /// Store another ordinal window: a wider one before Machines are created, a closed one before they are deleted.
    MoveWindow {
        to: Window,
    },
    /// Create the Machines with these ordinals, all of which are in the stored window.
    Create(Vec<u64>),
    /// List the set's Machines live, before ordinals are given up whose create was not answered, and before choosing
    /// which Machines to delete: users often mark Machines for deletion and scale down right after it, and the watch of
    /// Machines may be behind that of MachineSets.
    List,
    Delete(Vec<Arc<Machine>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Settled,
    /// Its deployment has aborted the rollout of its template: missing Machines are not created.
    Aborted,
    /// Nothing is left to create, but the API server may still execute a create that was not answered, for this time.
    InFlight(Duration),
    /// There are too many Machines, but none that can be decoded, and those are never deleted.
    NoneDeletable {
        excess: usize,
    },
    /// There are too many Machines, but the others are kept for debugging (or cannot be decoded).
    Preserved {
        excess: usize,
    },
    /// Its MachineDeployment moves a Machine out of it or into it.
    Held,
    /// Garbage collection deletes its Machines.
    Deleting,
    ManagedElsewhere(MachineAuthority),
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |machines: &[Arc<Machine>]| {
            let names: Vec<_> = machines.iter().map(|machine| &*machine.meta.key.name).collect();
            machine_names(&names)
        };
        match self {
            Self::NoOp(Reason::Settled) => f.write_str("no-op: all Machines exist"),
            Self::NoOp(Reason::Aborted) => {
                f.write_str("no-op: the rollout is aborted, so no Machines are created")
            }
            Self::NoOp(Reason::InFlight(_)) => {
                f.write_str("no-op: a create without an answer may still be executed")
            }
            Self::NoOp(Reason::NoneDeletable { excess }) => {
                write!(f, "no-op: cannot scale down by {excess}: no Machine can be decoded")
            }
            Self::NoOp(Reason::Preserved { excess }) => {
                write!(f, "no-op: cannot scale down by {excess}: Machines are preserved")
            }
            Self::NoOp(Reason::Held) => f.write_str("no-op: held while a Machine is moved"),
            Self::NoOp(Reason::Deleting) => f.write_str("no-op: being deleted"),
            Self::NoOp(Reason::ManagedElsewhere(_)) => {
                f.write_str("no-op: managed by another machine API")
            }
            Self::SetAuthority(_) => f.write_str("set status.authoritativeAPI"),
            Self::Refuse(refusal) => write!(f, "no-op: {refusal}"),
            Self::Claim { adopt, release } => {
                let separator = if adopt.is_empty() || release.is_empty() { "" } else { ", " };
                let part = |verb, machines: &[Arc<Machine>]| match machines.len() {
                    0 => String::new(),
                    _ => format!("{verb} {}", names(machines)),
                };
                write!(f, "{}{separator}{}", part("adopt", adopt), part("release", release))
            }
            Self::MoveWindow { to } if to.is_closed() => write!(f, "close the window ({to})"),
            Self::MoveWindow { to } => write!(f, "reserve ordinals {to}"),
            Self::Create(ordinals) => {
                let first = ordinals.first().copied().unwrap_or_default();
                let plural = if ordinals.len() == 1 { "" } else { "s" };
                write!(f, "create {} Machine{plural} from ordinal {first}", ordinals.len())
            }
            Self::List => {
                f.write_str("list Machines before ordinals are given up or Machines deleted")
            }
            Self::Delete(machines) => write!(f, "delete {}", names(machines)),
        }
    }
}

#[derive(Debug, Clone)]
pub enum Outcome {
    Nothing,
    /// The set was deleted or changed after it was observed: the plan was dropped.
    Outdated,
    DryRun,
    Executed(Executed),
}

#[derive(Debug, Clone, Default)]
pub struct Executed {
    /// The Machines that were created, deleted, adopted or released.
    pub machines: Vec<ObjectKey>,
    /// Writes that were not needed: the name to create exists, or the Machine to claim is gone.
    pub skipped: usize,
    pub failure: Option<Failure>,
}
