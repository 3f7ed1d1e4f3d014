//! How a controller runs: [`Controller`] is what it has to bring, [`driver`] turns keys into passes, [`start`] waits for what it needs.
//!
//! The four stages are a trait, so that no controller can leave one out or mix two: `observe` reads, `decide` and `report` are pure, `act`
//! writes. The driver calls them in this order, once per key and pass, and carries the report out.

pub mod declaration;
mod driver;
mod refused;
pub mod start;
mod unsaid;

use std::fmt::Display;
use std::sync::Arc;

use jiff::Timestamp;
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
    /// What was observed of an object and its surroundings.
    type Snapshot: Send + Sync;
    /// What to do, as data that can be printed.
    type Plan: Display + Send + Sync;
    /// What came of it.
    type Outcome: Send + Sync;

    /// What it declares about itself.
    const DECLARATION: Declaration;
    /// The name in flags, metrics, leases and logs.
    const NAME: &'static str = Self::DECLARATION.name;

    /// The caches that it reads, first the one whose objects are the keys of its queue. The driver waits for them, and verifies them before the
    /// first decision of a new leader.
    fn caches(&self) -> Vec<Arc<dyn AnyCache>>;

    /// Puts a key into the queue whenever something changes that concerns it.
    fn subscribe(&self, queue: &Arc<Queue>);

    /// Gathers what is known. `None`: there is nothing to look at (any more).
    fn observe(
        &self,
        key: &ObjectKey,
    ) -> impl Future<Output = Result<Option<Self::Snapshot>, ApiError>> + Send;

    /// Decides; pure.
    fn decide(&self, snapshot: &Self::Snapshot, now: Timestamp) -> Self::Plan;

    /// Carries the plan out.
    fn act(
        &self,
        snapshot: &Self::Snapshot,
        plan: &Self::Plan,
        writer: &Writer,
    ) -> impl Future<Output = Self::Outcome> + Send;

    /// Says what came of it; pure.
    fn report(
        &self,
        snapshot: &Self::Snapshot,
        plan: &Self::Plan,
        outcome: &Self::Outcome,
        now: Timestamp,
    ) -> Report;

    /// Writes what `report` says about the status: a merge patch of the status alone, never empty. `None` means that nothing was written.
    ///
    /// For controllers whose reports have one; the driver calls it before it writes Events.
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

    /// The object that Events of this pass are about.
    fn regarding<'a>(&self, snapshot: &'a Self::Snapshot) -> Regarding<'a>;
}
