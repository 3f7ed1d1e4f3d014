//! Who we say we are, to API servers: one constant per party.
//!
//! The audit log of a cluster therefore tells which controller wrote what.

/// A party that talks to an API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UserAgent(&'static str);

macro_rules! user_agent {
    ($name:literal) => {
        UserAgent(concat!($name, "/", env!("CARGO_PKG_VERSION")))
    };
}

impl UserAgent {
    /// Watches, lists and live reads.
    pub const CACHE: Self = user_agent!("machinist-cache");
    /// Leader election.
    pub const LEASE: Self = user_agent!("machinist-lease");
    /// Waiting for the API server, and asking what it serves.
    pub const START: Self = user_agent!("machinist-start");
    /// Writes of the annotator.
    pub const ANNOTATOR: Self = user_agent!("machinist-annotator");
    /// Writes of the machine controller.
    pub const MACHINE: Self = user_agent!("machinist-machine");
    /// Writes of the MachineSet controller.
    pub const MACHINE_SET: Self = user_agent!("machinist-machineset");
    /// Writes of the node link controller.
    pub const NODE_LINK: Self = user_agent!("machinist-nodelink");
    /// Reads and writes of `machinist recycle`.
    pub const RECYCLE: Self = user_agent!("machinist-recycle");
    /// Writes of the recycler.
    pub const RECYCLER: Self = user_agent!("machinist-recycler");
    /// Reads and writes of the termination handler.
    pub const TERMINATION_HANDLER: Self = user_agent!("machinist-termination-handler");

    /// The header's value.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}
