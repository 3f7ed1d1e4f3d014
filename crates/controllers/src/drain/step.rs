//! The steps of a drain: the reasons of the condition `Drained`, from which a drain resumes.

use machinist_api::names::{SEVERITY_INFO, SEVERITY_WARNING};

machinist_api::named_enum! {
    /// A step of a drain. Reasons are never renamed: alerts depend on them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Step {
        /// A preDrain hook blocks it.
        WaitingForHooks,
        /// Another control-plane node is cordoned.
        WaitingForControlPlane,
        Cordoning,
        Evicting,
        /// Evictions are refused, mostly by disruption budgets.
        EvictionBlocked,
        /// All pods are terminating.
        WaitingForPods,
        WaitingForVolumes,
        /// Pods are deleted without eviction.
        Forcing,
        /// The node or its pods cannot be read.
        CannotRead,
        /// Done: there is nothing to drain, or the drain is disabled.
        Skipped,
        NodeGone,
        Succeeded,
        /// Done: the node is empty; volumes stayed attached for too long.
        VolumesLeft,
        /// Done: pods were deleted by force, or left.
        Forced,
    }
}

impl Step {
    /// Reads a reason; `None` for those of other controllers, such as OpenShift's `DrainError`.
    pub fn read(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.as_str() == reason)
    }

    /// Whether the drain is over: the condition is True.
    pub fn is_done(self) -> bool {
        matches!(
            self,
            Self::Skipped | Self::NodeGone | Self::Succeeded | Self::VolumesLeft | Self::Forced
        )
    }

    pub(super) fn moves_pods(self) -> bool {
        matches!(
            self,
            Self::Evicting
                | Self::EvictionBlocked
                | Self::WaitingForPods
                | Self::WaitingForVolumes
                | Self::Forcing
        )
    }

    pub(super) fn severity(self) -> &'static str {
        match self {
            Self::EvictionBlocked | Self::CannotRead | Self::Forcing => SEVERITY_WARNING,
            _ => SEVERITY_INFO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_reason_that_it_writes() {
        for step in Step::ALL {
            assert_eq!(Step::read(step.as_str()), Some(step));
        }
        assert_eq!(Step::read("DrainError"), None);
    }
}
