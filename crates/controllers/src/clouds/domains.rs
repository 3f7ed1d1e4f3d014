//! Machines that fail for the same reason pause together.
//!
//! A cloud that throttles an account, or has no room for a type in a zone, says no to everybody who asks. So the first refusal closes
//! the failure domain for all its machines; when the pause is over one of them tries, and the others wait for what comes of that. Pauses
//! double up to a limit, with jitter, and end with the first success.
//!
//! Which domain a call belongs to is known once a call of its [`Group`] was refused: before that everybody may try. A refusal after which
//! another attempt may go elsewhere closes the place where it happened and no other: there everybody waits, unless calls of the same group work
//! elsewhere. Then a refusal is the way there, because an attempt that may have been asked for is given up only when the cloud says no to it.
//!
//! Nothing here has to survive a restart: the cloud will say the same again. What nobody has asked about for long is forgotten, and whoever waits is known only for
//! as long as they come back.

mod pause;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use machinist_domain::hash::fnv1a;
use machinist_domain::key::ObjectKey;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, FailureDomain};
use machinist_runtime::clock::SharedClock;
use parking_lot::Mutex;

use self::pause::Pause;
use super::Wake;

/// What is to be done in a cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// Find out what creating needs, and create.
    Create,
    /// Repair.
    Update,
    /// Remove.
    Delete,
}

impl Call {
    /// The verb in audit lines and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// Calls that fail together, as far as we can tell: the same call for the same provider spec, in the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    kin: Kin,
    place: Option<u64>,
}

/// The same call for the same provider spec, wherever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Kin(u64, Call);

impl Group {
    /// The group of a call for a machine with this provider spec in this namespace. Where it goes is not known yet, or always the same.
    pub fn new(namespace: &str, spec: &str, call: Call) -> Self {
        let spec = fnv1a(spec.as_bytes()) ^ fnv1a(namespace.as_bytes()).rotate_left(32);
        Self { kin: Kin(spec, call), place: None }
    }

    /// The same calls, as far as they go to this place.
    #[must_use]
    pub fn at(self, place: Option<&str>) -> Self {
        Self { place: place.map(|place| fnv1a(place.as_bytes())), ..self }
    }
}

/// Whether a call may be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// It may.
    Open,
    /// Not now.
    Closed {
        /// Not before this time has passed.
        wait: Duration,
        /// Why, as somebody else was told.
        why: Failure,
    },
}

/// All failure domains.
pub struct Domains {
    state: Mutex<State>,
    clock: SharedClock,
    timings: MachineTimings,
    /// How long somebody who tries first may take.
    patience: Duration,
    wake: Wake,
}

#[derive(Default)]
struct State {
    kin: HashMap<Kin, Known>,
    closed: HashMap<FailureDomain, Pause>,
    /// When what is over is forgotten next.
    sweep_at: Duration,
}

/// What calls were told.
#[derive(Default)]
struct Known {
    /// The domain of the last refusal that holds wherever they go.
    everywhere: Option<FailureDomain>,
    /// What the last call in each place was told.
    places: BTreeMap<u64, Told>,
}

enum Told {
    /// No, as everybody in this domain.
    No(FailureDomain),
    /// It worked, which says something about the next call until then.
    Yes(Duration),
}

impl Told {
    fn no(&self) -> Option<&FailureDomain> {
        match self {
            Self::No(domain) => Some(domain),
            Self::Yes(_) => None,
        }
    }
}

impl std::fmt::Debug for Domains {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let closed = self.state.lock().closed.len();
        f.debug_struct("Domains").field("closed", &closed).finish_non_exhaustive()
    }
}

impl Domains {
    /// Everything is open. `wake` hears who need not wait any longer, and must not block.
    pub fn new(
        clock: SharedClock,
        timings: MachineTimings,
        patience: Duration,
        wake: Wake,
    ) -> Self {
        Self { state: Mutex::default(), clock, timings, patience, wake }
    }

    /// Whether a call of this group may be tried. Only looks.
    pub fn gate(&self, group: Group) -> Gate {
        let now = self.clock.uptime();
        self.state.lock().gate(group, now)
    }

    /// Begins a call, if it may be tried: where a pause is over, the first who comes tries for all of them.
    pub fn enter(&self, group: Group, key: &ObjectKey) -> Gate {
        let now = self.clock.uptime();
        let mut state = self.state.lock();
        let gate = state.gate(group, now);
        state.each_pause(group, |pause| {
            if gate != Gate::Open {
                pause.join(key, group.kin, now);
                return;
            }
            pause.waiting.remove(key);
            if pause.gate(now) == Gate::Open {
                pause.trying_until = Some(now + self.patience);
            }
        });
        gate
    }

    /// Waits for what comes of it when somebody else tries; if that is known by now, not at all.
    pub fn wait(&self, group: Group, key: &ObjectKey) {
        let now = self.clock.uptime();
        let mut state = self.state.lock();
        if state.gate(group, now) == Gate::Open {
            drop(state);
            (self.wake)(key);
        } else {
            state.each_pause(group, |pause| pause.join(key, group.kin, now));
        }
    }

    /// The call worked: nobody needs to wait any longer for the same, and those who may go where it went need not wait elsewhere.
    pub fn succeeded(&self, group: Group) {
        let until = self.clock.uptime() + self.timings.domain_pause_max;
        let woken = self.state.lock().open(group, until);
        for key in &woken {
            (self.wake)(key);
        }
    }

    /// The call did not work. Closes the failure domain where the cloud says that others are concerned.
    pub fn failed(&self, group: Group, error: &CloudError) {
        let now = self.clock.uptime();
        let mut state = self.state.lock();
        let memory = self.timings.domain_pause_max;
        if now >= state.sweep_at {
            state.sweep_at = now + memory;
            state.sweep(now, memory);
        }
        let shared = matches!(error.class, ErrorClass::Throttled | ErrorClass::CapacityExhausted);
        let Some(domain) = error.domain.as_ref().filter(|_| shared) else {
            state.each_pause(group, |pause| pause.let_another_try(now + self.timings.domain_pause));
            return;
        };
        let tried_for = state.domains(group);
        state.learn(group, error.effect, domain, now);
        for other in tried_for.into_iter().flatten().filter(|other| other != domain) {
            if let Some(pause) = state.closed.get_mut(&other) {
                pause.let_another_try(now + self.timings.domain_pause);
            }
        }
        let pause = state.closed.entry(domain.clone()).or_insert_with(|| Pause::new(error));
        if pause.is_over(now, memory) {
            *pause = Pause::new(error);
        }
        // Calls that were under way together fail together, and count as one failure.
        if now >= pause.until {
            pause.failures = pause.failures.saturating_add(1);
            // Who is long overdue is gone, or wants something else.
            pause.waiting.retain(|_, waiter| now < waiter.back.saturating_add(memory));
            let length = self.pause_length(domain, pause.failures);
            pause.until = now + length.max(error.pause().unwrap_or_default());
        }
        pause.trying_until = None;
        pause.why = error.failure();
    }

    /// Doubles, up to the limit. The jitter follows from the domain, and takes off up to a quarter.
    fn pause_length(&self, domain: &FailureDomain, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(20);
        let full = self.timings.domain_pause.saturating_mul(1 << doublings);
        let full = full.min(self.timings.domain_pause_max);
        let seed = fnv1a(domain.0.as_bytes()).wrapping_add(u64::from(failures)).to_le_bytes();
        full.mul_f64(1.0 - f64::from(fnv1a(&seed).to_le_bytes()[0]) / 1024.0)
    }
}

impl State {
    fn sweep(&mut self, now: Duration, memory: Duration) {
        self.closed.retain(|_, pause| !pause.is_over(now, memory));
        let closed = &self.closed;
        let is_over = |domain: &FailureDomain| !closed.contains_key(domain);
        self.kin.retain(|_, known| {
            known.everywhere.take_if(|domain| is_over(domain));
            known.places.retain(|_, told| !told.no().is_some_and(is_over));
            known.is_refused()
        });
    }

    /// A call was refused in this domain.
    fn learn(&mut self, group: Group, effect: Effect, domain: &FailureDomain, now: Duration) {
        let known = self.kin.entry(group.kin).or_default();
        match group.place.filter(|_| effect == Effect::NoneForThisAttempt) {
            Some(place) => {
                known.places.insert(place, Told::No(domain.clone()));
                // It got as far as that.
                let closed = &self.closed;
                let is_over = |domain: &FailureDomain| {
                    closed.get(domain).is_none_or(|pause| now >= pause.until)
                };
                known.everywhere.take_if(|domain| is_over(domain));
            }
            None => known.everywhere = Some(domain.clone()),
        }
    }

    /// The domains that these calls are in, as far as they were refused: everywhere, and where they go.
    fn domains(&self, group: Group) -> [Option<FailureDomain>; 2] {
        let Some(known) = self.kin.get(&group.kin) else { return [None, None] };
        let here = group.place.and_then(|place| known.places.get(&place)?.no().cloned());
        [known.everywhere.clone(), here]
    }

    fn each_pause(&mut self, group: Group, mut work: impl FnMut(&mut Pause)) {
        for domain in self.domains(group).into_iter().flatten() {
            if let Some(pause) = self.closed.get_mut(&domain) {
                work(pause);
            }
        }
    }

    fn gate(&self, group: Group, now: Duration) -> Gate {
        let [everywhere, here] = self.domains(group);
        let of = |domain: Option<FailureDomain>| {
            let pause = domain.and_then(|domain| self.closed.get(&domain));
            pause.map_or(Gate::Open, |pause| pause.gate(now))
        };
        match of(everywhere) {
            Gate::Open if self.works_elsewhere(group, now) => Gate::Open,
            Gate::Open => of(here),
            closed @ Gate::Closed { .. } => closed,
        }
    }

    /// Whether such a call worked in another place not long ago: that place may be one that nobody goes to any more.
    fn works_elsewhere(&self, group: Group, now: Duration) -> bool {
        let known = self.kin.get(&group.kin);
        let mut places = known.into_iter().flat_map(|known| &known.places);
        places.any(|(place, told)| {
            matches!(told, Told::Yes(until) if now < *until) && Some(*place) != group.place
        })
    }

    /// Opens what a call got through, and says who need not wait any longer. That it worked counts `until` then.
    fn open(&mut self, group: Group, until: Duration) -> Vec<ObjectKey> {
        let opened = self.domains(group).into_iter().flatten();
        let opened: Vec<_> = opened.filter_map(|domain| self.closed.remove(&domain)).collect();
        let mut woken: Vec<_> =
            opened.into_iter().flat_map(|pause| pause.waiting.into_keys()).collect();
        let Some(known) = self.kin.get_mut(&group.kin) else { return woken };
        known.everywhere = None;
        if let Some(place) = group.place {
            known.places.insert(place, Told::Yes(until));
        }
        for domain in known.places.values().filter_map(Told::no) {
            if let Some(pause) = self.closed.get_mut(domain) {
                pause.waiting.retain(|key, waiter| {
                    let is_kin = waiter.kin == group.kin;
                    woken.extend(is_kin.then(|| key.clone()));
                    !is_kin
                });
            }
        }
        if !known.is_refused() {
            self.kin.remove(&group.kin);
        }
        woken
    }
}

impl Known {
    fn is_refused(&self) -> bool {
        self.everywhere.is_some() || self.places.values().any(|told| told.no().is_some())
    }
}

#[cfg(test)]
mod tests;
