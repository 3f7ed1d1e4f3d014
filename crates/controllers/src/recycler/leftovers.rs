//! Groups that somebody left at zero in the middle of a recycle, and of which nothing tells but the tags on them: the status was lost, or the
//! EventRecycler deleted by force. No events lead there, because a group at zero has no nodes.
//!
//! In: the groups that an EventRecycler names, in its spec and in its history. Each is looked at once, when somebody begins to look after the object or its
//! spec has changed, and again when its status was lost. So a settled cluster asks nothing. Out: groups to look at, and the recycle to go on with.

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
use super::recycling::mark::Mark;
use super::recycling::snapshot::wanted;
use super::settings::Settings;
use crate::kinds::EventRecycler;

/// Which groups were looked at for which EventRecycler.
#[derive(Debug, Default)]
pub(super) struct Leftovers(Mutex<HashMap<ObjectKey, Looked>>);

#[derive(Debug, Default)]
struct Looked {
    of: Option<(Uid, i64)>,
    /// Whether its status said something. One that does not any more was lost.
    told: bool,
    groups: BTreeSet<GroupRef>,
}

impl Leftovers {
    /// Of the groups that an EventRecycler names those that were not looked at. Where one is being recycled, that is a look.
    pub(super) fn unseen(
        &self,
        recycler: &EventRecycler,
        named: BTreeSet<GroupRef>,
        is_recycled: impl Fn(&GroupRef) -> bool,
    ) -> Vec<GroupRef> {
        let mut all = self.0.lock();
        let looked = all.entry(recycler.meta.key.clone()).or_default();
        let of = Some((recycler.meta.uid.clone(), recycler.generation));
        let tells = recycler.status.counting.is_some();
        if looked.of != of || (looked.told && !tells) {
            *looked = Looked { of, ..Looked::default() };
        }
        looked.told = tells;
        let (busy, free): (Vec<_>, Vec<_>) = named.into_iter().partition(is_recycled);
        looked.groups.extend(busy);
        free.into_iter().filter(|group| !looked.groups.contains(group)).collect()
    }

    /// A group was looked at, and nothing is to be done about it.
    pub(super) fn saw(&self, recycler: &ObjectKey, group: &GroupRef) {
        if let Some(looked) = self.0.lock().get_mut(recycler) {
            looked.groups.insert(group.clone());
        }
    }

    /// Forgets an EventRecycler.
    pub(super) fn forget(&self, recycler: &ObjectKey) {
        self.0.lock().remove(recycler);
    }
}

/// The groups that an EventRecycler names. `region` is where they are if nothing is said.
pub(super) fn named(
    settings: &Settings,
    status: &EventRecyclerStatus,
    region: Option<&Arc<str>>,
) -> BTreeSet<GroupRef> {
    let region = settings.region.as_ref().or(region);
    let said = settings.groups.names().filter_map(|name| Some((&**region?, name)));
    let past = status.recycle_history.iter().flatten().filter(|entry| history::was_done(entry));
    let past = past.filter_map(|entry| {
        let region = entry.region.as_deref().or(region.map(|region| &**region))?;
        Some((region, entry.node_group.as_deref()?))
    });
    let past = past.filter(|(_, name)| settings.groups.has_name(name));
    said.chain(past).map(|(region, name)| GroupRef::new(region, name)).collect()
}

/// The text of the recycler that has set this group to zero, if one has.
pub(super) fn left_at_zero(group: &Group) -> Option<Mark> {
    let mark = group.mark.as_deref().and_then(Mark::read)?;
    let ours = mark.is_of_a_recycler() && mark.strategy == Strategy::ScaleToZero;
    let zero = group.sizes == Sizes::ZERO && wanted(mark.original) != Sizes::ZERO;
    (ours && zero && !group.deleting).then_some(mark)
}

/// The recycle that brings the group back. It begins where nothing but that is left, so it never makes a group smaller, whatever has become of
/// it since it was looked at.
pub(super) fn go_on(mark: &Mark, group: &GroupRef, now: Timestamp) -> Recycle {
    let resumed = mark.resume(&group.region, &group.name.0, 0, now);
    Recycle { step: Step::Emptying, ..resumed }
}

#[cfg(test)]
mod tests;
