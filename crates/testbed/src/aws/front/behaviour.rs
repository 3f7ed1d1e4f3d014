//! How slow and how forgetful the simulated AWS is, and what it has that moto has not.

use std::time::Duration;

const HOUR: Duration = Duration::from_hours(1);

/// What EC2 and Auto Scaling have and moto has not: delays, small pages, other zones. The default has none of it.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// A new instance is unknown to EC2 for this long (eventual consistency): `NotFound` by id,
    /// left out of lists.
    pub hidden_for: Duration,
    /// A new instance is `pending` for this long.
    pub pending_for: Duration,
    /// An instance is `shutting-down` for this long before it is `terminated`.
    pub shutting_down_for: Duration,
    /// A terminated instance can be described for this long; then it is gone.
    pub terminated_for: Duration,
    /// A token is remembered for this long after the termination of its instances.
    pub tokens_for: Duration,
    /// A group needs this long to launch an instance.
    pub launch_after: Duration,
    /// An instance refresh replaces one instance in this time.
    pub refresh_step: Duration,
    /// The most instances on a page, whatever the client asks for; none: as moto does it.
    pub page_size: Option<usize>,
    /// What every zone is, as `wavelength-zone`; none: as moto answers.
    pub zone_type: Option<&'static str>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            hidden_for: Duration::ZERO,
            pending_for: Duration::ZERO,
            shutting_down_for: Duration::ZERO,
            terminated_for: HOUR,
            tokens_for: 24 * HOUR,
            launch_after: Duration::ZERO,
            refresh_step: Duration::ZERO,
            page_size: None,
            zone_type: None,
        }
    }
}
