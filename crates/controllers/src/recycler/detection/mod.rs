//! Detection: from Events to counts per node group.
//!
//! [`event_tracker`] notes matching Events ([`pattern`]) when they arrive. [`locator`] finds their node, instance and
//! group. [`counting`] has the counts as they are stored, per [`window`], together with the version up to which Events
//! are counted (the *mark*), so that another process continues from there.

pub(super) mod counting;
mod event_tracker;
mod group_membership;
mod locator;
pub(super) mod occurrence;
pub(super) mod pattern;
pub(super) mod spent;
pub(super) mod window;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_runtime::cache::Cache;
use machinist_runtime::cache::store::Entry;

pub use self::counting::Counting;
use self::counting::Target;
pub use self::event_tracker::EventTracker;
pub use self::group_membership::GroupMembership;
pub use self::locator::Locator;
use super::decide::decide;
use super::plan::Plan;
use super::snapshot::{Facts, Snapshot};
use super::timings::RecyclerTimings;
use crate::kinds::{EventRecycler, Events};

#[derive(Debug)]
pub struct Detection {
    pub events: Arc<Cache<Events>>,
    pub tracker: Arc<EventTracker>,
    pub locator: Locator,
}

impl Detection {
    /// Notes every change of an Event from now on.
    pub fn attend(&self) {
        let tracker = Arc::clone(&self.tracker);
        self.events
            .attend(move |before, after, position| tracker.event_changed(before, after, position));
    }

    /// After a change of its spec, the Events in the cache are noted again, while none can change.
    pub fn track(&self, recycler: &EventRecycler) {
        if self.tracker.track(recycler) {
            self.events.survey(|_, entries| {
                let events = entries.filter_map(Entry::known).map(|event| &**event);
                self.tracker.seed(&recycler.meta.key, events);
            });
        }
    }

    /// The plan of an EventRecycler that recycles nothing; `None` if it is not tracked.
    pub fn decide(&self, recycler: &EventRecycler, now: Timestamp) -> Option<Plan> {
        let facts = self.facts(recycler, &RecyclerTimings::default())?;
        Some(decide(&Snapshot { meta: recycler.meta.clone(), facts: Ok(Box::new(facts)) }, now))
    }

    /// What is known from Events; `None` if the EventRecycler is not tracked.
    pub(super) fn facts(
        &self,
        recycler: &EventRecycler,
        timings: &RecyclerTimings,
    ) -> Option<Facts> {
        let counting = Counting::of(recycler);
        // The position comes first: occurrences up to it are complete.
        let position = self.events.survey(|position, _| position);
        let key = &recycler.meta.key;
        let known = self.tracker.occurrences(key, counting.mark, position)?;
        let (mut news, mut reopened) = (Vec::new(), Vec::new());
        if let Ok(settings) = &known.settings {
            let locate = |one| self.locator.locate(one, settings);
            news = known.occurrences.into_iter().map(locate).collect();
            reopened = counting.open.iter().cloned().map(locate).collect();
        }
        let mut located = news.iter().chain(&reopened);
        let unresolved = located.any(|one| matches!(one.target, Target::Unresolved(_)));
        self.tracker.set_unresolved(key, unresolved);
        Some(Facts {
            generation: recycler.generation,
            finalizers: recycler.finalizers.clone(),
            settings: known.settings,
            status: Arc::clone(&recycler.status),
            counting,
            position,
            news,
            incomplete: known.incomplete,
            reopened,
            others: Vec::new(),
            recycles: Vec::new(),
            unchecked: Vec::new(),
            groups: BTreeMap::new(),
            own_node: None,
            timings: *timings,
        })
    }
}
