use std::time::Duration;

const HOUR: Duration = Duration::from_hours(1);

/// What EC2 and Auto Scaling have and moto does not. The default has none of it.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// Eventual consistency: a new instance is `NotFound` by id and left out of lists for this long.
    pub hidden_for: Duration,
    pub pending_for: Duration,
    pub shutting_down_for: Duration,
    pub terminated_for: Duration,
    /// From the termination of the token's instances.
    pub tokens_for: Duration,
    pub launch_after: Duration,
    /// An instance refresh replaces one instance in this time.
    pub refresh_step: Duration,
    /// The most instances on a page, whatever the client asks for; none: as moto does it.
    pub page_size: Option<usize>,
    /// What every zone is, as `wavelength-zone`; none: as moto answers.
    pub zone_type: Option<&'static str>,
}

impl Behaviour {
    /// Eventually consistent and slow as AWS is, in a fraction of its times.
    pub fn unkind() -> Self {
        Self {
            hidden_for: Duration::from_millis(300),
            pending_for: Duration::from_millis(500),
            shutting_down_for: Duration::from_millis(500),
            launch_after: Duration::from_millis(200),
            refresh_step: Duration::from_millis(200),
            ..Self::default()
        }
    }
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
