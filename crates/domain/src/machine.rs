//! Words that every controller of machines uses: how far a machine is, and who is in charge of it.

use machinist_api::names::{
    AUTHORITY_CLUSTER_API, AUTHORITY_MACHINE_API, AUTHORITY_MIGRATING, PHASE_DELETING,
    PHASE_FAILED, PHASE_PROVISIONED, PHASE_PROVISIONING, PHASE_RUNNING,
};

/// How far a machine is. A machine that nobody has looked at yet has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Its instance is to be created, or is being created.
    Provisioning,
    /// The instance is there, its Node is not.
    Provisioned,
    /// Instance and Node are there.
    Running,
    /// It is on its way out.
    Deleting,
    /// It failed for good: nothing but deletion follows.
    Failed,
}

impl Phase {
    /// Every phase, for docs and tests.
    pub const ALL: [Self; 5] =
        [Self::Provisioning, Self::Provisioned, Self::Running, Self::Deleting, Self::Failed];

    /// The phase as `status.phase` carries it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Provisioning => PHASE_PROVISIONING,
            Self::Provisioned => PHASE_PROVISIONED,
            Self::Running => PHASE_RUNNING,
            Self::Deleting => PHASE_DELETING,
            Self::Failed => PHASE_FAILED,
        }
    }

    /// Reads `status.phase`. An empty one, and a word that nobody knows, is none.
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == text)
    }
}

/// Which of OpenShift's two machine APIs is in charge of an object, as one of its fields says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MachineAuthority {
    /// Nothing is said.
    #[default]
    Unset,
    /// This one.
    MachineApi,
    /// Cluster API.
    ClusterApi,
    /// They are changing places.
    Migrating,
    /// A word that nobody knows.
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
    fn phases_and_authorities_are_read_as_they_are_written() {
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
        assert_eq!(MachineAuthority::read(Some("Somebody")), MachineAuthority::Unknown);
    }
}
