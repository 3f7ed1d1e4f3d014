//! What the suite needs from a provider crate.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::Uid;
use serde_json::value::RawValue;

use crate::Pending;
use crate::capacity::Realm;
use crate::cloud::Cloud;
use crate::cloud::ownership::Ownership;
use crate::spec::SpecHalf;

/// A provider, its cloud, and ways to make that misbehave.
pub trait Bed: Send + Sync {
    /// The spec half.
    fn specs(&self) -> Arc<dyn SpecHalf>;

    /// The cloud half. Its consistency window is a little longer than what [`Weather::Hidden`] hides.
    fn cloud(&self) -> Arc<dyn Cloud>;

    /// Whom to ask, as whom.
    fn realm(&self) -> Realm;

    /// A spec whose instance runs soon.
    fn good_spec(&self) -> Arc<RawValue>;

    /// A spec that can be read and prepared or not, but never made.
    fn impossible_spec(&self) -> Arc<RawValue>;

    /// How long anything may take: to run, to be gone, to be seen.
    fn patience(&self) -> Duration;

    /// How the cloud behaves from now on.
    fn weather(&self, weather: Weather) -> Pending<'_, ()>;

    /// Everything that was ever made for a machine, as it really is.
    fn truth<'a>(&'a self, machine: &'a Uid) -> Pending<'a, Vec<Found>>;

    /// Changes something on a machine's instance that [`Cloud::update`] repairs, as somebody might do by hand.
    fn spoil<'a>(&'a self, machine: &'a Uid) -> Pending<'a, ()>;
}

/// How a cloud behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Weather {
    /// Well.
    Fair,
    /// Creations are carried out, and their answers are lost.
    AnswersLost,
    /// New instances are not shown for a while.
    Hidden,
    /// Both: creations are carried out, their answers are lost, and what they made is not shown for a while.
    LostAndHidden,
    /// There is no room for new instances.
    NoRoom,
    /// Every call is told that there were too many.
    Throttled,
    /// Every call is refused for want of rights.
    Unauthorised,
    /// Every call fails for reasons of the cloud.
    Unavailable,
    /// Every answer makes no sense.
    Nonsense,
    /// Lists come in pages of two at most, or as small as the cloud makes them.
    SmallPages,
}

/// An instance as it really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The cloud's name for it.
    pub id: Arc<str>,
    /// Whether it exists: pending, running, stopped, being removed.
    pub exists: bool,
    /// How many things that came with it exist: volumes, interfaces, hosts, load-balancer entries.
    pub left: usize,
    /// Whose it says it is, if machinist made it.
    pub ownership: Option<Ownership>,
}
