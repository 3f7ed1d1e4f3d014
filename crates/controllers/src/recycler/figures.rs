//! Metrics of the stored status of an EventRecycler.

use std::time::Duration;

use jiff::Timestamp;
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_api::event_recycler::status::PastRecycle;
use machinist_runtime::cache::store::{Change, Entry};

use super::metrics::{RecyclerFigures, RecyclerMetrics};
use crate::kinds::EventRecycler;

/// Updates the metrics after a change.
pub(super) fn update(metrics: &RecyclerMetrics, change: &Change<'_, EventRecycler>) {
    let name = &*change.key.name;
    let before = change.before.and_then(known);
    let figures_before = before.map(figures).unwrap_or_default();
    let Some(after) = change.after.and_then(known) else {
        metrics.forget(name, &figures_before);
        return;
    };
    metrics.changed(name, &figures_before, &figures(after));
    // Recycles in the first list ended before this process started.
    let Some(before) = before else { return };
    let past = |status: &EventRecyclerStatus| status.recycle_history.clone().unwrap_or_default();
    let known = past(before);
    for entry in past(after).iter().filter(|entry| !known.contains(entry)) {
        let result = entry.status.as_deref().unwrap_or("Unknown");
        metrics.ended(name, result, took(entry));
    }
}

fn known(entry: &Entry<EventRecycler>) -> Option<&EventRecyclerStatus> {
    match entry {
        Entry::Known(recycler) => Some(&recycler.status),
        Entry::Undecodable(_) => None,
    }
}

fn figures(status: &EventRecyclerStatus) -> RecyclerFigures {
    let events = status.event_counts.iter().flatten();
    // Both lists have the same order; names are unique.
    let names = status.active_recycles.iter().flatten();
    let recycles = names.zip(status.recycles.iter().flatten());
    RecyclerFigures {
        events: events.map(|(group, count)| (group.clone(), *count)).collect(),
        unmapped: status.unmapped.as_ref().map_or(0, |unmapped| unmapped.count),
        recycles: recycles.map(|(name, one)| (name.clone(), one.step.as_str())).collect(),
    }
}

fn took(entry: &PastRecycle) -> Option<Duration> {
    let time = |text: &Option<String>| text.as_deref()?.parse::<Timestamp>().ok();
    let took = time(&entry.timestamp)?.duration_since(time(&entry.started)?);
    Duration::try_from(took).ok()
}
