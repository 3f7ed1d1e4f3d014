//! Orphans: instances of this cluster that no Machine needs, and which of them may be deleted.
//!
//! [`judge()`] is pure and the only place that decides. [`Finder`] reads: it lists the cloud first and the Machines
//! afterwards. A Machine exists before its instance is requested and until that is gone, so it cannot be missing from
//! the second list. Used by `machinist orphans`.

mod finder;
mod judge;
mod messages;
mod places;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
mod verdict;
mod view;

use std::time::Duration;

pub use self::finder::{Finder, Listed, Settings, Survey};
pub use self::judge::{Rules, Sighting, judge};
pub use self::places::Unchecked;
pub use self::verdict::{Kept, Origin, Standing, Verdict};
pub use self::view::{Doubt, KnownMachine, KnownNode, View};

/// How old an orphan must be.
pub const GRACE: Duration = Duration::from_mins(30);
