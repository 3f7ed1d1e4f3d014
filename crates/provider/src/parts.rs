//! What a provider is given by the process that it runs in. It opens no clock, no background task and no Secret by itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Pending;
use crate::platform::Platform;
use crate::secret::SecretReader;
use crate::witness::Witness;

/// Uptime: it only grows, and counts suspend.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Starts a background task, inside a tokio runtime, that ends with the process.
pub type Spawn = Arc<dyn Fn(Pending<'static, ()>) + Send + Sync>;

/// What both the cloud half and the capacity source are made of.
#[derive(Clone)]
pub struct Parts {
    /// Reads Secrets.
    pub secrets: Arc<dyn SecretReader>,
    /// What the cluster says for all of its machines.
    pub platform: Arc<dyn Platform>,
    /// Counts calls.
    pub witness: Arc<dyn Witness>,
    /// Uptime.
    pub clock: Clock,
    /// Starts background tasks.
    pub spawn: Spawn,
    /// How long things are waited for.
    pub timings: CloudTimings,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("timings", &self.timings).finish_non_exhaustive()
    }
}

/// How long things are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloudTimings {
    /// How long what was made may stay invisible.
    pub consistency: Duration,
    /// How long one call may take.
    pub request: Duration,
    /// The first pause after a background question failed; it doubles.
    pub retry_base: Duration,
    /// The longest such pause.
    pub retry_max: Duration,
}

impl Default for CloudTimings {
    fn default() -> Self {
        Self {
            consistency: Duration::from_secs(60),
            request: Duration::from_secs(30),
            retry_base: Duration::from_secs(1),
            retry_max: Duration::from_secs(300),
        }
    }
}
