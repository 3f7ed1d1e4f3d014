//! Pauses calls that fail for the same reason, such as a throttled account or a zone without capacity.
//!
//! The first refusal closes its [`FailureDomain`] for every Machine in it. After the pause one Machine probes the
//! cloud and the others wait for the result. Pauses double up to a limit and end with the first success. A refusal
//! after which an attempt may go to another place closes only its own place, and only while calls of the [`Group`] do
//! not succeed elsewhere. In memory only: after a restart the cloud refuses again.

use std::time::Duration;

use machinist_domain::backoff::Backoff;
use machinist_domain::expiring::ExpiringMap;
use machinist_domain::hash::fnv1a;
use machinist_domain::key::ObjectKey;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, FailureDomain};
use machinist_runtime::clock::SharedClock;
use parking_lot::Mutex;

use super::snapshot::{Call, Pause};
use crate::cloud_access::Requeue;

/// How long the domain of a group is remembered after a refusal or a wait: longer than any pause.
const LINKS: Duration = Duration::from_hours(2);

/// Calls that fail together: the same call for the same provider spec (a hash), in the same place or in any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Group {
    spec: u64,
    call: Call,
    place: Option<u64>,
}

impl Group {
    pub(super) fn new(namespace: &str, spec: &str, call: Call) -> Self {
        let spec = fnv1a(spec.as_bytes()) ^ fnv1a(namespace.as_bytes()).rotate_left(32);
        Self { spec, call, place: None }
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
    /// The domain in which a group was refused; that of a group without a place holds in every place.
    refused: ExpiringMap<Group, FailureDomain>,
    /// Where calls of a group (without its place) succeeded last.
    room: ExpiringMap<Group, Option<u64>>,
    /// Pauses, and the memory of those that are over.
    pauses: ExpiringMap<FailureDomain, Closed>,
    /// Machines that wait, unless they do not return.
    waiting: ExpiringMap<ObjectKey, Group>,
}

#[derive(Clone)]
struct Closed {
    failures: u32,
    /// The end of the pause or, while one Machine probes, of the time that it has.
    until: Duration,
    probing: bool,
    why: Failure,
}

impl std::fmt::Debug for FailureDomains {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FailureDomains").finish_non_exhaustive()
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
        let now = self.clock.uptime();
        self.state.lock().pause(group, now).map(|closed| closed.pause(now))
    }

    /// Begins a call unless the domain pauses. The first call after a pause is the probe.
    pub(super) fn enter(&self, group: Group, key: &ObjectKey) -> Option<Pause> {
        let now = self.clock.uptime();
        let mut state = self.state.lock();
        let pause = self.join(&mut state, group, key, now);
        if pause.is_none() {
            state.waiting.remove(key);
            for (domain, closed) in state.closed(group, now) {
                if now >= closed.until {
                    let until = now + self.probe_timeout;
                    self.close(&mut state, domain, Closed { until, probing: true, ..closed }, now);
                }
            }
        }
        pause
    }

    /// Requeues the Machine when the domain opens; at once if it has opened since `pause` was called.
    pub(super) fn wait(&self, group: Group, key: &ObjectKey) {
        let pause = self.join(&mut self.state.lock(), group, key, self.clock.uptime());
        if pause.is_none() {
            (self.requeue)(key);
        }
    }

    fn join(
        &self,
        state: &mut State,
        group: Group,
        key: &ObjectKey,
        now: Duration,
    ) -> Option<Pause> {
        let pause = state.pause(group, now)?.pause(now);
        let ttl = pause.wait + self.timings.domain_pause_max;
        state.waiting.insert(key.clone(), group, now, ttl);
        // One spec probes for all that share the domain; the others must not be forgotten meanwhile.
        for group in [group.at(None), group] {
            if let Some(domain) = state.refused.get(&group, now).cloned() {
                state.refused.insert(group, domain, now, LINKS);
            }
        }
        Some(pause)
    }

    /// Opens the domains of the call, and requeues the Machines that need not wait any more.
    pub(super) fn succeeded(&self, group: Group) {
        let now = self.clock.uptime();
        let released = self.state.lock().open(group, now, self.timings.domain_pause_max);
        for key in &released {
            (self.requeue)(key);
        }
    }

    /// Closes the failure domain of a call that was refused for a shared reason, and ends the call's probe of others.
    pub(super) fn failed(&self, group: Group, error: &CloudError) {
        let now = self.clock.uptime();
        let mut state = self.state.lock();
        let probed = state.closed(group, now);
        let shared = matches!(error.class, ErrorClass::Throttled | ErrorClass::CapacityExhausted);
        let refused = error.domain.as_ref().filter(|_| shared);
        if let Some(domain) = refused {
            let in_place = error.effect == Effect::NoneForThisAttempt;
            state.refuse(if in_place { group } else { group.at(None) }, domain, now);
            let (failures, until) = match state.pauses.get(domain, now) {
                // Calls that were in flight together fail together and count as one failure.
                Some(closed) if !closed.is_over(now) => (closed.failures, closed.until),
                last => {
                    let failures = last.map_or(0, |closed| closed.failures).saturating_add(1);
                    let length = self.pause_length(domain, failures);
                    (failures, now + length.max(error.pause().unwrap_or_default()))
                }
            };
            let closed = Closed { failures, until, probing: false, why: error.failure() };
            self.close(&mut state, domain.clone(), closed, now);
        }
        for (domain, closed) in probed {
            if closed.probing && refused != Some(&domain) {
                let until = now + self.timings.domain_pause;
                self.close(&mut state, domain, Closed { until, probing: false, ..closed }, now);
            }
        }
    }

    fn close(&self, state: &mut State, domain: FailureDomain, closed: Closed, now: Duration) {
        let ttl = closed.until.saturating_sub(now) + self.timings.domain_pause_max;
        state.pauses.insert(domain, closed, now, ttl);
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
    /// The pause that holds for these calls.
    fn pause(&self, group: Group, now: Duration) -> Option<&Closed> {
        let refusal = |group| self.refusal(group, now).map(|(_, closed)| closed);
        let pause = |group| refusal(group).filter(|closed| now < closed.until);
        let room = self.room.get(&group.at(None), now);
        let goes_elsewhere = room.is_some_and(|place| *place != group.place);
        pause(group.at(None)).or_else(|| if goes_elsewhere { None } else { pause(group) })
    }

    fn refusal(&self, group: Group, now: Duration) -> Option<(&FailureDomain, &Closed)> {
        let domain = self.refused.get(&group, now)?;
        Some((domain, self.pauses.get(domain, now)?))
    }

    /// The domains that hold for these calls: everywhere, and in their place.
    fn closed(&self, group: Group, now: Duration) -> Vec<(FailureDomain, Closed)> {
        let refusals = [group.at(None), group].into_iter().filter_map(|it| self.refusal(it, now));
        refusals.map(|(domain, closed)| (domain.clone(), closed.clone())).collect()
    }

    fn refuse(&mut self, group: Group, domain: &FailureDomain, now: Duration) {
        let everywhere = group.at(None);
        // The call got past the domain that holds everywhere.
        if self.refusal(everywhere, now).is_none_or(|(_, closed)| closed.is_over(now)) {
            self.refused.remove(&everywhere);
        }
        if self.room.get(&everywhere, now) == Some(&group.place) {
            self.room.remove(&everywhere);
        }
        self.refused.insert(group, domain.clone(), now, LINKS);
    }

    /// Returns the Machines that need not wait any more.
    fn open(&mut self, group: Group, now: Duration, memory: Duration) -> Vec<ObjectKey> {
        for group in [group.at(None), group] {
            if let Some(domain) = self.refused.remove(&group) {
                self.pauses.remove(&domain);
            }
        }
        if group.place.is_some() {
            self.room.insert(group.at(None), group.place, now, memory);
        }
        let waiting = self.waiting.live(now);
        let free = waiting.filter(|(_, group)| self.pause(**group, now).is_none());
        let released: Vec<_> = free.map(|(key, _)| key.clone()).collect();
        for key in &released {
            self.waiting.remove(key);
        }
        released
    }
}

impl Closed {
    fn is_over(&self, now: Duration) -> bool {
        self.probing || now >= self.until
    }

    fn pause(&self, now: Duration) -> Pause {
        Pause { wait: self.until.saturating_sub(now), why: self.why.clone() }
    }
}

#[cfg(test)]
mod tests;
