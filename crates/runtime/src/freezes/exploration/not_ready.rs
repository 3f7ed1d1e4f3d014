//! Every reachable state of the freeze for Nodes that are not ready, with six Nodes: they fail and recover, the watch
//! lags, counts and reports come at any time, the process restarts. A health check deletes what it sees as not ready.
//! States, `permit` and limits are the real ones.
//!
//! It shows that nothing is deleted while more than half of the Nodes are seen as not ready, nor until the share was
//! low for a while, restarts included; and that the freeze and its condition end by themselves.

use std::time::Duration;

use machinist_domain::safety::threshold::State;
use machinist_domain::safety::{
    Effect, EffectKind, Freeze, Gauge, Initiator, Ledger, Limit, Limits, Reason, Scope, permit,
};
use machinist_testbed::explore::{Counterexample, Model, Steps, explore, find_bug, is_large};

use super::{NOW, lineage};

const NODES: usize = 6;
const HOLD: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Seen {
    /// How many Nodes are not ready.
    silent: usize,
    /// How many of them the watch has delivered.
    delivered: usize,
    freeze: State,
    /// Whether the time has passed after which a freeze ends.
    elapsed: bool,
    /// Whether no deletion may be sent, by what the watch has ever shown.
    forbidden: bool,
    /// Whether the object has the condition `Frozen`.
    condition: bool,
    faults: u8,
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Fails,
    Recovers,
    Sees,
    Counts,
    TimePasses,
    Deletes,
    Reports,
    Restarts,
}

#[derive(Default)]
struct World {
    faults: u8,
    /// Bugs that the exploration has to find.
    counts_later: bool,
    starts_clear: bool,
}

fn limit() -> Limit {
    Limits::default().not_ready
}

fn gauge(count: usize) -> Gauge {
    Gauge { count, total: NODES }
}

impl Seen {
    fn count(&mut self) {
        let uptime = if self.elapsed { HOLD } else { Duration::ZERO };
        let before = self.freeze;
        self.freeze = match before.next(&[gauge(self.delivered)], limit(), HOLD, uptime) {
            // Times are relative to the beginning of the end.
            State::Ending(_) => State::Ending(Duration::ZERO),
            other => other,
        };
        self.elapsed &= self.freeze == before;
        if limit().begins(gauge(self.delivered)) {
            self.forbidden = true;
        } else if before != State::Clear && self.freeze == State::Clear {
            self.forbidden = false;
        }
    }

    fn permits(&self) -> bool {
        let mut ledger = Ledger::default();
        if self.freeze.is_frozen() {
            let (source, text) = ("".into(), "".into());
            let freeze = Freeze { reason: Reason::NodesNotReady, since: NOW, source, text };
            ledger.begin(Scope::Cluster, freeze);
        }
        let (kind, initiator) = (EffectKind::Delete, Initiator::Controller);
        permit(&Effect { kind, initiator, lineage: lineage(0) }, &ledger).is_ok()
    }
}

impl Model for World {
    type State = Seen;
    type Action = Action;

    fn start(&self) -> Seen {
        let freeze = if self.starts_clear { State::Clear } else { State::Unknown };
        Seen {
            silent: 0,
            delivered: 0,
            freeze,
            elapsed: false,
            forbidden: false,
            condition: false,
            faults: self.faults,
        }
    }

    fn next(&self, state: &Seen, steps: &mut Steps<Self>) {
        let state = *state;
        if state.delivered != state.silent {
            steps.ordinary(Action::Sees, Ok(Seen { delivered: state.silent, ..state }));
        }
        let mut counted = state;
        counted.count();
        if counted != state {
            steps.ordinary(Action::Counts, Ok(counted));
        }
        if matches!(state.freeze, State::Ending(_)) && !state.elapsed {
            steps.ordinary(Action::TimePasses, Ok(Seen { elapsed: true, ..state }));
        }
        if state.condition != state.freeze.is_frozen() {
            let condition = state.freeze.is_frozen();
            steps.ordinary(Action::Reports, Ok(Seen { condition, ..state }));
        }
        let mut to = if self.counts_later { state } else { counted };
        if state.delivered > 0 && to.permits() {
            // Its replacement is ready.
            to.silent = to.silent.saturating_sub(1);
            to.delivered -= 1;
            let broken =
                counted.forbidden.then(|| "deleted while most Nodes are not ready".to_owned());
            steps.ordinary(Action::Deletes, broken.map_or(Ok(to), Err));
        }
        let Some(faults) = state.faults.checked_sub(1) else { return };
        if state.silent < NODES {
            let silent = state.silent + 1;
            steps.disturbance(Action::Fails, Ok(Seen { silent, faults, ..state }));
        }
        if let Some(silent) = state.silent.checked_sub(1) {
            steps.disturbance(Action::Recovers, Ok(Seen { silent, faults, ..state }));
        }
        // The new process lists before it decides anything.
        let mut new = Seen { delivered: state.silent, faults, ..state };
        new.freeze = if self.starts_clear { State::Clear } else { State::Unknown };
        new.elapsed = false;
        new.forbidden &= limit().keeps(gauge(new.delivered));
        steps.disturbance(Action::Restarts, Ok(new));
    }

    fn is_desired(&self, state: &Seen) -> bool {
        let frozen = state.freeze.is_frozen();
        let kept = limit().keeps(gauge(state.silent));
        state.delivered == state.silent
            && state.condition == frozen
            && (if frozen { kept } else { state.silent == 0 && !state.forbidden })
    }
}

#[test]
fn explore_nodes_that_are_not_ready() -> Result<(), Counterexample> {
    let faults = if is_large() { 16 } else { 10 };
    let world = World { faults, ..World::default() };
    explore(&format!("Nodes that are not ready, {faults} faults"), &world)
}

#[test]
fn explore_finds_a_count_that_is_older_than_the_deletion() {
    let found = find_bug(&World { faults: 5, counts_later: true, ..World::default() });
    assert!(found.is_ok_and(|found| found.broken.contains("most Nodes")));
}

/// A restart between the limit and the lower bound would end the freeze.
#[test]
fn explore_finds_a_process_that_starts_without_the_freeze() {
    assert!(find_bug(&World { faults: 8, starts_clear: true, ..World::default() }).is_ok());
}
