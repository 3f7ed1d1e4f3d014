//! Whose something in a cloud is: what every provider writes on what it makes, in the form that its cloud has for that.

use std::sync::Arc;

use machinist_api::names::MANAGED_BY_MACHINIST;
pub use machinist_api::names::TAG_MACHINE_UID;
use machinist_domain::key::Uid;

use super::MachineRef;

/// The tag with the cluster's identity, where a cloud has no custom of its own.
pub const TAG_CLUSTER: &str = "machinist.dev/cluster";
/// The tag that says who made it.
pub const TAG_MADE_BY: &str = "machinist.dev/made-by";

/// Whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ownership {
    /// The cluster.
    pub cluster: Arc<str>,
    /// The Machine.
    pub machine_uid: Uid,
}

impl Ownership {
    /// What is made for this machine.
    pub fn of(machine: &MachineRef) -> Self {
        Self { cluster: Arc::clone(&machine.cluster), machine_uid: machine.uid.clone() }
    }

    /// As tags.
    pub fn tags(&self) -> [(&'static str, Arc<str>); 3] {
        [
            (TAG_CLUSTER, Arc::clone(&self.cluster)),
            (TAG_MACHINE_UID, Arc::from(&self.machine_uid.0)),
            (TAG_MADE_BY, MANAGED_BY_MACHINIST.into()),
        ]
    }

    /// Reads tags back; `None` unless all are there: what machinist did not make is not its own.
    pub fn read<'a>(tag: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        (tag(TAG_MADE_BY)? == MANAGED_BY_MACHINIST).then_some(())?;
        Some(Self {
            cluster: tag(TAG_CLUSTER)?.into(),
            machine_uid: Uid(tag(TAG_MACHINE_UID)?.into()),
        })
    }
}
