//! A notice is kept until it is written to the Node, even if the metadata service no longer answers by then.

use anyhow::{Context as _, Result};
use machinist_domain::conditions::Condition;

use super::imds::Imds;
use super::messages;
use super::own_node::OwnNode;

#[derive(Debug)]
enum Progress {
    Awaited,
    Seen(Condition),
    Written,
}

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

    /// Whether the Node has `Terminating`. Other notices are irrelevant then.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.termination, Progress::Written)
    }

    /// Requests the notices that are not known yet and writes them. A failure of one does not block the other.
    pub(super) async fn poll(&mut self) -> Result<()> {
        let Self { imds, node, termination, rebalance } = self;
        let first = termination.advance(node, async || imds.termination().await).await;
        if matches!(termination, Progress::Written) {
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
        ask: impl AsyncFnOnce() -> Result<Option<Condition>>,
    ) -> Result<()> {
        if let Self::Awaited = self
            && let Some(condition) = ask().await.context(messages::METADATA)?
        {
            let message = condition.message.as_deref();
            tracing::warn!(condition = &*condition.kind, message, "notice");
            *self = Self::Seen(condition);
        }
        if let Self::Seen(condition) = self {
            node.set(condition).await?;
            *self = Self::Written;
        }
        Ok(())
    }
}
