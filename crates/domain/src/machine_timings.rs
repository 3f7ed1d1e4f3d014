//! Durations of the controllers that manage Machines and drain Nodes. The wiring passes them, scaled by `--time-scale`.

use std::time::Duration;

/// Durations of the controllers that manage Machines and drain Nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineTimings {
    /// After this time a creation is reported as slow, by an Event and in the message of the condition `Ready`, whose
    /// reason stays. It continues.
    pub creation: Duration,
    /// The poll interval for an instance that is created or terminated.
    pub poll: Duration,
    /// How long the description of an instance is served from the cache.
    pub instance_ttl: Duration,
    /// How long lookups of instances are collected for one request.
    pub gather: Duration,
    /// The shortest time between two lookup requests to the same cloud.
    pub between_requests: Duration,
    /// How long a new instance may be invisible in the cloud API.
    pub consistency: Duration,
    /// How long a drain may take before it is forced; `None` if it never is.
    pub drain: Option<Duration>,
    /// The first delay after a refused eviction; doubles up to [`eviction_retry_max`](Self::eviction_retry_max).
    pub eviction_retry: Duration,
    /// The longest delay between two evictions of the same pod.
    pub eviction_retry_max: Duration,
    /// The poll interval for terminating pods and detaching volumes; that for pods grows while none of them ends.
    pub drain_poll: Duration,
    /// How long a drain waits while no volume detaches.
    pub volume_detach: Duration,
    /// The first pause of a failure domain after a refusal (throttled, no capacity); doubles up to
    /// [`domain_pause_max`](Self::domain_pause_max).
    pub domain_pause: Duration,
    /// The longest pause of a failure domain.
    pub domain_pause_max: Duration,
    /// How long changes of Machines are collected before their MachineSet is reconciled.
    pub machine_debounce: Duration,
    /// The shortest time between two writes of changing counts of a MachineSet.
    pub set_counts: Duration,
    /// How long the API server may still execute a create that it has not answered: its request timeout.
    pub late_create: Duration,
}

impl Default for MachineTimings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            creation: seconds(20 * 60),
            poll: seconds(20),
            instance_ttl: seconds(30),
            gather: Duration::from_millis(50),
            between_requests: seconds(2),
            consistency: seconds(60),
            drain: None,
            eviction_retry: seconds(5),
            eviction_retry_max: seconds(120),
            drain_poll: seconds(5),
            volume_detach: seconds(120),
            domain_pause: seconds(5),
            domain_pause_max: seconds(10 * 60),
            machine_debounce: Duration::from_millis(200),
            set_counts: seconds(1),
            late_create: seconds(60),
        }
    }
}

impl MachineTimings {
    /// All durations multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            creation: self.creation.mul_f64(factor),
            poll: self.poll.mul_f64(factor),
            instance_ttl: self.instance_ttl.mul_f64(factor),
            gather: self.gather.mul_f64(factor),
            between_requests: self.between_requests.mul_f64(factor),
            consistency: self.consistency.mul_f64(factor),
            drain: self.drain.map(|time| time.mul_f64(factor)),
            eviction_retry: self.eviction_retry.mul_f64(factor),
            eviction_retry_max: self.eviction_retry_max.mul_f64(factor),
            drain_poll: self.drain_poll.mul_f64(factor),
            volume_detach: self.volume_detach.mul_f64(factor),
            domain_pause: self.domain_pause.mul_f64(factor),
            domain_pause_max: self.domain_pause_max.mul_f64(factor),
            machine_debounce: self.machine_debounce.mul_f64(factor),
            set_counts: self.set_counts.mul_f64(factor),
            late_create: self.late_create.mul_f64(factor),
        }
    }
}

/// How long a Machine may be in a state, unless its annotations set another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineLimits {
    /// How long the agent on a Node may update it in place until that is reported as late.
    pub in_place: Duration,
    /// How long a Machine is kept for debugging.
    pub preserved: Duration,
    /// How long a Node may be not ready before its Machine counts as failed, so that it is kept.
    pub unhealthy: Duration,
}

impl Default for MachineLimits {
    fn default() -> Self {
        Self {
            in_place: Duration::from_mins(20),
            preserved: Duration::from_hours(96),
            unhealthy: Duration::from_mins(10),
        }
    }
}

impl MachineLimits {
    /// All durations multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            in_place: self.in_place.mul_f64(factor),
            preserved: self.preserved.mul_f64(factor),
            unhealthy: self.unhealthy.mul_f64(factor),
        }
    }
}
