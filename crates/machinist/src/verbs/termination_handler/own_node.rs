//! Reads the own Node live and writes its conditions.

use std::sync::Arc;

use machinist_api::resource::NODES;
use machinist_api::wire::Node;
use machinist_domain::conditions::Condition;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::{ApiError, Cluster, Session};
use machinist_runtime::lease::Leadership;
use machinist_runtime::metrics::Metrics;
use machinist_runtime::timings::Timings;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::{Gateway, WriteError, Writer, Written};

use super::PARTY;

/// Attempts before a backoff: the kubelet writes the status too, so conflicts are normal.
const ATTEMPTS: u32 = 5;

#[derive(Debug, thiserror::Error)]
pub(super) enum NodeError {
    #[error("cannot read the Node: {0}")]
    Read(#[from] ApiError),
    #[error("cannot parse the Node: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("cannot write the Node: {0}")]
    Write(#[from] WriteError),
}

#[derive(Debug)]
pub(super) struct OwnNode {
    name: String,
    session: Session,
    writer: Writer,
    clock: SharedClock,
}

impl OwnNode {
    /// Needs no lease: a second handler on the Node would write the same.
    pub(super) fn new(
        name: &str,
        cluster: &Cluster,
        timings: &Timings,
        clock: SharedClock,
    ) -> Self {
        let gateway = Gateway::new(false, timings.cloud_call, Arc::new(Metrics::default()));
        let session = cluster.session(UserAgent::of(PARTY));
        let writer = Writer::new(Arc::new(gateway), session.clone(), PARTY, Leadership::NotNeeded);
        Self { name: name.to_owned(), session, writer, clock }
    }

    pub(super) async fn set(&self, condition: &Condition) -> Result<(), NodeError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.set_once(condition).await {
                Err(NodeError::Write(error)) if error.conflict() && attempts < ATTEMPTS => {}
                Ok(Written::Nothing) => {
                    tracing::info!(condition = &*condition.kind, "Node has the condition already");
                    return Ok(());
                }
                result => return result.map(drop),
            }
        }
    }

    async fn set_once(&self, condition: &Condition) -> Result<Written, NodeError> {
        let path = NODES.object_path("", &self.name);
        let timeout = self.session.request_timeout();
        let node = self.session.get(&path, "application/json", timeout).await?;
        let node: Node = serde_json::from_slice(&node)?;
        let plan = condition.message.as_deref().unwrap_or_default();
        Ok(self.writer.set_node_condition(&node, condition, self.clock.now(), &plan).await?)
    }
}
