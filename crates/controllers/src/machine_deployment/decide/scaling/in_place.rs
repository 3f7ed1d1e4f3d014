//! Sizes during an update in place: Machines keep their sets until they are moved, so only the sum is kept.

use super::{Fleet, Guard, Step};

impl Fleet<'_> {
    /// As [`step`](Self::step), for an update in place.
    pub(in crate::machine_deployment::decide) fn step_in_place(&self) -> Step {
        let step = match self.new {
            _ if self.paused => self.paused(),
            None => None,
            // The new set creates no Machines: those that are missing are created from a template that works.
            Some(new) if self.guard == Guard::Aborted => self.roll(new),
            Some(new) => self.update_in_place(new),
        };
        step.unwrap_or_else(|| self.rest())
    }

    /// Missing Machines are created from the current template, with a surge more of them while there are old ones. When
    /// the new set has all its Machines, the old ones that the surge has replaced go.
    fn update_in_place(&self, new: usize) -> Option<Step> {
        let rolling = self.active_old().next().is_some();
        let most = if rolling { self.limit() } else { self.replicas };
        let room = self.replicas.saturating_sub(self.sets[new].desired);
        self.shrink(most)
            .or_else(|| {
                let excess = self.sets[new].desired.saturating_sub(self.replicas);
                self.lower(new, excess, self.spare())
            })
            .or_else(|| self.unmark(new))
            .or_else(|| self.raise(new, most.saturating_sub(self.wanted()).min(room)))
            .or_else(|| if room == 0 { self.replace(new) } else { None })
    }
}
