//! Pauses calls that fail for the same reason, such as a throttled account or a zone without capacity.
//!
//! The first refusal closes its [`FailureDomain`] for every Machine in it. After the pause one Machine probes the
//! cloud and the others wait for the result. Pauses double up to a limit and end with the first success. A refusal
//! after which an attempt may go to another place closes only its own place, and only while calls of the [`Group`] do
//! not succeed elsewhere. In memory only: after a restart the cloud refuses again.

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

use super::snapshot::{Call, Pause};
use crate::cloud_access::Requeue;

/// Calls that fail together: the same call for the same provider spec, in the same place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    calls: Calls,
    place: Option<u64>,
}

/// The same call for the same provider spec (a hash), in any place.
type Calls = (u64, Call);

impl Group {
    pub(super) fn new(namespace: &str, spec: &str, call: Call) -> Self {
        let spec = fnv1a(spec.as_bytes()) ^ fnv1a(namespace.as_bytes()).rotate_left(32);
        Self { calls: (spec, call), place: None }
    }

    #[must_use]
    pub(super) fn at(self, place: Option<&str>) -> Self {
        Self { place: place.map(|place| fnv1a(place.as_bytes())), ..self }
    }
}

pub(super) struct FailureDomains {
    state: Mutex<State>,
    clock: SharedClock,
    timings: MachineTimings,
    probe_timeout: Duration,
    requeue: Requeue,
}

#[derive(Default)]
struct State {
    /// The last answer for each group; one without a place holds for every place.
    answers: BTreeMap<(Calls, Option<u64>), Answer>,
    pauses: HashMap<FailureDomain, Closed>,
}

enum Answer {
    Refused(FailureDomain),
    Succeeded { valid_until: Duration },
}

/// The pause of one domain, and the memory of it once it is over.
struct Closed {
    failures: u32,
    until: Duration,
    probe_until: Option<Duration>,
    why: Failure,
    /// Machines that wait, with the time at which they are expected to reconcile again.
    waiting: BTreeMap<ObjectKey, (Calls, Duration)>,
}

impl std::fmt::Debug for FailureDomains {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pauses = self.state.lock().pauses.len();
        f.debug_struct("FailureDomains").field("pauses", &pauses).finish_non_exhaustive()
    }
}

impl FailureDomains {
    /// `requeue` must not block.
    pub(super) fn new(
        clock: SharedClock,
        timings: MachineTimings,
        probe_timeout: Duration,
        requeue: Requeue,
    ) -> Self {
        Self { state: Mutex::default(), clock, timings, probe_timeout, requeue }
    }

    /// Set if a call of this group must not be made. Changes nothing.
    pub(super) fn pause(&self, group: Group) -> Option<Pause> {
        self.state.lock().pause(group, self.clock.uptime())
    }

    /// Begins a call unless the domain pauses. The first call after a pause is the probe.
    pub(super) fn enter(&self, group: Group, key: &ObjectKey) -> Option<Pause> {
        let now = self.clock.uptime();
        let mut state = self.state.lock();
        let pause = state.pause(group, now);
        let domains = state.domains(group);
        state.each_closed(&domains, |closed| {
            if pause.is_some() {
                closed.join(key, group.calls, now);
                return;
            }
            closed.waiting.remove(key);
            if closed.pause(now).is_none() {
                closed.probe_until = Some(now + self.probe_timeout);
            }
        });
        pause
    }

    /// Requeues the Machine when the domain opens; at once if it has opened since `pause` was called.
    pub(super) fn wait(&self, group: Group, key: &ObjectKey) {
        let now = self.clock.uptime();
        let mut state = self.state.lock();
        if state.pause(group, now).is_none() {
            drop(state);
            (self.requeue)(key);
        } else {
            let domains = state.domains(group);
            state.each_closed(&domains, |closed| closed.join(key, group.calls, now));
        }
    }

    /// Opens the domains of the call. Machines with the same spec that wait in other places may go there, too.
    pub(super) fn succeeded(&self, group: Group) {
        let valid_until = self.clock.uptime() + self.timings.domain_pause_max;
        let released = self.state.lock().open(group, valid_until);
        for key in &released {
            (self.requeue)(key);
        }
    }

    /// Closes the failure domain of a call that was refused for a shared reason, and ends the call's probe of others.
    pub(super) fn failed(&self, group: Group, error: &CloudError) {
        let (now, memory) = (self.clock.uptime(), self.timings.domain_pause_max);
        let mut state = self.state.lock();
        state.sweep(now, memory);
        let probed = state.domains(group);
        let shared = matches!(error.class, ErrorClass::Throttled | ErrorClass::CapacityExhausted);
        if let Some(domain) = error.domain.as_ref().filter(|_| shared) {
            state.refused(group, error.effect, domain, now);
            let closed = state.pauses.entry(domain.clone()).or_insert_with(|| Closed {
                failures: 0,
                until: Duration::ZERO,
                probe_until: None,
                why: error.failure(),
                waiting: BTreeMap::new(),
            });
            // Calls that were in flight together fail together and count as one failure.
            if now >= closed.until {
                closed.failures = closed.failures.saturating_add(1);
                closed.waiting.retain(|_, (_, back)| now < back.saturating_add(memory));
                let length = self.pause_length(domain, closed.failures);
                closed.until = now + length.max(error.pause().unwrap_or_default());
            }
            closed.probe_until = None;
            closed.why = error.failure();
        }
        let next_probe = now + self.timings.domain_pause;
        state.each_closed(&probed, |closed| {
            if closed.probe_until.take().is_some() {
                closed.until = closed.until.max(next_probe);
            }
        });
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
    fn pause(&self, group: Group, now: Duration) -> Option<Pause> {
        let pause = |place| self.pauses.get(self.domain(group.calls, place)?)?.pause(now);
        pause(None).or_else(|| {
            let elsewhere = self.of(group.calls).any(|(place, answer)| {
                matches!(answer, Answer::Succeeded { valid_until } if now < *valid_until)
                    && place != group.place
            });
            if elsewhere { None } else { pause(group.place) }
        })
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

    fn each_closed(&mut self, domains: &[FailureDomain], mut work: impl FnMut(&mut Closed)) {
        for domain in domains {
            if let Some(closed) = self.pauses.get_mut(domain) {
                work(closed);
            }
        }
    }

    fn of(&self, calls: Calls) -> impl Iterator<Item = (Option<u64>, &Answer)> {
        let all = self.answers.range((calls, None)..=(calls, Some(u64::MAX)));
        all.map(|((_, place), answer)| (*place, answer))
    }

    fn refused(&mut self, group: Group, effect: Effect, domain: &FailureDomain, now: Duration) {
        let place = group.place.filter(|_| effect == Effect::NoneForThisAttempt);
        let is_over = |domain: &FailureDomain| {
            self.pauses.get(domain).is_none_or(|closed| now >= closed.until)
        };
        // The call got past the domain that holds everywhere.
        if place.is_some() && self.domain(group.calls, None).is_some_and(is_over) {
            self.answers.remove(&(group.calls, None));
        }
        self.answers.insert((group.calls, place), Answer::Refused(domain.clone()));
    }

    fn open(&mut self, group: Group, valid_until: Duration) -> Vec<ObjectKey> {
        let Group { calls, place } = group;
        let mut released = Vec::new();
        for domain in self.domains(group) {
            let closed = self.pauses.remove(&domain);
            released.extend(closed.into_iter().flat_map(|closed| closed.waiting.into_keys()));
        }
        self.answers.remove(&(calls, None));
        self.answers.remove(&(calls, place));
        let places = self.of(calls).filter_map(|(place, _)| self.domain(calls, place).cloned());
        let elsewhere: Vec<_> = places.collect();
        if elsewhere.is_empty() {
            self.answers.retain(|(other, _), _| *other != calls);
        } else if place.is_some() {
            self.answers.insert((calls, place), Answer::Succeeded { valid_until });
        }
        self.each_closed(&elsewhere, |closed| {
            let waiting = closed.waiting.extract_if(.., |_, (waiter, _)| *waiter == calls);
            released.extend(waiting.map(|(key, _)| key));
        });
        released
    }

    fn sweep(&mut self, now: Duration, memory: Duration) {
        let Self { answers, pauses } = self;
        pauses.retain(|_, closed| now < closed.ends().saturating_add(memory));
        answers.retain(|_, answer| match answer {
            Answer::Refused(domain) => pauses.contains_key(domain),
            Answer::Succeeded { valid_until } => now < *valid_until,
        });
    }
}

impl Closed {
    fn ends(&self) -> Duration {
        self.probe_until.map_or(self.until, |probe| probe.max(self.until))
    }

    fn pause(&self, now: Duration) -> Option<Pause> {
        let until = if now < self.until { self.until } else { self.ends() };
        let wait = until.checked_sub(now).filter(|wait| !wait.is_zero())?;
        Some(Pause { wait, why: self.why.clone() })
    }

    fn join(&mut self, key: &ObjectKey, calls: Calls, now: Duration) {
        let wait = self.pause(now).map_or(Duration::ZERO, |pause| pause.wait);
        self.waiting.insert(key.clone(), (calls, now + wait));
    }
}

#[cfg(test)]
mod tests;
