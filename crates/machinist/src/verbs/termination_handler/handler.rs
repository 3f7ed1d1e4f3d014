//! What was announced and what was told: two notices, each on its way from the metadata service to the Node.
//!
//! A notice that was seen is kept until the Node has it, also if the metadata service is silent by then.

use machinist_domain::conditions::Condition;

use super::imds::{Imds, ImdsError};
use super::own_node::{NodeError, OwnNode};

/// Why a pass did not get to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum PassError {
    #[error("instance metadata: {0}")]
    Imds(#[from] ImdsError),
    #[error("node: {0}")]
    Node(#[from] NodeError),
}

/// How far a notice has come.
#[derive(Debug)]
enum Progress {
    /// The metadata service knows of none.
    Awaited,
    /// The Node is to say this.
    Seen(Condition),
    /// The Node says so.
    Told,
}

/// Carries notices to the Node.
#[derive(Debug)]
pub(super) struct Handler {
    imds: Imds,
    node: OwnNode,
    termination: Progress,
    rebalance: Progress,
}

impl Handler {
    pub(super) fn new(imds: Imds, node: OwnNode) -> Self {
        Self { imds, node, termination: Progress::Awaited, rebalance: Progress::Awaited }
    }

    /// Whether the end of the instance is told. What else could be said does not matter any more.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.termination, Progress::Told)
    }

    /// Asks once for whatever is not known yet, and tells it. Trouble with one notice does not keep the other.
    pub(super) async fn pass(&mut self) -> Result<(), PassError> {
        let Self { imds, node, termination, rebalance } = self;
        let first = termination.advance(node, async || imds.termination().await).await;
        if matches!(termination, Progress::Told) {
            return Ok(());
        }
        let second = rebalance.advance(node, async || imds.rebalance().await).await;
        first.and(second)
    }
}

impl Progress {
    async fn advance(
        &mut self,
        node: &OwnNode,
        ask: impl AsyncFnOnce() -> Result<Option<Condition>, ImdsError>,
    ) -> Result<(), PassError> {
        if let Self::Awaited = self
            && let Some(condition) = ask().await?
        {
            let message = condition.message.as_deref();
            tracing::warn!(condition = &*condition.kind, message, "notice");
            *self = Self::Seen(condition);
        }
        if let Self::Seen(condition) = self {
            node.set(condition).await?;
            *self = Self::Told;
        }
        Ok(())
    }
}
