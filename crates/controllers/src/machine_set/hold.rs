//! The annotation `machinist.dev/hold`, by which a MachineDeployment moves one Machine between two of its sets: while
//! it is stored, the set neither creates nor deletes Machines. It names the Machine, so a move that was interrupted is
//! finished from what is stored. A set that took part in a move keeps the annotation: before it creates or deletes
//! Machines it lists them live, because a Machine that was moved was not created with one of its ordinals.

use std::fmt;
use std::sync::Arc;

use machinist_domain::key::Uid;

use crate::kinds::MachineSetState;

/// The value of the annotation after a move.
pub(crate) const RELEASED: &str = "v1 released";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub side: Side,
    /// The name and the uid of the Machine.
    pub machine: Arc<str>,
    pub uid: Uid,
    /// The other set.
    pub peer: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The Machine is moved out of the set.
    Out,
    /// The Machine is moved into the set.
    In,
}

impl Hold {
    /// `None` for a set that is not held. Only a MachineDeployment releases a set, so without one there is no hold.
    pub(crate) fn of(set: &MachineSetState) -> Option<Self> {
        Self::read(set.hold.as_deref().filter(|_| set.is_of_deployment())?)
    }

    /// `to` or `from` the other set.
    pub(super) fn direction(&self) -> &'static str {
        match self.side {
            Side::Out => "to",
            Side::In => "from",
        }
    }

    fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let ("v1", side) = (words.next()?, words.next()?) else { return None };
        let side = match side {
            "out" => Side::Out,
            "in" => Side::In,
            _ => return None,
        };
        let (machine, uid) = (words.next()?.into(), Uid(words.next()?.into()));
        Some(Self { side, machine, uid, peer: words.next()?.into() })
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { side, machine, uid, peer } = self;
        let side = match side {
            Side::Out => "out",
            Side::In => "in",
        };
        write!(f, "v1 {side} {machine} {uid} {peer}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        for side in [Side::Out, Side::In] {
            let (machine, peer) = ("web-1".into(), "web-b".into());
            let hold = Hold { side, machine, uid: Uid("u".into()), peer };
            assert_eq!(Hold::read(&hold.to_string()), Some(hold));
        }
        for text in ["", RELEASED, "v1 out m", "v2 out m u p", "v1 up m u p"] {
            assert_eq!(Hold::read(text), None, "{text:?}");
        }
    }
}
