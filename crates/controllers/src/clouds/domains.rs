//! Machines that fail for the same reason pause together.
//!
//! A cloud that throttles an account, or has no room for a type in a zone, says no to everybody who asks. So the first refusal closes
//! the failure domain for all its machines; when the pause is over one of them tries, and the others wait for what comes of that. Pauses
//! double up to a limit, with jitter, and end with the first success.
//!
//! Which domain a call belongs to is known once a call of its [`Group`] was refused: before that everybody may try. Nothing here has to
//! survive a restart: the cloud will say the same again. What nobody has asked about for long is forgotten, and whoever waits is known only for
//! as long as they come back.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use machinist_domain::hash::fnv1a;
use machinist_domain::key::ObjectKey;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_provider::cloud::{CloudError, ErrorClass, FailureDomain};
use machinist_runtime::clock::SharedClock;
use parking_lot::Mutex;

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

/// Calls that fail together, as far as we can tell: the same call for the same provider spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Group(u64, Call);

impl Group {
    /// The group of a call for a machine with this provider spec in this namespace.
    pub fn new(namespace: &str, spec: &str, call: Call) -> Self {
        Self(fnv1a(spec.as_bytes()) ^ fnv1a(namespace.as_bytes()).rotate_left(32), call)
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
    groups: HashMap<Group, FailureDomain>,
    closed: HashMap<FailureDomain, Pause>,
    /// When what is over is forgotten next.
    sweep_at: Duration,
}

struct Pause {
    failures: u32,
    until: Duration,
    /// Somebody tries, and is given until then.
    trying_until: Option<Duration>,
    why: Failure,
    /// Who waits, and until when they are expected back.
    waiting: BTreeMap<ObjectKey, Duration>,
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
        self.state.lock().pause(group).map_or(Gate::Open, |pause| pause.gate(now))
    }

    /// Begins a call, if it may be tried: where a pause is over, the first who comes tries for all of them.
    pub fn enter(&self, group: Group, key: &ObjectKey) -> Gate {
        let now = self.clock.uptime();
        let mut state = self.state.lock();
        let Some(pause) = state.pause(group) else { return Gate::Open };
        let gate = pause.gate(now);
        if gate == Gate::Open {
            pause.waiting.remove(key);
            pause.trying_until = Some(now + self.patience);
        } else {
            pause.join(key, now);
        }
        gate
    }

    /// Waits for what comes of it when somebody else tries.
    pub fn wait(&self, group: Group, key: &ObjectKey) {
        let now = self.clock.uptime();
        if let Some(pause) = self.state.lock().pause(group) {
            pause.join(key, now);
        }
    }

    /// The call worked: nobody needs to wait any longer.
    pub fn succeeded(&self, group: Group) {
        let opened = {
            let mut state = self.state.lock();
            let domain = state.groups.remove(&group);
            domain.and_then(|domain| state.closed.remove(&domain))
        };
        for key in opened.into_iter().flat_map(|pause| pause.waiting.into_keys()) {
            (self.wake)(&key);
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
            // Somebody tried for all, and learned nothing about what they wait for. Another one may try.
            if let Some(pause) = state.pause(group) {
                pause.trying_until = None;
                pause.until = pause.until.max(now + self.timings.domain_pause);
            }
            return;
        };
        state.groups.insert(group, domain.clone());
        let pause = state.closed.entry(domain.clone()).or_insert_with(|| Pause::new(error));
        if pause.is_over(now, memory) {
            *pause = Pause::new(error);
        }
        // Calls that were under way together fail together, and count as one failure.
        if now >= pause.until {
            pause.failures = pause.failures.saturating_add(1);
            // Who is long overdue is gone, or wants something else.
            pause.waiting.retain(|_, back| now < back.saturating_add(memory));
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

impl Pause {
    fn new(error: &CloudError) -> Self {
        Self {
            failures: 0,
            until: Duration::ZERO,
            trying_until: None,
            why: error.failure(),
            waiting: BTreeMap::new(),
        }
    }

    /// Whether it ended so long ago that it says nothing about the next call.
    fn is_over(&self, now: Duration, memory: Duration) -> bool {
        let until = self.trying_until.map_or(self.until, |trying| trying.max(self.until));
        self.failures > 0 && now >= until.saturating_add(memory)
    }

    fn join(&mut self, key: &ObjectKey, now: Duration) {
        let wait = match self.gate(now) {
            Gate::Open => Duration::ZERO,
            Gate::Closed { wait, .. } => wait,
        };
        self.waiting.insert(key.clone(), now + wait);
    }

    fn gate(&self, now: Duration) -> Gate {
        let until = match self.trying_until {
            // Whoever tries wakes the others, or lets the next one try.
            Some(trying) if now >= self.until => trying,
            _ => self.until,
        };
        match until.checked_sub(now).filter(|wait| !wait.is_zero()) {
            None => Gate::Open,
            Some(wait) => Gate::Closed { wait, why: self.why.clone() },
        }
    }
}

impl State {
    fn sweep(&mut self, now: Duration, memory: Duration) {
        self.closed.retain(|_, pause| !pause.is_over(now, memory));
        self.groups.retain(|_, domain| self.closed.contains_key(domain));
    }

    fn pause(&mut self, group: Group) -> Option<&mut Pause> {
        let domain = self.groups.get(&group)?;
        self.closed.get_mut(domain)
    }
}

#[cfg(test)]
mod tests;
