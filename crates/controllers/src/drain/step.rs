//! How far a drain is. A closed list: the reasons of the condition `Drained`, from which a drain also resumes.

use machinist_api::names::{SEVERITY_INFO, SEVERITY_WARNING};

/// How far a drain is. Reasons are never renamed: people write alerts on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// A preDrain hook keeps it from beginning.
    WaitingForHooks,
    /// Another control-plane node is cordoned.
    WaitingForControlPlane,
    /// The Node is to be cordoned.
    Cordoning,
    /// There are pods that nobody has tried to evict yet.
    Evicting,
    /// Evictions are refused, by budgets or for other reasons.
    EvictionBlocked,
    /// All pods are on their way out.
    WaitingForPods,
    /// The pods are gone, their volumes are not.
    WaitingForVolumes,
    /// Pods are removed without asking anybody.
    Forcing,
    /// Nobody could find out what is on the node.
    CannotLook,
    /// Done: there was nothing to drain, or it is not wanted.
    Skipped,
    /// Done: the Node does not exist.
    NodeGone,
    /// Done: the node is empty.
    Succeeded,
    /// Done: the node is empty, but volumes are still attached and were given up on.
    VolumesLeft,
    /// Done: pods were removed, or left, without asking anybody.
    Forced,
}

impl Step {
    /// Every step, for docs and tests.
    pub const ALL: [Self; 14] = [
        Self::WaitingForHooks,
        Self::WaitingForControlPlane,
        Self::Cordoning,
        Self::Evicting,
        Self::EvictionBlocked,
        Self::WaitingForPods,
        Self::WaitingForVolumes,
        Self::Forcing,
        Self::CannotLook,
        Self::Skipped,
        Self::NodeGone,
        Self::Succeeded,
        Self::VolumesLeft,
        Self::Forced,
    ];

    /// The reason of the condition `Drained`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WaitingForHooks => "WaitingForHooks",
            Self::WaitingForControlPlane => "WaitingForControlPlane",
            Self::Cordoning => "Cordoning",
            Self::Evicting => "Evicting",
            Self::EvictionBlocked => "EvictionBlocked",
            Self::WaitingForPods => "WaitingForPods",
            Self::WaitingForVolumes => "WaitingForVolumes",
            Self::Forcing => "Forcing",
            Self::CannotLook => "CannotLook",
            Self::Skipped => "Skipped",
            Self::NodeGone => "NodeGone",
            Self::Succeeded => "Succeeded",
            Self::VolumesLeft => "VolumesLeft",
            Self::Forced => "Forced",
        }
    }

    /// Reads a reason. Somebody else's, such as OpenShift's `DrainError`, is none of ours.
    pub fn read(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.as_str() == reason)
    }

    /// Whether the drain is over: the condition is True.
    pub fn is_done(self) -> bool {
        match self {
            Self::Skipped | Self::NodeGone | Self::Succeeded | Self::VolumesLeft | Self::Forced => {
                true
            }
            Self::WaitingForHooks
            | Self::WaitingForControlPlane
            | Self::Cordoning
            | Self::Evicting
            | Self::EvictionBlocked
            | Self::WaitingForPods
            | Self::WaitingForVolumes
            | Self::Forcing
            | Self::CannotLook => false,
        }
    }

    /// Whether pods were already being moved at this step.
    pub fn moves_pods(self) -> bool {
        matches!(
            self,
            Self::Evicting
                | Self::EvictionBlocked
                | Self::WaitingForPods
                | Self::WaitingForVolumes
                | Self::Forcing
        )
    }

    /// How bad it is to be at this step.
    pub fn severity(self) -> &'static str {
        match self {
            Self::EvictionBlocked | Self::CannotLook | Self::Forcing => SEVERITY_WARNING,
            _ => SEVERITY_INFO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_read_as_it_is_written() {
        for step in Step::ALL {
            assert_eq!(Step::read(step.as_str()), Some(step));
        }
        assert_eq!(Step::read("DrainError"), None);
    }
}
