//! The capacity of instance types: fetched in the background, cached, refreshed ahead of expiry. At most one request
//! per cloud access is in flight; all tasks end when [`Ec2Types`] is dropped.

mod cache;
mod fetcher;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::backoff::Backoff;
use machinist_domain::key::ObjectKey;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::capacity::{CapacitySource, Listener, ObservedCapacity, Question};
use machinist_provider::metrics::CallMetrics;
use machinist_provider::parts::{Clock, Parts, Spawn};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::client::{Connector, ENDPOINT_SERVICE};
use crate::clients::{Clients, supersedes};
use cache::TypeCache;

/// Timings of [`Ec2Types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "most names say it")]
pub struct TypeTimings {
    /// How long a capacity is valid. It is refreshed earlier if it is in use.
    pub keep: Duration,
    /// How long an absent type is cached, and a failure that waits for a change is not retried.
    pub keep_absent: Duration,
    pub batch_window: Duration,
    pub retry: Backoff,
    pub request_timeout: Duration,
    pub client_idle: Duration,
}

impl Default for TypeTimings {
    fn default() -> Self {
        Self {
            keep: Duration::from_hours(24),
            keep_absent: Duration::from_mins(10),
            batch_window: Duration::from_millis(20),
            retry: Backoff { base: Duration::from_secs(1), max: Duration::from_mins(5) },
            request_timeout: Duration::from_secs(30),
            client_idle: Duration::from_mins(5),
        }
    }
}

/// The capacity of EC2 instance types.
pub struct Ec2Types {
    inner: Arc<Inner>,
    spawn: Spawn,
    _stop: DropGuard,
}

impl fmt::Debug for Ec2Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ec2Types").field("timings", &self.inner.timings).finish_non_exhaustive()
    }
}

struct Inner {
    clients: Clients,
    metrics: Arc<dyn CallMetrics>,
    clock: Clock,
    timings: TypeTimings,
    accesses: Mutex<Vec<Arc<AccessState>>>,
    listeners: RwLock<Vec<Arc<Listener>>>,
    stop: CancellationToken,
}

struct AccessState {
    access: CloudAccess,
    cache: Mutex<TypeCache>,
    wake: Notify,
}

impl Ec2Types {
    /// An empty source.
    pub fn new(parts: &Parts, timings: TypeTimings) -> Arc<Self> {
        Self::with(parts, timings, Connector::new(parts, Arc::default()))
    }

    pub(crate) fn with(parts: &Parts, timings: TypeTimings, connector: Connector) -> Arc<Self> {
        let stop = CancellationToken::new();
        let connector = Connector { request_timeout: timings.request_timeout, ..connector };
        let inner = Arc::new(Inner {
            clients: Clients::new(connector, Arc::clone(&parts.clock)),
            metrics: Arc::clone(&parts.metrics),
            clock: Arc::clone(&parts.clock),
            timings,
            accesses: Mutex::default(),
            listeners: RwLock::default(),
            stop: stop.clone(),
        });
        Arc::new(Self { inner, spawn: Arc::clone(&parts.spawn), _stop: stop.drop_guard() })
    }
}

impl CapacitySource for Ec2Types {
    fn look(&self, question: &Question) -> ObservedCapacity {
        let (inner, access) = (&self.inner, &question.access);
        let now = (inner.clock)();
        // The cache's lock is taken inside the list's lock, so that a task that is about to end cannot miss this query.
        let mut accesses = inner.accesses.lock();
        let found = accesses.iter().find(|state| state.access == *access).map(Arc::clone);
        let is_new = found.is_none();
        let state = found.unwrap_or_else(|| {
            end_where(&mut accesses, |used| supersedes(&access.credentials, used));
            let state = Arc::new(AccessState {
                access: access.clone(),
                cache: Mutex::new(TypeCache::new(inner.timings)),
                wake: Notify::new(),
            });
            accesses.push(Arc::clone(&state));
            state
        });
        let look = state.cache.lock().look(&question.instance_type, now);
        drop(accesses);
        let hit = matches!(look.answer, ObservedCapacity::Present(_) | ObservedCapacity::Absent);
        inner.metrics.record_lookup(hit);
        if is_new {
            let fetcher = fetcher::run(Arc::clone(inner), Arc::clone(&state));
            (self.spawn)(Box::pin(fetcher));
        } else if look.wake {
            state.wake.notify_one();
        }
        look.answer
    }

    fn forget(&self, secret: &ObjectKey) {
        let is_of_secret =
            |used: &_| matches!(used, Credentials::Secret { key, .. } if key == secret);
        end_where(&mut self.inner.accesses.lock(), is_of_secret);
    }

    fn listen(&self, listener: Listener) {
        self.inner.listeners.write().push(Arc::new(listener));
    }

    fn endpoint_service(&self) -> Option<&'static str> {
        Some(ENDPOINT_SERVICE)
    }
}

impl Inner {
    fn forget(&self, state: &Arc<AccessState>) -> bool {
        let mut accesses = self.accesses.lock();
        let is_idle = state.cache.lock().types.is_empty();
        if is_idle {
            accesses.retain(|other| !Arc::ptr_eq(other, state));
        }
        is_idle
    }

    /// No lock is held, so that listeners may query.
    fn announce(&self, access: &CloudAccess, types: &[Arc<str>]) {
        if types.is_empty() {
            return;
        }
        let listeners = self.listeners.read().clone();
        for listener in listeners {
            listener(access, types);
        }
    }
}

fn end_where(accesses: &mut Vec<Arc<AccessState>>, is_over: impl Fn(&Credentials) -> bool) {
    accesses.retain(|state| {
        let ends = is_over(&state.access.credentials);
        if ends {
            state.cache.lock().types.clear();
            state.wake.notify_one();
        }
        !ends
    });
}
