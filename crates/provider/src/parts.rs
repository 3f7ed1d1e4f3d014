//! What the process gives to a provider. A provider has no clock, background task or Secret of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::backoff::Backoff;

use crate::Pending;
use crate::metrics::CallMetrics;
use crate::platform::Platform;
use crate::secret::SecretReader;

/// Uptime: monotonic, counts suspend.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Starts a background task on the tokio runtime; it ends with the process.
pub type Spawn = Arc<dyn Fn(Pending<'static, ()>) + Send + Sync>;

#[derive(Clone)]
pub struct Parts {
    pub secrets: Arc<dyn SecretReader>,
    pub platform: Arc<dyn Platform>,
    pub metrics: Arc<dyn CallMetrics>,
    pub clock: Clock,
    pub spawn: Spawn,
    pub timings: CloudTimings,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("timings", &self.timings).finish_non_exhaustive()
    }
}

/// Timeouts and pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloudTimings {
    /// How long the cloud may not list a new resource.
    pub consistency: Duration,
    /// The timeout of one call.
    pub request: Duration,
    /// The pauses after failed background requests.
    pub retry: Backoff,
}

impl Default for CloudTimings {
    fn default() -> Self {
        Self {
            consistency: Duration::from_secs(60),
            request: Duration::from_secs(30),
            retry: Backoff { base: Duration::from_secs(1), max: Duration::from_mins(5) },
        }
    }
}
