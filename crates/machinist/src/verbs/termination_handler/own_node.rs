//! Reads the own Node live and writes its conditions.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use machinist_api::resource::NODES;
use machinist_api::wire::Node;
use machinist_domain::conditions::Condition;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::{ApiError, Cluster, Session};
use machinist_runtime::lease::Leadership;
use machinist_runtime::metrics::Metrics;
use machinist_runtime::timings::Timings;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::{Gateway, Writer, Written};

use super::{PARTY, messages};

/// Attempts before a backoff: the kubelet writes the status too, so conflicts are normal.
const ATTEMPTS: u32 = 5;

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

    pub(super) async fn set(&self, condition: &Condition) -> Result<()> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let node = self.read().await.with_context(|| self.cannot("read"))?;
            let node: Node =
                serde_json::from_slice(&node).with_context(|| self.cannot("decode"))?;
            let plan = condition.message.as_deref().unwrap_or_default();
            let now = self.clock.now();
            match self.writer.set_node_condition(&node, condition, now, &plan).await {
                Err(error) if error.conflict() && attempts < ATTEMPTS => {}
                Err(error) => return Err(error).context(self.cannot("update")),
                Ok(Written::Nothing) => {
                    tracing::info!(condition = &*condition.kind, "Node has the condition already");
                    return Ok(());
                }
                Ok(_) => return Ok(()),
            }
        }
    }

    fn cannot(&self, verb: &str) -> String {
        messages::cannot(verb, &self.name)
    }

    async fn read(&self) -> Result<Bytes, ApiError> {
        let path = NODES.object_path("", &self.name);
        self.session.get(&path, "application/json", self.session.request_timeout()).await
    }
}
