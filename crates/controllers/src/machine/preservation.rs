//! How the preservation of a Machine stands: what is requested, what is stored, and whether the Machine has failed.
//! Pure. Not here: what is written (`decide/preservation.rs`), and how others count the Machine
//! ([`preservation`](crate::preservation)).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::{
    ANNOTATION_HEALTH_TIMEOUT, ANNOTATION_PRESERVE, ANNOTATION_PRESERVE_TIMEOUT,
    CONDITION_PRESERVED, CONDITION_READY, NO_SCHEDULE, TAINT_PRESERVED,
};
use machinist_domain::conditions::whole_seconds;

use super::in_place;
use super::report::is_without_node;
use super::snapshot::View;
use crate::drain::{Step, StoredStep};
use crate::kinds::{Node, Taint};
use crate::preservation::{Request, has_failed, on_node, until};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is not requested, as far as its Node can be read, or its Machine has not failed or has recovered.
    Off,
    /// It begins, and this is to be stored as its end.
    Begins(Timestamp),
    Kept {
        until: Timestamp,
        failed: bool,
    },
    /// It ended at that time. The stored time stays while the request does, so that it does not begin again.
    Expired(Timestamp),
}

impl View {
    pub(super) fn preserve_request(&self) -> Request<'_> {
        Request::of(&self.machine, self.node.as_deref().and_then(on_node))
    }

    pub(super) fn preservation(&self, now: Timestamp) -> Standing {
        if self.machine.meta.deleting {
            return Standing::Off;
        }
        let stored = until(&self.machine);
        let request = self.preserve_request();
        let failed = self.counts_as_failed(request, stored.is_some(), now);
        match (request, stored) {
            (Request::None, Some(_)) if !self.may_be_requested() => Standing::Off,
            (Request::None | Request::Invalid(_), None) => Standing::Off,
            (Request::WhenFailed, _) if !failed => Standing::Off,
            (_, None) => Standing::Begins(self.preserved_until(now)),
            (_, Some(until)) if now < until => Standing::Kept { until, failed },
            (_, Some(until)) => Standing::Expired(until),
        }
    }

    /// Whether its Node may request what the Machine does not: that Node is gone or cannot be read.
    fn may_be_requested(&self) -> bool {
        let linked = self.machine.status.node_ref.is_some();
        linked && self.node.is_none() && !self.machine.annotations.contains(ANNOTATION_PRESERVE)
    }

    fn preserved_until(&self, now: Timestamp) -> Timestamp {
        let own = self.duration(ANNOTATION_PRESERVE_TIMEOUT);
        let time = own.unwrap_or(self.rules.limits.preserved);
        whole_seconds(now.checked_add(time).unwrap_or(Timestamp::MAX))
    }

    /// A Machine whose Node was not ready for long enough counts as failed until the Node is ready again. With `now`,
    /// it may be not ready for that long again, because the preservation goes on.
    fn counts_as_failed(&self, request: Request<'_>, begun: bool, now: Timestamp) -> bool {
        let sticky = begun && request != Request::Now && self.is_unhealthy();
        has_failed(&self.machine) || sticky || self.fails_at().is_some_and(|at| at <= now)
    }

    fn is_unhealthy(&self) -> bool {
        let linked = self.machine.status.node_ref.is_some();
        linked && !self.node.as_ref().is_some_and(|node| node.is_ready())
    }

    /// When the Machine counts as failed because its Node is not ready or gone; `None` if that is not known.
    fn fails_at(&self) -> Option<Timestamp> {
        if !self.is_unhealthy() {
            return None;
        }
        let missing = || {
            let ready = self.machine.condition(CONDITION_READY);
            ready.filter(|ready| is_without_node(ready)).and_then(|it| it.last_transition)
        };
        let since = self.node.as_ref().map_or_else(missing, |node| node.readiness.since);
        let own = self.duration(ANNOTATION_HEALTH_TIMEOUT);
        since?.checked_add(own.unwrap_or(self.rules.limits.unhealthy)).ok()
    }

    /// When the standing changes without a change of an object.
    pub(super) fn preservation_changes_in(&self, now: Timestamp) -> Option<Duration> {
        let requested = matches!(self.preserve_request(), Request::Now | Request::WhenFailed);
        let fails = self.fails_at().filter(|at| requested && *at > now);
        let ends = match self.preservation(now) {
            Standing::Kept { until, .. } => Some(until),
            _ => None,
        };
        let next = fails.into_iter().chain(ends).min()?;
        // Not a moment too early: the time must be over.
        let wait = now.duration_until(next).checked_add(SignedDuration::from_millis(1))?;
        wait.try_into().ok()
    }

    pub(super) fn duration(&self, annotation: &str) -> Option<Duration> {
        let text = self.machine.annotations.get(annotation)?;
        text.parse::<SignedDuration>().ok()?.try_into().ok()
    }

    /// The step of the drain of a preserved Machine: the reason of its condition.
    pub(super) fn preservation_step(&self) -> Option<StoredStep> {
        let stored = self.machine.condition(CONDITION_PRESERVED).filter(|it| it.is_true())?;
        let step = stored.reason.as_deref().and_then(Step::read)?;
        Some(StoredStep { step, since: stored.last_transition })
    }

    /// Whether pods are to leave the Node of a preserved Machine. The taint keeps new ones away, so it comes first.
    pub(super) fn drains_preserved(&self, now: Timestamp) -> bool {
        let failed = matches!(self.preservation(now), Standing::Kept { failed: true, .. });
        let tainted =
            self.node.as_deref().is_some_and(|node| has_taint(node) && !node.meta.deleting);
        let done = self.preservation_step().is_some_and(|stored| stored.step.is_done());
        failed && tainted && !done && !in_place::is_draining(self)
    }
}

pub(super) fn is_preserved_taint(taint: &Taint) -> bool {
    &*taint.key == TAINT_PRESERVED && &*taint.effect == NO_SCHEDULE
}

pub(super) fn has_taint(node: &Node) -> bool {
    node.taints.iter().any(is_preserved_taint)
}
