//! The cloud: an instance per attempt, which is the idempotency token.

use machinist_provider::cloud::InstanceState;

const ATTEMPTS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    Pending,
    Running,
    Terminating,
    Terminated,
}

impl Stage {
    pub(super) fn state(self) -> InstanceState {
        match self {
            Self::Pending => InstanceState::Pending,
            Self::Running => InstanceState::Running,
            Self::Terminating => InstanceState::Terminating,
            Self::Terminated => InstanceState::Terminated,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Instance {
    pub(super) stage: Stage,
    pub(super) is_visible: bool,
}

/// Instances by attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Cloud(pub(super) [Option<Instance>; ATTEMPTS]);

impl Cloud {
    /// Executes a create request, once per attempt.
    pub(super) fn create(&mut self, attempt: usize) -> Stage {
        let new = Instance { stage: Stage::Pending, is_visible: false };
        self.0[attempt].get_or_insert(new).stage
    }

    pub(super) fn existing(self) -> usize {
        let exists = |instance: &&Instance| instance.stage.state().exists();
        self.0.iter().flatten().filter(exists).count()
    }

    /// The instance that a query returns: the one that exists, else the last one.
    pub(super) fn find(self) -> Option<(usize, Stage)> {
        let visible = || {
            let found = self.0.iter().enumerate().rev();
            let found = found.filter_map(|(attempt, instance)| Some((attempt, (*instance)?)));
            found.filter(|(_, instance)| instance.is_visible)
        };
        let existing = visible().find(|(_, instance)| instance.stage.state().exists());
        existing.or_else(|| visible().next()).map(|(attempt, instance)| (attempt, instance.stage))
    }

    /// Deletes what is visible; returns whether something is left of it.
    pub(super) fn delete(&mut self) -> bool {
        let mut left = false;
        for instance in self.0.iter_mut().flatten().filter(|instance| instance.is_visible) {
            if instance.stage != Stage::Terminated {
                instance.stage = Stage::Terminating;
                left = true;
            }
        }
        left
    }

    pub(super) fn shows(self, attempt: usize) -> bool {
        self.0[attempt].is_some_and(|instance| instance.is_visible)
    }

    pub(super) fn show_all(&mut self) {
        self.0.iter_mut().flatten().for_each(|instance| instance.is_visible = true);
    }
}
