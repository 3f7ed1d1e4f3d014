//! The condition `MachinesPreserved`: which Machines of the set are kept for debugging, until when, and whether the set
//! has more Machines than `spec.replicas` because of them.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names::CONDITION_MACHINES_PRESERVED;
use machinist_domain::conditions::Condition;

use super::super::decide::desired_replicas;
use super::super::messages;
use super::super::snapshot::{Member, View};
use super::status::Changes;
use crate::preservation::Preserved;

const PRESERVED: &str = "Preserved";

/// `None` if there are none.
pub(super) fn condition(view: &View, changes: Changes<'_>, now: Timestamp) -> Option<Condition> {
    let preserved: Vec<_> =
        preserved(view, now).map(|(member, it)| (&*member.key.name, it.until)).collect();
    if preserved.is_empty() {
        return None;
    }
    let total = view.members.len() + changes.created - changes.deleted.len();
    let excess = desired_replicas(&view.set).map_or(0, |desired| total.saturating_sub(desired));
    let excess = excess.min(preserved.len());
    let text = messages::machines_preserved(preserved, excess);
    Some(Condition::yes(CONDITION_MACHINES_PRESERVED).because(PRESERVED, text))
}

/// When the next preservation ends.
pub(super) fn ends_in(view: &View, now: Timestamp) -> Option<Duration> {
    let next = preserved(view, now).filter_map(|(_, preserved)| preserved.until).min()?;
    now.duration_until(next).checked_add(SignedDuration::from_millis(1))?.try_into().ok()
}

fn preserved(view: &View, now: Timestamp) -> impl Iterator<Item = (&Member, Preserved)> {
    view.members.iter().filter_map(move |member| Some((member, member.preserved(now)?)))
}
