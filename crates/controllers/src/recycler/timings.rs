//! The durations of the recycler that no EventRecycler sets. Wiring passes them, scaled by `--time-scale`.

use std::time::Duration;

use machinist_domain::machine_timings::MachineTimings;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecyclerTimings {
    /// The shortest `watchInterval` and `pollInterval` that is honoured.
    pub shortest_interval: Duration,
    /// How long the description of a group that may be recycled is served from the cache, at most.
    pub group_age: Duration,
    /// The shortest time between two writes of counts alone.
    pub store_counts: Duration,
    /// The requeue delay while a list of Events is incomplete.
    pub incomplete_list: Duration,
    /// The shortest time between a change of a group and the next request about it.
    pub settle: Duration,
    /// How long the cloud may still execute a call whose sender has given up or died.
    pub late_call: Duration,
    /// Drains, and lookups of instances.
    pub machines: MachineTimings,
}

impl Default for RecyclerTimings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            shortest_interval: seconds(1),
            group_age: seconds(15),
            store_counts: seconds(2),
            incomplete_list: seconds(1),
            settle: seconds(1),
            late_call: seconds(60),
            machines: MachineTimings::default(),
        }
    }
}

impl RecyclerTimings {
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        // Destructured without `..`: a new duration that is not scaled does not compile.
        let Self {
            shortest_interval,
            group_age,
            store_counts,
            incomplete_list,
            settle,
            late_call,
            machines,
        } = self;
        Self {
            shortest_interval: shortest_interval.mul_f64(factor),
            group_age: group_age.mul_f64(factor),
            store_counts: store_counts.mul_f64(factor),
            incomplete_list: incomplete_list.mul_f64(factor),
            settle: settle.mul_f64(factor),
            late_call: late_call.mul_f64(factor),
            machines: machines.scaled(factor),
        }
    }
}
