//! The one writer: every write to Kubernetes and every call that changes a cloud goes through here.
//!
//! [`gateway`] checks the lease, bounds the time, skips dry runs, counts and audits. A [`Writer`] sets preconditions,
//! stores the answer in the cache or marks the key uncertain, and returns `None` in a dry run.

mod cloud;
mod create;
mod delete;
mod error;
mod evict;
mod gateway;
mod node_condition;
mod patch;
mod uncertain;

use std::fmt::Display;
use std::sync::Arc;

pub use self::cloud::{CloudCall, CloudWriteError};
pub use self::error::WriteError;
pub use self::gateway::Gateway;
pub(crate) use self::gateway::{Verb, Write};
pub use self::patch::{Guard, Part};
use crate::cluster::Session;
use crate::lease::Leadership;
use crate::self_writes::SelfWrites;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    Done,
    Nothing,
    /// Skipped by dry run.
    LeftOut,
}

/// A controller's handle for writes to the control cluster, to the target cluster ([`Writer::target`]) and to clouds.
#[derive(Debug, Clone)]
pub struct Writer {
    gateway: Arc<Gateway>,
    /// `None` if there is no such cluster.
    session: Option<Session>,
    controller: &'static str,
    pub(crate) leadership: Leadership,
    /// `None` if this writes to the target cluster already.
    target: Option<Arc<Writer>>,
    /// `None` outside of a reconcile.
    self_writes: Option<SelfWrites>,
}

impl Writer {
    /// A writer for `controller` while `leadership` lasts. The Nodes are in the same cluster.
    pub fn new(
        gateway: Arc<Gateway>,
        session: Session,
        controller: &'static str,
        leadership: Leadership,
    ) -> Self {
        Self {
            gateway,
            session: Some(session),
            controller,
            leadership,
            target: None,
            self_writes: None,
        }
    }

    /// The same writer with another cluster for Nodes; `None` makes writes to Nodes fail.
    #[must_use]
    pub fn with_target(self, session: Option<Session>) -> Self {
        let target = Self { session, target: None, ..self.clone() };
        Self { target: Some(Arc::new(target)), ..self }
    }

    #[must_use]
    pub(crate) fn for_reconcile(&self, writes: &SelfWrites) -> Self {
        let target = self.target.as_ref().map(|target| Arc::new(target.for_reconcile(writes)));
        Self { self_writes: Some(writes.clone()), target, ..self.clone() }
    }

    /// The writer for the cluster with the Nodes.
    pub fn target(&self) -> &Self {
        self.target.as_deref().unwrap_or(self)
    }

    async fn send(
        &self,
        write: &Write<'_>,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<bytes::Bytes>, WriteError> {
        let no_target = WriteError::NoTarget(self.controller);
        let session = self.session.as_ref().ok_or(no_target)?;
        self.gateway.send(session, self.controller, &self.leadership, write, plan).await
    }
}
