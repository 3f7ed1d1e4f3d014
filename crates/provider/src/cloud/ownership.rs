//! The tags that mark a cloud resource as owned by a Machine.

use std::sync::Arc;

use machinist_api::names::MANAGED_BY_MACHINIST;
pub use machinist_api::names::TAG_MACHINE_UID;
use machinist_domain::key::Uid;

use super::MachineRef;

/// The tag with the cluster's identity, for clouds without a convention of their own.
pub const TAG_CLUSTER: &str = "machinist.dev/cluster";
/// The tag that names the creator.
pub const TAG_MADE_BY: &str = "machinist.dev/made-by";

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ownership {
    pub cluster: Arc<str>,
    pub machine_uid: Uid,
}

impl Ownership {
    pub fn of(machine: &MachineRef) -> Self {
        Self { cluster: Arc::clone(&machine.cluster), machine_uid: machine.uid.clone() }
    }

    pub fn tags(&self) -> [(&'static str, Arc<str>); 3] {
        [
            (TAG_CLUSTER, Arc::clone(&self.cluster)),
            (TAG_MACHINE_UID, Arc::from(&*self.machine_uid.0)),
            (TAG_MADE_BY, MANAGED_BY_MACHINIST.into()),
        ]
    }

    /// The attempt in a token of the form `<uid>-<attempt>`.
    pub fn attempt(token: &str, machine: &Uid) -> Option<u32> {
        token.strip_prefix(&*machine.0)?.strip_prefix('-')?.parse().ok()
    }

    /// Reads tags; `None` unless all are set.
    pub fn read<'a>(tag: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        (tag(TAG_MADE_BY)? == MANAGED_BY_MACHINIST).then_some(())?;
        Some(Self {
            cluster: tag(TAG_CLUSTER)?.into(),
            machine_uid: Uid(tag(TAG_MACHINE_UID)?.into()),
        })
    }
}
