//! What instance types give, as EC2 says: asked in the background, remembered, refreshed.
//!
//! | file | what |
//! |---|---|
//! | `store` | what is known of one realm, and what is to be done next; pure |
//! | `asker` | the task of one realm: batches questions, asks, retries |
//!
//! Invariants: [`Ec2Types::look`] never waits; one request is in flight per realm at most; all tasks end when the [`Ec2Types`] is dropped.

mod asker;
mod store;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Version};
use machinist_provider::Pending;
use machinist_provider::capacity::{
    Answer, CapacitySource, Credentials, Listener, Question, Realm,
};
use machinist_provider::secret::SecretReader;
use machinist_provider::witness::Witness;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::client::Connector;
use crate::regions::Regions;
use crate::tls::HttpClients;
use store::Memory;

/// Starts a background task.
pub type Spawn = Arc<dyn Fn(Pending<'static, ()>) + Send + Sync>;

/// What an [`Ec2Types`] is made of.
#[derive(Clone)]
pub struct Parts {
    /// Reads Secrets.
    pub secrets: Arc<dyn SecretReader>,
    /// Counts calls.
    pub witness: Arc<dyn Witness>,
    /// Uptime: it only grows.
    pub clock: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// How long things are kept and waited for.
    pub timings: TypeTimings,
    /// Starts background tasks, inside a tokio runtime.
    pub spawn: Spawn,
    /// How many types EC2 is asked to put on a page (5 to 100); `None` leaves that to EC2.
    pub page_size: Option<i32>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("timings", &self.timings).finish_non_exhaustive()
    }
}

/// How long things are kept and waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeTimings {
    /// A type's capacity, at most. Refreshed before that if somebody looked at it.
    pub keep: Duration,
    /// That a type does not exist; and how soon a failure that waits for a change is looked at again.
    pub keep_absent: Duration,
    /// How long questions are collected before they are asked together.
    pub batch_window: Duration,
    /// Before the second attempt; doubled for each one after it.
    pub retry_base: Duration,
    /// Before any attempt, at most.
    pub retry_max: Duration,
    /// One request, from connecting to the last byte.
    pub request_timeout: Duration,
    /// A client that is not used for this long goes, and its credentials with it.
    pub client_idle: Duration,
}

impl Default for TypeTimings {
    fn default() -> Self {
        Self {
            keep: Duration::from_hours(24),
            keep_absent: Duration::from_mins(10),
            batch_window: Duration::from_millis(20),
            retry_base: Duration::from_secs(1),
            retry_max: Duration::from_mins(5),
            request_timeout: Duration::from_secs(30),
            client_idle: Duration::from_mins(5),
        }
    }
}

/// What instance types give, as EC2 says.
pub struct Ec2Types {
    inner: Arc<Inner>,
    spawn: Spawn,
    /// Ends the askers with us.
    _stop: DropGuard,
}

impl fmt::Debug for Ec2Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ec2Types").field("timings", &self.inner.timings).finish_non_exhaustive()
    }
}

/// What the askers share.
struct Inner {
    connector: Connector,
    regions: Regions,
    clock: Arc<dyn Fn() -> Duration + Send + Sync>,
    timings: TypeTimings,
    realms: Mutex<Realms>,
    listeners: RwLock<Vec<Arc<Listener>>>,
    stop: CancellationToken,
}

/// Region and identity: the part of a realm that is quick to hash (a CA bundle is not).
type Who = (Arc<str>, Credentials);

/// Realms that have region and identity in common are few.
type Realms = HashMap<Who, Vec<Arc<RealmState>>>;

/// One realm that somebody asked about.
struct RealmState {
    realm: Realm,
    memory: Mutex<Memory>,
    /// Tells the asker that there may be something to do.
    wake: Notify,
}

impl Ec2Types {
    /// A source that knows nothing yet.
    pub fn new(parts: Parts) -> Arc<Self> {
        Self::sharing(parts, Arc::default())
    }

    /// A source that shares its connections with others.
    pub(crate) fn sharing(parts: Parts, http: Arc<HttpClients>) -> Arc<Self> {
        let stop = CancellationToken::new();
        let connector = Connector {
            secrets: parts.secrets,
            witness: parts.witness,
            request_timeout: parts.timings.request_timeout,
            page_size: parts.page_size,
            http,
        };
        let inner = Arc::new(Inner {
            connector,
            regions: Regions::new(&parts.clock),
            clock: parts.clock,
            timings: parts.timings,
            realms: Mutex::default(),
            listeners: RwLock::default(),
            stop: stop.clone(),
        });
        Arc::new(Self { inner, spawn: parts.spawn, _stop: stop.drop_guard() })
    }
}

impl CapacitySource for Ec2Types {
    fn look(&self, question: &Question) -> Answer {
        let now = (self.inner.clock)();
        let (look, state, is_new) = self.inner.look(question, now);
        self.inner.connector.witness.looked(look.hit);
        if is_new {
            let asker = asker::run(Arc::clone(&self.inner), Arc::clone(&state));
            (self.spawn)(Box::pin(asker));
        } else if look.wake {
            state.wake.notify_one();
        }
        look.answer
    }

    fn forget(&self, secret: &ObjectKey) {
        forget_where(&mut self.inner.realms.lock(), |key, _| key == secret);
    }

    fn listen(&self, listener: Listener) {
        self.inner.listeners.write().push(Arc::new(listener));
    }
}

impl Inner {
    /// Looks into the realm's memory, which is made if need be. The realm's own lock is taken while the realms are locked, so that an
    /// asker that is about to end for want of questions cannot miss this one.
    fn look(&self, question: &Question, now: Duration) -> (store::Look, Arc<RealmState>, bool) {
        let realm = &question.realm;
        let mut realms = self.realms.lock();
        let who = (Arc::clone(&realm.region), realm.credentials.clone());
        let found = realms
            .get(&who)
            .and_then(|states| states.iter().find(|state| state.realm == *realm))
            .map(Arc::clone);
        let is_new = found.is_none();
        let state = found.unwrap_or_else(|| {
            forget_superseded(&mut realms, &realm.credentials);
            let state = Arc::new(RealmState {
                realm: realm.clone(),
                memory: Mutex::new(Memory::new(self.timings)),
                wake: Notify::new(),
            });
            realms.entry(who).or_default().push(Arc::clone(&state));
            state
        });
        let look = state.memory.lock().look(&question.instance_type, now);
        drop(realms);
        (look, state, is_new)
    }

    /// Forgets a realm that nobody asks about; false if somebody just did.
    fn forget(&self, state: &Arc<RealmState>) -> bool {
        let mut realms = self.realms.lock();
        let is_idle = state.memory.lock().is_empty();
        if is_idle {
            take_out(&mut realms, state);
        }
        is_idle
    }

    /// Forgets a realm whose asker is gone.
    fn remove(&self, state: &Arc<RealmState>) {
        take_out(&mut self.realms.lock(), state);
    }

    /// Tells the listeners; nothing is locked meanwhile, so that they may look.
    fn announce(&self, realm: &Realm, types: &[Arc<str>]) {
        if types.is_empty() {
            return;
        }
        let listeners = self.listeners.read().clone();
        for listener in listeners {
            listener(realm, types);
        }
    }
}

fn take_out(realms: &mut Realms, state: &Arc<RealmState>) {
    let realm = &state.realm;
    let who = (Arc::clone(&realm.region), realm.credentials.clone());
    if let Entry::Occupied(mut states) = realms.entry(who) {
        states.get_mut().retain(|other| !Arc::ptr_eq(other, state));
        if states.get().is_empty() {
            states.remove();
        }
    }
}

/// A newer version of a Secret makes the older ones pointless: their askers would go on with credentials that were replaced.
fn forget_superseded(realms: &mut Realms, by: &Credentials) {
    if let Credentials::Secret { key: newer, version: newest } = by {
        forget_where(realms, |key, version| key == newer && version < newest);
    }
}

/// Forgets the realms of some Secrets; their askers end.
fn forget_where(realms: &mut Realms, gone: impl Fn(&ObjectKey, &Version) -> bool) {
    realms.retain(|(_, credentials), states| match credentials {
        Credentials::Secret { key, version } if gone(key, version) => {
            for state in states {
                state.memory.lock().clear();
                state.wake.notify_one();
            }
            false
        }
        _ => true,
    });
}
