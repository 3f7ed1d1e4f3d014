//! Freezes: what stops changes that a cluster, or its users, cannot afford now.
//!
//! A [`Freeze`] has a reason and a [`Scope`]; all that are in force are the [`Ledger`]. A change is an [`Effect`], and
//! [`permit`] decides by [`TABLE`] whether it may be sent. The one writer asks before each request, so no controller
//! can forget it.

mod effect;
mod ledger;
pub mod messages;
pub mod reachability;
mod refusal;
mod report;
mod table;
pub mod threshold;

pub use self::effect::{Effect, EffectKind, Initiator, ObjectRef};
pub use self::ledger::{Freeze, Ledger, Reason, Scope, permit};
pub use self::refusal::Refusal;
pub use self::report::with_condition;
pub use self::table::{Row, TABLE};
pub use self::threshold::{Gauge, Limit, Limits};
