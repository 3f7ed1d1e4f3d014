//! The [`Controller`] trait, its declaration, and the driver that runs it.

pub mod declaration;
mod driver;
mod messages;
mod pending_events;
pub mod start;

use std::fmt::Display;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_domain::conditions::Condition;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::report::Report;
use serde_json::Value;

use self::declaration::Declaration;
use crate::cache::AnyCache;
use crate::cluster::ApiError;
use crate::events::Regarding;
use crate::queue::Queue;
use crate::writer::{WriteError, Writer};

/// A controller in four stages.
pub trait Controller: Send + Sync + 'static {
    /// What was observed of an object and related objects.
    type Snapshot: Send + Sync;
    /// What to do, as printable data.
    type Plan: Display + Send + Sync;
    /// The results of `act`.
    type Outcome: Send + Sync;

    /// The declaration.
    const DECLARATION: Declaration;
    /// The name in flags, metrics, leases and logs.
    const NAME: &'static str = Self::DECLARATION.name;

    /// The caches that it reads, relisted for a new leader; the keys of the first one are the keys of the queue.
    fn caches(&self) -> Vec<Arc<dyn AnyCache>>;

    /// Enqueues a key whenever a related object changes.
    fn subscribe(&self, queue: &Arc<Queue>);

    /// Gathers the snapshot; `None` if the object does not exist.
    fn observe(
        &self,
        key: &ObjectKey,
    ) -> impl Future<Output = Result<Option<Self::Snapshot>, ApiError>> + Send;

    /// Chooses what to do; pure.
    fn decide(&self, snapshot: &Self::Snapshot, now: Timestamp) -> Self::Plan;

    /// Executes the plan.
    fn act(
        &self,
        snapshot: &Self::Snapshot,
        plan: &Self::Plan,
        writer: &Writer,
    ) -> impl Future<Output = Self::Outcome> + Send;

    /// Derives status, Events and requeue; pure.
    fn report(
        &self,
        snapshot: &Self::Snapshot,
        plan: &Self::Plan,
        outcome: &Self::Outcome,
        now: Timestamp,
    ) -> Report;

    /// The conditions of the object as they are stored, where the condition `Frozen` is to be among them. By default it
    /// is not written: an object that is one of many shows it on its owner.
    fn conditions(&self, snapshot: &Self::Snapshot) -> Option<Vec<Condition>> {
        let _ = snapshot;
        None
    }

    /// Writes the status patch of the report, before the Events; `None` if nothing was written. By default it is
    /// dropped: a controller that reports a status must implement this.
    fn write_status(
        &self,
        snapshot: &Self::Snapshot,
        plan: &Self::Plan,
        status: &Value,
        writer: &Writer,
    ) -> impl Future<Output = Result<Option<Meta>, WriteError>> + Send {
        let _ = (snapshot, plan, status, writer);
        std::future::ready(Ok(None))
    }

    /// The object that the Events are about.
    fn regarding<'a>(&self, snapshot: &'a Self::Snapshot) -> Regarding<'a>;
}
