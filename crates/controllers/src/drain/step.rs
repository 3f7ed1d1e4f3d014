//! The steps of a drain: the reasons of the condition `Drained`, from which a drain resumes.

use machinist_api::names::{SEVERITY_INFO, SEVERITY_WARNING};

machinist_api::named_enum! {
    /// A step of a drain. Stored conditions have these reasons: `read` must know the old name of a renamed one.
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
        // Its name before it was renamed, which the status of a Machine may still have.
        let reason = if reason == "CannotLook" { Self::CannotRead.as_str() } else { reason };
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

    #[test]
    fn reads_the_old_name_of_a_renamed_reason() {
        assert_eq!(Step::read("CannotLook"), Some(Step::CannotRead));
    }
}
