//! Pauses calls that fail for the same reason, such as a throttled account or a zone without capacity.
//!
//! The first refusal closes its [`FailureDomain`] for every Machine in it. When the pause is over, one
//! Machine probes the cloud and the others wait for the result. Pauses double up to a limit, with jitter, and
//! end with the first success.
//!
//! The domain of a call is known once a call of its [`Group`] was refused. A refusal after which an attempt
//! may go to another place closes only its own place, and only while calls of the group do not succeed
//! elsewhere: then the refusal is what moves an attempt to the other place.
//!
//! In memory only: after a restart the cloud refuses again. Entries expire.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use machinist_domain::backoff::Backoff;
use machinist_domain::hash::fnv1a;
use machinist_domain::key::ObjectKey;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, FailureDomain};
use machinist_runtime::clock::SharedClock;
use parking_lot::Mutex;

use super::snapshot::{Call, Gate};
use super::triggers::Requeue;

/// Calls that fail together: the same call for the same provider spec, in the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    calls: Calls,
    place: Option<u64>,
}

/// The same call for the same provider spec (a hash), in any place.
type Calls = (u64, Call);

impl Group {
    /// The group of a call for a Machine with this provider spec; the place is not known yet, or always the same.
    pub(super) fn new(namespace: &str, spec: &str, call: Call) -> Self {
        let spec = fnv1a(spec.as_bytes()) ^ fnv1a(namespace.as_bytes()).rotate_left(32);
        Self { calls: (spec, call), place: None }
    }

    /// The same calls in this place.
    #[must_use]
    pub(super) fn at(self, place: Option<&str>) -> Self {
        Self { place: place.map(|place| fnv1a(place.as_bytes())), ..self }
    }
}

/// All failure domains.
pub(super) struct FailureDomains {
    state: Mutex<State>,
    clock: SharedClock,
    timings: MachineTimings,
    /// The time that a probe may take.
    probe_timeout: Duration,
    requeue: Requeue,
}

#[derive(Default)]
struct State {
    /// The last answer for each group; one without a place holds for every place.
    answers: BTreeMap<(Calls, Option<u64>), Answer>,
    pauses: HashMap<FailureDomain, Pause>,
    sweep_at: Duration,
}

enum Answer {
    Refused(FailureDomain),
    Succeeded { valid_until: Duration },
}

/// The pause of one domain, and the memory of it once it is over.
struct Pause {
    failures: u32,
    until: Duration,
    /// Set while a Machine probes the cloud.
    probe_until: Option<Duration>,
    why: Failure,
    waiting: BTreeMap<ObjectKey, Waiter>,
}

struct Waiter {
    calls: Calls,
    /// When it is expected to reconcile again.
    back: Duration,
}

impl std::fmt::Debug for FailureDomains {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pauses = self.state.lock().pauses.len();
        f.debug_struct("FailureDomains").field("pauses", &pauses).finish_non_exhaustive()
    }
}

impl FailureDomains {
    /// Every domain is open. `requeue` must not block.
    pub(super) fn new(
        clock: SharedClock,
        timings: MachineTimings,
        probe_timeout: Duration,
        requeue: Requeue,
    ) -> Self {
        Self { state: Mutex::default(), clock, timings, probe_timeout, requeue }
    }

    /// Whether a call of this group may be made. Changes nothing.
    pub(super) fn gate(&self, group: Group) -> Gate {
        let now = self.clock.uptime();
        self.state.lock().gate(group, now)
    }

    /// Begins a call if the gate is open. The first call after a pause is the probe.
    pub(super) fn enter(&self, group: Group, key: &ObjectKey) -> Gate {
        let now = self.clock.uptime();
        let mut state = self.state.lock();
        let gate = state.gate(group, now);
        state.each_pause(group, |pause| {
            if gate != Gate::Open {
                pause.join(key, group.calls, now);
                return;
            }
            pause.waiting.remove(key);
            if pause.gate(now) == Gate::Open {
                pause.probe_until = Some(now + self.probe_timeout);
            }
        });
        gate
    }

    /// Requeues the Machine when the domain opens; at once if it has opened since `gate` was called.
    pub(super) fn wait(&self, group: Group, key: &ObjectKey) {
        let now = self.clock.uptime();
        let mut state = self.state.lock();
        if state.gate(group, now) == Gate::Open {
            drop(state);
            (self.requeue)(key);
        } else {
            state.each_pause(group, |pause| pause.join(key, group.calls, now));
        }
    }

    /// Opens the domains of a call that succeeded. Machines with the same spec that wait in other places may
    /// go there, too.
    pub(super) fn succeeded(&self, group: Group) {
        let valid_until = self.clock.uptime() + self.timings.domain_pause_max;
        let released = self.state.lock().open(group, valid_until);
        for key in &released {
            (self.requeue)(key);
        }
    }

    /// Closes the failure domain of a call that was refused for a shared reason.
    pub(super) fn failed(&self, group: Group, error: &CloudError) {
        let now = self.clock.uptime();
        let memory = self.timings.domain_pause_max;
        let next_probe = now + self.timings.domain_pause;
        let mut state = self.state.lock();
        if now >= state.sweep_at {
            state.sweep_at = now + memory;
            state.sweep(now, memory);
        }
        let shared = matches!(error.class, ErrorClass::Throttled | ErrorClass::CapacityExhausted);
        let Some(domain) = error.domain.as_ref().filter(|_| shared) else {
            state.each_pause(group, |pause| pause.end_probe(next_probe));
            return;
        };
        let probed = state.domains(group);
        state.refused(group, error.effect, domain, now);
        for other in probed.iter().filter(|other| *other != domain) {
            if let Some(pause) = state.pauses.get_mut(other) {
                pause.end_probe(next_probe);
            }
        }
        let pause = state.pauses.entry(domain.clone()).or_insert_with(|| Pause::new(error));
        if pause.is_expired(now, memory) {
            *pause = Pause::new(error);
        }
        // Calls that were in flight together fail together and count as one failure.
        if now >= pause.until {
            pause.failures = pause.failures.saturating_add(1);
            pause.waiting.retain(|_, waiter| now < waiter.back.saturating_add(memory));
            let length = self.pause_length(domain, pause.failures);
            pause.until = now + length.max(error.pause().unwrap_or_default());
        }
        pause.probe_until = None;
        pause.why = error.failure();
    }

    /// Doubles up to the limit. The jitter follows from the domain and takes off up to a quarter.
    fn pause_length(&self, domain: &FailureDomain, failures: u32) -> Duration {
        let MachineTimings { domain_pause: base, domain_pause_max: max, .. } = self.timings;
        let seed = fnv1a(domain.0.as_bytes()).wrapping_add(u64::from(failures)).to_le_bytes();
        let random = f64::from(fnv1a(&seed).to_le_bytes()[0]) / 256.0;
        Backoff { base, max }.delay_with_jitter(failures, 0.25, random)
    }
}

impl State {
    fn gate(&self, group: Group, now: Duration) -> Gate {
        let gate = |place| {
            let pause = self.domain(group.calls, place).and_then(|it| self.pauses.get(it));
            pause.map_or(Gate::Open, |pause| pause.gate(now))
        };
        match gate(None) {
            Gate::Open if !self.succeeds_elsewhere(group, now) => gate(group.place),
            gate => gate,
        }
    }

    fn domain(&self, calls: Calls, place: Option<u64>) -> Option<&FailureDomain> {
        match self.answers.get(&(calls, place))? {
            Answer::Refused(domain) => Some(domain),
            Answer::Succeeded { .. } => None,
        }
    }

    /// The domains that hold for these calls: everywhere, and in their place.
    fn domains(&self, group: Group) -> Vec<FailureDomain> {
        let places = std::iter::once(None).chain(group.place.map(Some));
        places.filter_map(|place| self.domain(group.calls, place).cloned()).collect()
    }

    fn each_pause(&mut self, group: Group, mut work: impl FnMut(&mut Pause)) {
        for domain in self.domains(group) {
            if let Some(pause) = self.pauses.get_mut(&domain) {
                work(pause);
            }
        }
    }

    /// The answers to these calls, by place.
    fn of(&self, calls: Calls) -> impl Iterator<Item = (Option<u64>, &Answer)> {
        let all = self.answers.range((calls, None)..=(calls, Some(u64::MAX)));
        all.map(|((_, place), answer)| (*place, answer))
    }

    fn succeeds_elsewhere(&self, group: Group, now: Duration) -> bool {
        self.of(group.calls).any(|(place, answer)| {
            matches!(answer, Answer::Succeeded { valid_until } if now < *valid_until)
                && place != group.place
        })
    }

    fn refused(&mut self, group: Group, effect: Effect, domain: &FailureDomain, now: Duration) {
        let place = group.place.filter(|_| effect == Effect::NoneForThisAttempt);
        let is_over =
            |domain| self.pauses.get(domain).is_none_or(|pause: &Pause| now >= pause.until);
        // The call got past the domain that holds everywhere.
        if place.is_some() && self.domain(group.calls, None).is_some_and(is_over) {
            self.answers.remove(&(group.calls, None));
        }
        self.answers.insert((group.calls, place), Answer::Refused(domain.clone()));
    }

    /// Opens the domains of a call that succeeded. Returns the Machines that need not wait any longer.
    fn open(&mut self, Group { calls, place }: Group, valid_until: Duration) -> Vec<ObjectKey> {
        let mut released = Vec::new();
        for domain in self.domains(Group { calls, place }) {
            let pause = self.pauses.remove(&domain);
            released.extend(pause.into_iter().flat_map(|pause| pause.waiting.into_keys()));
        }
        self.answers.remove(&(calls, None));
        self.answers.remove(&(calls, place));
        let places = self.of(calls).filter_map(|(place, _)| self.domain(calls, place).cloned());
        let closed: Vec<_> = places.collect();
        if closed.is_empty() {
            self.answers.retain(|(other, _), _| *other != calls);
        } else if place.is_some() {
            self.answers.insert((calls, place), Answer::Succeeded { valid_until });
        }
        for domain in closed {
            let Some(pause) = self.pauses.get_mut(&domain) else { continue };
            let waiting = pause.waiting.extract_if(.., |_, waiter| waiter.calls == calls);
            released.extend(waiting.map(|(key, _)| key));
        }
        released
    }

    fn sweep(&mut self, now: Duration, memory: Duration) {
        let Self { answers, pauses, .. } = self;
        pauses.retain(|_, pause| !pause.is_expired(now, memory));
        answers.retain(|_, answer| match answer {
            Answer::Refused(domain) => pauses.contains_key(domain),
            Answer::Succeeded { valid_until } => now < *valid_until,
        });
    }
}

impl Pause {
    fn new(error: &CloudError) -> Self {
        Self {
            failures: 0,
            until: Duration::ZERO,
            probe_until: None,
            why: error.failure(),
            waiting: BTreeMap::new(),
        }
    }

    fn gate(&self, now: Duration) -> Gate {
        let until = self.probe_until.filter(|_| now >= self.until).unwrap_or(self.until);
        match until.checked_sub(now).filter(|wait| !wait.is_zero()) {
            None => Gate::Open,
            Some(wait) => Gate::Closed { wait, why: self.why.clone() },
        }
    }

    fn is_expired(&self, now: Duration, memory: Duration) -> bool {
        let until = self.probe_until.map_or(self.until, |probe| probe.max(self.until));
        self.failures > 0 && now >= until.saturating_add(memory)
    }

    /// The probe failed for another reason: the next one may start at `next_probe`.
    fn end_probe(&mut self, next_probe: Duration) {
        if self.probe_until.take().is_some() {
            self.until = self.until.max(next_probe);
        }
    }

    fn join(&mut self, key: &ObjectKey, calls: Calls, now: Duration) {
        let wait = match self.gate(now) {
            Gate::Open => Duration::ZERO,
            Gate::Closed { wait, .. } => wait,
        };
        self.waiting.insert(key.clone(), Waiter { calls, back: now + wait });
    }
}

#[cfg(test)]
mod tests;
