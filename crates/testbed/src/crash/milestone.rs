//! States on the way: what a disturbed run has at the same place must be the same, apart from Events that report a
//! write and that a fault may have lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::diff;
use crate::World;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Milestone {
    pub state: Value,
    /// Events that report a write, and how many there are of each.
    pub events: BTreeMap<String, usize>,
}

pub(super) type Expected = BTreeMap<String, Milestone>;

/// Without `expected` the milestones are recorded.
#[derive(Debug, Default)]
pub struct Milestones {
    expected: Option<Arc<Expected>>,
    /// How many Events may be missing.
    may_be_lost: usize,
    /// A state is recorded when it has not changed for this long.
    settle: Duration,
    recorded: Mutex<Expected>,
}

impl Milestones {
    pub(super) fn record(settle: Duration) -> Self {
        Self { settle, ..Self::default() }
    }

    pub(super) fn compare(expected: &Arc<Expected>, may_be_lost: usize) -> Self {
        Self { expected: Some(Arc::clone(expected)), may_be_lost, ..Self::default() }
    }

    pub(super) fn recorded(&self) -> Expected {
        self.recorded.lock().clone()
    }
}

pub(super) fn as_json(milestones: &Expected) -> Value {
    let one = |milestone: &Milestone| json!({"state": milestone.state, "events": milestone.events});
    milestones.iter().map(|(name, milestone)| (name.clone(), one(milestone))).collect()
}

impl World {
    /// Records the state, or waits until it is the recorded one. A name is used once in a scenario.
    pub async fn milestone<F>(&self, name: &str, read: impl Fn() -> F) -> Result<()>
    where
        F: Future<Output = Result<Milestone>>,
    {
        let Milestones { expected, may_be_lost, settle, recorded } = &self.milestones;
        let Some(expected) = expected else {
            let state = self.unchanged_for(*settle, name, read).await?;
            recorded.lock().insert(name.to_owned(), state);
            return Ok(());
        };
        let expected = expected.get(name).with_context(|| format!("no milestone {name}"))?;
        let what = format!("the state of the undisturbed run at {name}");
        let check = || async { expected.ensure_fits(&read().await?, *may_be_lost) };
        self.eventually(&what, check).await
    }

    async fn unchanged_for<F>(
        &self,
        time: Duration,
        name: &str,
        read: impl Fn() -> F,
    ) -> Result<Milestone>
    where
        F: Future<Output = Result<Milestone>>,
    {
        let last: Mutex<Option<(Instant, Milestone)>> = Mutex::default();
        let check = || async {
            let now = read().await?;
            let mut last = last.lock();
            match &*last {
                Some((since, state)) if *state == now => {
                    ensure!(since.elapsed() >= time, "it changed {:?} ago", since.elapsed());
                    Ok(now)
                }
                _ => {
                    *last = Some((Instant::now(), now));
                    bail!("it has just changed")
                }
            }
        };
        self.eventually(&format!("{name} to settle"), check).await
    }
}

impl Milestone {
    fn ensure_fits(&self, found: &Self, may_be_lost: usize) -> Result<()> {
        let diff = diff::unified(&self.state, &found.state);
        ensure!(diff.is_empty(), "it differs:\n{diff}");
        let count = |events: &BTreeMap<String, usize>, event: &str| {
            events.get(event).copied().unwrap_or_default()
        };
        for (event, times) in &found.events {
            let most = count(&self.events, event);
            ensure!(*times <= most, "{times} Events instead of {most}: {event}");
        }
        let missing = |event: &String| count(&self.events, event) - count(&found.events, event);
        let lost: BTreeMap<&String, usize> = self
            .events
            .keys()
            .map(|event| (event, missing(event)))
            .filter(|(_, missing)| *missing > 0)
            .collect();
        let total: usize = lost.values().sum();
        ensure!(total <= may_be_lost, "{total} Events are missing: {lost:?}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milestone(phase: &str, events: &[(&str, usize)]) -> Milestone {
        let events = events.iter().map(|(event, times)| ((*event).to_owned(), *times)).collect();
        Milestone { state: json!({ "phase": phase }), events }
    }

    #[test]
    fn a_wrong_state_and_an_event_too_many_do_not_fit() {
        let expected = milestone("Running", &[("Create", 3)]);
        expected.ensure_fits(&expected, 0).unwrap();
        let state = expected.ensure_fits(&milestone("Failed", &[("Create", 3)]), 9).unwrap_err();
        assert!(state.to_string().contains("+  \"phase\": \"Failed\""), "{state}");
        for events in [[("Create", 4)], [("Delete", 1)]] {
            let error = expected.ensure_fits(&milestone("Running", &events), 9).unwrap_err();
            assert!(error.to_string().contains("Events instead of"), "{error}");
        }
    }

    #[test]
    fn only_so_many_events_may_be_lost() {
        let expected = milestone("Running", &[("Create", 3), ("Scaled", 1)]);
        let found = milestone("Running", &[("Create", 2)]);
        expected.ensure_fits(&found, 2).unwrap();
        let error = expected.ensure_fits(&found, 1).unwrap_err().to_string();
        assert!(error.contains("2 Events are missing"), "{error}");
    }
}
