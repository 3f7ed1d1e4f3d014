//! Durations of the controllers that manage Machines and drain Nodes. The wiring passes them, scaled by `--time-scale`.

use std::time::Duration;

/// The durations of a machine's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineTimings {
    /// After this, a machine that is still not there says so (`Ready=False`, `CreationTimedOut`); creation goes on.
    pub creation: Duration,
    /// Between two looks at an instance that is on its way (being made or removed).
    pub poll: Duration,
    /// How long one answer about an instance serves everybody who asks.
    pub sighting: Duration,
    /// How long questions about instances are collected before they are asked together.
    pub gather: Duration,
    /// Between two such questions to the same cloud: those who come meanwhile are asked about together.
    pub between_questions: Duration,
    /// How long after its creation an instance may be invisible although it exists.
    pub consistency: Duration,
    /// After this, a drain no longer waits for anybody.
    pub drain: Duration,
    /// The first pause after a pod's eviction was refused; it doubles up to [`eviction_retry_max`](Self::eviction_retry_max).
    pub eviction_retry: Duration,
    /// The longest pause between two attempts to evict the same pod.
    pub eviction_retry_max: Duration,
    /// Between two looks at pods that are on their way out, and at volumes that are being detached.
    pub drain_poll: Duration,
    /// How long a drain waits for volumes to be detached once the pods are gone.
    pub volume_detach: Duration,
    /// The longest shared pause of machines that fail for the same reason (throttled, no room).
    pub domain_pause_max: Duration,
    /// The first shared pause.
    pub domain_pause: Duration,
    /// How long changes of machines are collected before their set is looked at.
    pub children: Duration,
    /// Between two writes of the counts of a set that are still changing.
    pub set_counts: Duration,
}

impl Default for MachineTimings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            creation: seconds(20 * 60),
            poll: seconds(20),
            sighting: seconds(30),
            gather: Duration::from_millis(50),
            between_questions: seconds(2),
            consistency: seconds(60),
            drain: seconds(2 * 60 * 60),
            eviction_retry: seconds(5),
            eviction_retry_max: seconds(120),
            drain_poll: seconds(5),
            volume_detach: seconds(120),
            domain_pause_max: seconds(10 * 60),
            domain_pause: seconds(5),
            children: Duration::from_millis(200),
            set_counts: seconds(1),
        }
    }
}

impl MachineTimings {
    /// All durations multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        // Destructured without `..`: a new duration that is not scaled does not compile.
        let Self {
            creation,
            poll,
            sighting,
            gather,
            between_questions,
            consistency,
            drain,
            eviction_retry,
            eviction_retry_max,
            drain_poll,
            volume_detach,
            domain_pause_max,
            domain_pause,
            children,
            set_counts,
        } = self;
        Self {
            creation: creation.mul_f64(factor),
            poll: poll.mul_f64(factor),
            sighting: sighting.mul_f64(factor),
            gather: gather.mul_f64(factor),
            between_questions: between_questions.mul_f64(factor),
            consistency: consistency.mul_f64(factor),
            drain: drain.mul_f64(factor),
            eviction_retry: eviction_retry.mul_f64(factor),
            eviction_retry_max: eviction_retry_max.mul_f64(factor),
            drain_poll: drain_poll.mul_f64(factor),
            volume_detach: volume_detach.mul_f64(factor),
            domain_pause_max: domain_pause_max.mul_f64(factor),
            domain_pause: domain_pause.mul_f64(factor),
            children: children.mul_f64(factor),
            set_counts: set_counts.mul_f64(factor),
        }
    }
}
