//! The MachineSet controller: its steps on the API server, and what they must not break.

use machinist_testbed::explore::Steps;

use super::model::{Action, World};
use super::state::{Life, SLOTS, Slot, State};

/// What limits allow: `replicas + maxSurge` Machines.
const MOST: usize = 3;
/// `replicas − maxUnavailable`.
const FEWEST: usize = 2;

pub(super) fn manage(state: &State, at: usize, steps: &mut Steps<World>) {
    let set = &state.sets[at];
    let desired = usize::from(set.desired);
    let (members, open) = (set.count(Slot::is_member), set.count(Slot::is_open));
    // The rollout of its template is stopped.
    let missing = if set.aborted { 0 } else { desired.saturating_sub(members + open) };
    if missing > 0 {
        steps.ordinary(Action::Reserve(at), reserve(state, at, missing));
    }
    if set.has_window() && (open == 0 || members >= desired || set.aborted) {
        let mut to = *state;
        for slot in &mut to.sets[at].slots {
            // The name is given up.
            slot.real = if slot.is_open() { Life::Gone } else { slot.real };
            slot.window = false;
        }
        to.sets[at].change();
        steps.ordinary(Action::Close(at), Ok(to));
    }
    if !set.has_window() && members > desired && set.count(|slot| slot.doomed) == 0 {
        for chosen in first_to_go(&set.slots, members - desired) {
            let mut to = *state;
            for (slot, doomed) in to.sets[at].slots.iter_mut().zip(chosen) {
                slot.doomed = doomed;
            }
            steps.ordinary(Action::Choose(at), Ok(to));
        }
    }
    if let Some(faults) = state.faults.checked_sub(1)
        && set.count(|slot| slot.doomed) > 0
    {
        // Another process leads.
        let mut to = State { faults, ..*state };
        to.sets[at].slots.iter_mut().for_each(|slot| slot.doomed = false);
        steps.disturbance(Action::Forgets(at), Ok(to));
    }
    for (which, slot) in set.slots.iter().enumerate() {
        // Equal ones have equal steps.
        if which > 0 && set.slots[which - 1] == *slot {
            continue;
        }
        let with = |change: fn(&mut Slot)| {
            let mut to = *state;
            change(&mut to.sets[at].slots[which]);
            to
        };
        match slot.real {
            Life::Absent if slot.window => {
                let to = with(|slot| slot.real = Life::Starting);
                let count = to.existing();
                let broken = format!("{count} Machines exist, at most {MOST} are allowed");
                let to = if count > MOST { Err(broken) } else { Ok(to) };
                steps.ordinary(Action::Create(at), to);
            }
            Life::Starting | Life::Available if slot.doomed => {
                let to = with(|slot| {
                    (slot.real, slot.doomed, slot.late_mark) = (Life::Leaving, false, false);
                });
                steps.ordinary(Action::Delete(at), deleted(state, to));
            }
            Life::Leaving => {
                let to = with(|slot| (slot.real, slot.marked) = (Life::Gone, false));
                steps.ordinary(Action::Finishes(at), Ok(to));
            }
            _ => {}
        }
        if slot.real == Life::Starting {
            let to = with(|slot| slot.real = Life::Available);
            steps.ordinary(Action::BecomesReady(at), Ok(to));
        }
    }
}

fn reserve(state: &State, at: usize, missing: usize) -> Result<State, String> {
    let mut to = *state;
    let free = to.sets[at].slots.iter_mut().filter(|slot| slot.is_free());
    let reserved = free.take(missing).map(|slot| slot.window = true).count();
    to.sets[at].change();
    if reserved == missing { Ok(to) } else { Err("the model has too few slots".to_owned()) }
}

fn deleted(from: &State, to: State) -> Result<State, String> {
    let (before, after) = (from.available(), to.available());
    if after < before && after + usize::from(from.died) < FEWEST {
        return Err(format!("{after} Machines are available, at least {FEWEST} are required"));
    }
    Ok(to)
}

/// Marked Machines go first. In which order others do depends on more than the model has.
fn first_to_go(slots: &[Slot; SLOTS], count: usize) -> Vec<[bool; SLOTS]> {
    let marked = slots.iter().filter(|slot| slot.is_member() && slot.marked).count();
    subsets(slots, count, |slot| slot.is_member() && (count > marked || slot.marked))
        .into_iter()
        .filter(|chosen| {
            let all = slots.iter().zip(chosen).all(|(slot, chosen)| !slot.marked || *chosen);
            count <= marked || all
        })
        .collect()
}

/// Every choice of so many slots.
pub(super) fn subsets(
    slots: &[Slot; SLOTS],
    count: usize,
    may: impl Fn(&Slot) -> bool,
) -> Vec<[bool; SLOTS]> {
    let choices = (0..1_u8 << SLOTS).map(|bits| std::array::from_fn(|at| bits >> at & 1 == 1));
    choices
        .filter(|chosen: &[bool; SLOTS]| {
            let allowed = slots.iter().zip(chosen).all(|(slot, chosen)| !chosen || may(slot));
            allowed && chosen.iter().filter(|chosen| **chosen).count() == count
        })
        .collect()
}
