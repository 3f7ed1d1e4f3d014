//! The one writer: every write to Kubernetes and every change to a cloud goes through here, whoever wants it.
//!
//! [`gateway`] sends: it asks for the lease, bounds the time by what is left of it, leaves everything out in a dry run, counts, and writes one
//! audit line. [`Writer`] is a controller's door to it, one file for each kind of write: [`create`], [`patch`], [`delete`], [`evict`],
//! [`node_condition`], and [`cloud`] for what is not Kubernetes. Each builds the write with its preconditions, and tells the cache what came of it, or that
//! nobody knows ([`doubt`]). [`error`] says why a write did not happen, or may have.

pub mod cloud;
mod create;
mod delete;
mod doubt;
pub mod error;
mod evict;
pub mod gateway;
mod node_condition;
mod patch;

use std::fmt::Display;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use self::cloud::{CloudCall, CloudWriteError};
pub use self::error::WriteError;
pub use self::gateway::{Gateway, Verb, Write};
pub use self::patch::{Guard, Part};
use crate::cluster::Session;
use crate::lease::Leadership;
use crate::self_writes::SelfWrites;

/// What came of a write that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The API server has it.
    Done,
    /// There was nothing to change.
    Nothing,
    /// It is only a dry run.
    LeftOut,
}

/// A controller's way to write: to the cluster that holds the objects, to the one that has the nodes ([`Writer::target`]), and to clouds.
#[derive(Debug, Clone)]
pub struct Writer {
    gateway: Arc<Gateway>,
    /// `None` if there is no such cluster.
    session: Option<Session>,
    controller: &'static str,
    leadership: Leadership,
    /// `None` if this is the target cluster, too.
    target: Option<Arc<Writer>>,
    /// `None` outside of a reconcile.
    self_writes: Option<SelfWrites>,
}

impl Writer {
    /// A way to write for `controller`, while `leadership` lasts, to a cluster that has the nodes, too.
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

    /// The same, but the nodes are in another cluster, or nowhere: then writing there is an error.
    #[must_use]
    pub fn with_target(self, session: Option<Session>) -> Self {
        let target = Self { session, target: None, ..self.clone() };
        Self { target: Some(Arc::new(target)), ..self }
    }

    /// The same writer; it records the revisions that it writes.
    #[must_use]
    pub fn for_reconcile(&self, writes: &SelfWrites) -> Self {
        let target = self.target.as_ref().map(|target| Arc::new(target.for_reconcile(writes)));
        Self { self_writes: Some(writes.clone()), target, ..self.clone() }
    }

    /// The same writer on the cluster that has the nodes.
    pub fn target(&self) -> &Self {
        self.target.as_deref().unwrap_or(self)
    }

    async fn send(
        &self,
        write: &Write<'_>,
        plan: &(dyn Display + Sync),
    ) -> Result<Option<bytes::Bytes>, WriteError> {
        let no_target = WriteError::NoTarget { controller: self.controller };
        let session = self.session.as_ref().ok_or(no_target)?;
        self.gateway.send(session, self.controller, &self.leadership, write, plan).await
    }
}

/// The metadata of an object that is to be written, made if it has none. `None` if it is no object.
fn metadata_of(body: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = body.as_object_mut()?.entry("metadata").or_insert_with(|| Map::new().into());
    metadata.as_object_mut()
}
