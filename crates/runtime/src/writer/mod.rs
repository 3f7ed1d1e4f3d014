//! The one writer: every write to Kubernetes and every call that changes a cloud goes through here.
//!
//! [`gateway`] checks the lease, bounds the time, skips dry runs, counts and audits. A [`Writer`] sets preconditions,
//! stores the answer in the cache or marks the key uncertain, and returns `None` in a dry run.

mod behalf;
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

use machinist_domain::safety::{EffectKind, Initiator, ObjectRef};

pub(crate) use self::behalf::Behalf;
pub use self::cloud::{CloudCall, CloudWriteError};
pub use self::error::WriteError;
pub use self::gateway::Gateway;
pub(crate) use self::gateway::{Sender, Verb, Write};
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
    /// `None` where freezes stop nothing: outside of a reconcile, and in commands of a user.
    behalf: Option<Behalf>,
    /// What its writes are to freezes, where that is not what they look like.
    effect: Option<EffectKind>,
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
            behalf: None,
            effect: None,
        }
    }

    /// The same writer with another cluster for Nodes; `None` makes writes to Nodes fail.
    #[must_use]
    pub fn with_target(self, session: Option<Session>) -> Self {
        let target = Self { session, target: None, ..self.clone() };
        Self { target: Some(Arc::new(target)), ..self }
    }

    #[must_use]
    pub(crate) fn for_reconcile(&self, writes: &SelfWrites, behalf: Option<&Behalf>) -> Self {
        let target = self.target.as_ref();
        let target = target.map(|target| Arc::new(target.for_reconcile(writes, behalf)));
        let (self_writes, behalf) = (Some(writes.clone()), behalf.cloned());
        Self { target, self_writes, behalf, ..self.clone() }
    }

    /// The same writer for changes of an object that the reconciled one does not own: its freezes stop them, too.
    #[must_use]
    pub fn also_for(&self, object: ObjectRef) -> Self {
        Self { behalf: self.behalf.clone().map(|behalf| behalf.and(object)), ..self.clone() }
    }

    /// The same writer for changes that this initiator wants: freezes need not stop what users ask for. Without this,
    /// it is a user.
    #[must_use]
    pub fn initiated_by(&self, initiator: Initiator) -> Self {
        let target = self.target.as_ref();
        let target = target.map(|target| Arc::new(target.initiated_by(initiator)));
        let behalf = self.behalf.clone().map(|behalf| behalf.initiated_by(initiator));
        Self { target, behalf, ..self.clone() }
    }

    pub(crate) fn behalf(&self) -> Option<&Behalf> {
        self.behalf.as_ref()
    }

    /// The same writer for a write that leads to this effect: if a freeze stops the effect, it stops the write.
    #[must_use]
    pub fn leading_to(&self, effect: EffectKind) -> Self {
        Self { effect: Some(effect), ..self.clone() }
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
        let sender = Sender {
            party: self.controller,
            leadership: &self.leadership,
            freeze: self.behalf.as_ref().zip(self.effect.or_else(|| write.effect())),
        };
        self.gateway.send(session, sender, write, plan).await
    }
}
