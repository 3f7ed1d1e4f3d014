//! Phase and authority of Machines.

use machinist_api::names::{AUTHORITY_CLUSTER_API, AUTHORITY_MACHINE_API, AUTHORITY_MIGRATING};

machinist_api::named_enum! {
    /// The phase of a Machine; a new one has none.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Phase {
        /// The instance is created.
        Provisioning,
        /// The instance exists, the Node does not.
        Provisioned,
        /// Instance and Node exist.
        Running,
        /// The Machine is deleted.
        Deleting,
        /// A permanent failure: only deletion helps.
        Failed,
    }
}

impl Phase {
    /// Reads `status.phase`; `None` if it is empty or unknown.
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == text)
    }
}

/// Which of OpenShift's two machine APIs manages an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MachineAuthority {
    #[default]
    Unset,
    MachineApi,
    ClusterApi,
    Migrating,
    /// An unknown value.
    Unknown,
}

impl MachineAuthority {
    /// Reads `authoritativeAPI`.
    pub fn read(text: Option<&str>) -> Self {
        match text {
            None | Some("") => Self::Unset,
            Some(AUTHORITY_MACHINE_API) => Self::MachineApi,
            Some(AUTHORITY_CLUSTER_API) => Self::ClusterApi,
            Some(AUTHORITY_MIGRATING) => Self::Migrating,
            Some(_) => Self::Unknown,
        }
    }

    /// The word as `authoritativeAPI` carries it; `None` where there is none to write.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::MachineApi => Some(AUTHORITY_MACHINE_API),
            Self::ClusterApi => Some(AUTHORITY_CLUSTER_API),
            Self::Migrating => Some(AUTHORITY_MIGRATING),
            Self::Unset | Self::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_and_authorities_survive_a_round_trip() {
        for phase in Phase::ALL {
            assert_eq!(Phase::read(phase.as_str()), Some(phase));
        }
        assert_eq!((Phase::read(""), Phase::read("Sleeping")), (None, None));
        for authority in [
            MachineAuthority::MachineApi,
            MachineAuthority::ClusterApi,
            MachineAuthority::Migrating,
        ] {
            assert_eq!(MachineAuthority::read(authority.as_str()), authority);
        }
        assert_eq!(MachineAuthority::read(Some("")), MachineAuthority::Unset);
        assert_eq!(MachineAuthority::read(Some("Other")), MachineAuthority::Unknown);
    }
}
