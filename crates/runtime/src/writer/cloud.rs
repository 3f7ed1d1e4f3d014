//! Sends calls that change a cloud, by the same rules as writes to Kubernetes: not without the lease, not against a
//! freeze, not in a dry run, no longer than the lease lasts, with one audit line and one count per call. A call may be
//! several requests: it runs within a [`Permit`], which providers check directly before each one that changes
//! something.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::ObjectKey;
use machinist_domain::permit::{self, Permit};
use machinist_domain::retry::{Category, Classified, Retry};
use machinist_domain::safety::{EffectKind, Refusal};
use parking_lot::Mutex;

use super::Writer;
use crate::messages;

/// Provider, verb and object of a call, for audit line and metric.
#[derive(Debug, Clone, Copy)]
pub struct CloudCall<'a> {
    pub provider: &'static str,
    /// `create`, `update` or `delete`.
    pub verb: &'static str,
    /// What freezes may stop.
    pub effect: EffectKind,
    /// The Machine or group.
    pub key: &'a ObjectKey,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloudWriteError<E: std::error::Error> {
    /// This process does not hold the lease. Nothing was sent, or no more since the lease ended.
    #[error("{}", messages::not_called(.0))]
    NotLeader(&'static str),
    /// A freeze stops it. Nothing was sent, or no more since the freeze began.
    #[error(transparent)]
    Frozen(Refusal),
    /// No answer in time; the call may have been executed.
    #[error("{}", messages::no_answer_from_cloud(.0))]
    TimedOut(Duration),
    #[error(transparent)]
    Cloud(E),
}

/// Why no more requests of a call were sent.
enum Stopped {
    NotLeader,
    Frozen(Refusal),
}

impl<E: Classified> Classified for CloudWriteError<E> {
    fn category(&self) -> Category {
        match self {
            Self::NotLeader(_) => Category::NotLeader,
            Self::Frozen(refusal) => refusal.category(),
            Self::TimedOut(_) => Category::Unavailable,
            Self::Cloud(error) => error.category(),
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::NotLeader(_) | Self::TimedOut(_) => Retry::Backoff,
            Self::Frozen(refusal) => refusal.retry(),
            Self::Cloud(error) => error.retry(),
        }
    }
}

impl Writer {
    /// Executes `work`, which changes a cloud. `None` in a dry run.
    pub async fn change_cloud<T, E: Classified>(
        &self,
        call: CloudCall<'_>,
        plan: &(dyn Display + Sync),
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<Option<T>, CloudWriteError<E>> {
        let answer = self.change_cloud_if_allowed(call.effect, work).await;
        let result = match &answer {
            Ok(Some(_)) => "done",
            Ok(None) => "dry-run",
            Err(error) => error.category().as_str(),
        };
        let (party, CloudCall { provider, verb, effect: _, key }) = (self.controller, call);
        match &answer {
            Ok(_) | Err(CloudWriteError::Frozen(_)) => {
                tracing::info!(target: "audit", party, provider, verb, %key, %plan, result, "cloud");
            }
            Err(error) => {
                tracing::warn!(target: "audit", party, provider, verb, %key, %plan, result, %error, "cloud");
            }
        }
        let labels =
            [("controller", party), ("provider", provider), ("verb", verb), ("result", result)];
        self.gateway.metrics.cloud_writes.get_or_create(&labels).inc();
        answer
    }

    async fn change_cloud_if_allowed<T, E: Classified>(
        &self,
        effect: EffectKind,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<Option<T>, CloudWriteError<E>> {
        if self.gateway.dry_run {
            return Ok(None);
        }
        let behalf = self.behalf.clone();
        let unfrozen = move || behalf.as_ref().map_or(Ok(()), |behalf| behalf.permit(effect));
        unfrozen().map_err(CloudWriteError::Frozen)?;
        let limit = self.gateway.cloud_limit;
        let left = self.leadership.time_left(limit);
        let left = left.ok_or(CloudWriteError::NotLeader(self.controller))?;
        let sending = self.leadership.sending();
        let stopped = Arc::<Mutex<Option<Stopped>>>::default();
        let permit = {
            let (leadership, stopped) = (self.leadership.clone(), Arc::clone(&stopped));
            Permit::new(move || {
                let left = leadership.time_left(limit).ok_or(Stopped::NotLeader);
                let left = left.and_then(|left| unfrozen().map_err(Stopped::Frozen).map(|()| left));
                left.map_err(|why| drop(stopped.lock().replace(why))).ok()
            })
        };
        let answer = tokio::time::timeout(left, permit::within(permit, work)).await;
        let answer = answer.map_err(|_| CloudWriteError::TimedOut(left))?;
        // An earlier part may be unanswered, so `sending` is.
        match stopped.lock().take().filter(|_| answer.is_err()) {
            Some(Stopped::NotLeader) => return Err(CloudWriteError::NotLeader(self.controller)),
            Some(Stopped::Frozen(refusal)) => return Err(CloudWriteError::Frozen(refusal)),
            None => {}
        }
        let clear =
            |error: &E| !matches!(error.category(), Category::Unavailable | Category::Unexpected);
        if answer.as_ref().err().is_none_or(clear) {
            sending.answered();
        }
        answer.map(Some).map_err(CloudWriteError::Cloud)
    }
}

#[cfg(test)]
mod tests;
