//! Groups that an interrupted recycle left at size zero, and that only their tags tell of: the status was lost, or the
//! EventRecycler was deleted by force. No events lead there, because a group at size zero has no nodes. Each group that
//! an EventRecycler names is checked once per process and spec, and again when the status was lost.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_api::event_recycler::recycle::{Recycle, Step};
use machinist_api::event_recycler::spec::Strategy;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_provider::node_groups::{Group, GroupRef, Sizes};
use parking_lot::Mutex;

use super::history;
use super::recycling::Mark;
use super::settings::Settings;
use crate::kinds::EventRecycler;

#[derive(Debug, Default)]
pub(super) struct AbandonedGroups(Mutex<HashMap<ObjectKey, Checked>>);

#[derive(Debug, Default)]
struct Checked {
    of: Option<(Uid, i64)>,
    /// Whether its status was stored. One that is empty again was lost.
    stored: bool,
    groups: BTreeSet<GroupRef>,
}

impl AbandonedGroups {
    /// Those of the named groups that were not checked. Fine ones count as checked from now on.
    pub(super) fn unchecked(
        &self,
        recycler: &EventRecycler,
        named: BTreeSet<GroupRef>,
        is_fine: impl Fn(&GroupRef) -> bool,
    ) -> Vec<GroupRef> {
        let mut all = self.0.lock();
        let checked = all.entry(recycler.meta.key.clone()).or_default();
        let of = Some((recycler.meta.uid.clone(), recycler.generation));
        let stored = recycler.status.counting.is_some();
        if checked.of != of || (checked.stored && !stored) {
            *checked = Checked { of, ..Checked::default() };
        }
        checked.stored = stored;
        let named = named.into_iter().filter(|group| !checked.groups.contains(group));
        let (fine, unchecked): (Vec<_>, Vec<_>) = named.partition(is_fine);
        checked.groups.extend(fine);
        unchecked
    }

    pub(super) fn forget(&self, recycler: &ObjectKey) {
        self.0.lock().remove(recycler);
    }
}

/// The groups that an EventRecycler names. `region` is the default region.
pub(super) fn named(
    settings: &Settings,
    status: &EventRecyclerStatus,
    region: Option<&Arc<str>>,
) -> BTreeSet<GroupRef> {
    let region = settings.region.as_ref().or(region);
    let spec = settings.groups.names().filter_map(|name| Some((&**region?, name)));
    let past = status.recycle_history.iter().flatten().filter(|entry| history::was_done(entry));
    let past = past.filter_map(|entry| {
        let region = entry.region.as_deref().or(region.map(|region| &**region))?;
        Some((region, entry.node_group.as_deref()?))
    });
    let past = past.filter(|(_, name)| settings.groups.has_name(name));
    spec.chain(past).map(|(region, name)| GroupRef::new(region, name)).collect()
}

pub(super) fn left_at_zero(group: &Group) -> Option<Mark> {
    let mark = group.mark.as_deref().and_then(Mark::read)?;
    let ours = mark.is_of_a_recycler() && mark.strategy == Strategy::ScaleToZero;
    let zero = group.sizes == Sizes::ZERO && mark.original != Sizes::ZERO;
    (ours && zero && !group.deleting).then_some(mark)
}

/// The recycle that restores the group. It begins after the scale-down, so it never makes a group smaller.
pub(super) fn resume(mark: &Mark, group: &GroupRef, now: Timestamp) -> Recycle {
    let resumed = mark.resume(&group.region, &group.name.0, 0, now);
    Recycle { step: Step::Emptying, ..resumed }
}

#[cfg(test)]
mod tests;
