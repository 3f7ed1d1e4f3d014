//! Starts a controller as soon as the API server serves the kinds that it requires.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use futures::future::BoxFuture;
use machinist_api::resource::Resource;
use machinist_domain::key::ObjectKey;
use machinist_domain::safety::{EffectKind, Initiator, ObjectRef};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Controller;
use super::declaration::Declaration;
use super::driver::Driver;
use super::pending_events::PendingEvents;
use crate::cache::kind::CustomResourceDefinitions;
use crate::cache::registry::Caches;
use crate::cache::{AnyCache, Scope};
use crate::clock::SharedClock;
use crate::cluster::{ApiError, Cluster};
use crate::events::Events;
use crate::freezes::Freezes;
use crate::health::Health;
use crate::lease::{Leadership, LeaseCustom};
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::readiness::{Readiness, Waiting};
use crate::tasks::Tasks;
use crate::timings::Timings;
use crate::user_agent::UserAgent;
use crate::writer::{Gateway, Writer};

/// What all controllers of the process share.
#[derive(Debug)]
pub struct Shared {
    /// The cluster with the objects.
    pub control: Cluster,
    /// The cluster with the Nodes; `None` if there is none.
    pub target: Option<Cluster>,
    pub scope: Scope,
    pub caches: Caches,
    pub gateway: Arc<Gateway>,
    pub events: Arc<Events>,
    pub freezes: Arc<Freezes>,
    pub metrics: Arc<Metrics>,
    pub readiness: Arc<Readiness>,
    pub health: Health,
    pub clock: SharedClock,
    pub timings: Timings,
    pub tasks: Tasks,
}

impl Shared {
    /// What stops such a change on behalf of the object, if a freeze does. Reads after "frozen".
    pub fn frozen_by(
        &self,
        effect: EffectKind,
        initiator: Initiator,
        object: &ObjectRef,
    ) -> Option<Arc<str>> {
        let refusal = self.freezes.permit_as_counted(effect, initiator, object).err()?;
        Some(refusal.cause().into())
    }
}

/// A controller that can be started.
pub struct Registration {
    /// What it declares about itself.
    pub declaration: Declaration,
    /// Namespace and duration of its Lease, where they differ from the defaults.
    pub lease: LeaseCustom,
    pub(crate) start: Box<dyn FnOnce(Start) -> BoxFuture<'static, ()> + Send>,
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration").field("name", &self.declaration.name).finish_non_exhaustive()
    }
}

#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) shared: Arc<Shared>,
    pub(crate) leadership: Leadership,
    pub(crate) workers: usize,
    pub(crate) stop: CancellationToken,
}

impl Registration {
    /// Registers a controller; `build` runs when all required kinds are served.
    pub fn new<C: Controller>(build: impl FnOnce(&Arc<Shared>) -> C + Send + 'static) -> Self {
        Self {
            declaration: C::DECLARATION,
            lease: C::DECLARATION.lease.custom,
            start: Box::new(|start| Box::pin(run(build, start, Need::Required))),
        }
    }

    /// Adds a part of the controller for kinds that do not have to be served. It starts when they are and may be
    /// listed, with the same Lease; until then, it is not mentioned in readiness and does not affect it.
    #[must_use]
    pub fn with_optional<C: Controller>(
        self,
        build: impl FnOnce(&Arc<Shared>) -> C + Send + 'static,
    ) -> Self {
        let controller = self.start;
        let start = |start: Start| -> BoxFuture<'static, ()> {
            let part = run(build, start.clone(), Need::Optional);
            Box::pin(async { tokio::join!(controller(start), part).0 })
        };
        Self { start: Box::new(start), ..self }
    }
}

/// Whether the kinds of a controller have to be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

async fn run<C: Controller>(build: impl FnOnce(&Arc<Shared>) -> C, start: Start, need: Need) {
    let Start { shared, leadership, workers, stop } = start;
    for resource in C::DECLARATION.requires {
        let served = wait_served(&shared, C::NAME, *resource, need);
        if stop.run_until_cancelled(served).await.is_none() {
            return;
        }
    }
    if need == Need::Required {
        shared.readiness.runs(C::NAME);
    }
    tracing::info!(controller = C::NAME, workers, "starting controller");
    let session = shared.control.session(UserAgent::of(C::NAME));
    let queue = Arc::new(Queue::new(shared.timings.retry));
    shared.metrics.queue(C::NAME, &queue);
    shared.health.check_queue(C::NAME, &queue);
    (C::DECLARATION.metrics)(&shared.metrics);
    let driver = Driver {
        controller: build(&shared),
        queue,
        writer: Writer::new(shared.gateway.clone(), session, C::NAME, leadership).with_target(
            shared.target.as_ref().map(|target| target.session(UserAgent::of(C::NAME))),
        ),
        pending_events: PendingEvents::default(),
        shared,
        workers,
        reconciles: AtomicU64::new(0),
    };
    driver.run(stop).await;
}

/// Watches the CustomResourceDefinition, or polls the resource if that is not allowed. An optional part also waits for
/// the right to the objects: the cache of a kind that may not be listed would keep the process unready.
async fn wait_served(shared: &Shared, controller: &'static str, resource: Resource, need: Need) {
    let waits = |what| {
        if need == Need::Required {
            shared.readiness.waits(controller, what);
        }
    };
    waits(Waiting::Served(resource));
    let definitions = shared.caches.open(&shared.control, Scope::All, CustomResourceDefinitions);
    let crd = resource.crd_name();
    let name = ObjectKey::new("", crd.as_str());
    let news = Arc::new(Notify::new());
    let (bell, wanted) = (news.clone(), name.clone());
    definitions.subscribe(move |change| {
        if *change.key == wanted && change.after.is_some() {
            bell.notify_one();
        }
    });
    let mut attempts = 0;
    let mut warned = need == Need::Required; // readiness reports it
    loop {
        let synced = definitions.state().synced;
        let defined = definitions.get(&name).is_some();
        if defined && need == Need::Required {
            return;
        }
        if synced && !defined {
            if need == Need::Required {
                tracing::warn!(resource = crd, "waiting for the CustomResourceDefinition");
            }
            waits(Waiting::Missing(resource));
            news.notified().await;
            continue;
        }
        let is_final = match list_one(shared, resource).await {
            Ok(()) => return,
            Err(error) if error.is_forbidden() => {
                if !std::mem::replace(&mut warned, true) {
                    tracing::warn!(
                        controller,
                        resource = crd,
                        %error,
                        "not allowed to list; objects of this kind are ignored"
                    );
                }
                waits(Waiting::Forbidden(resource, error));
                true
            }
            Err(error) if error.code() == Some(404) => {
                waits(Waiting::Missing(resource));
                // A new kind is served a moment after its definition is stored.
                !defined
            }
            Err(_) => false,
        };
        attempts += 1;
        let pause: Duration = match need {
            // It may never be served or allowed.
            Need::Optional if is_final => shared.timings.sync_period,
            _ => shared.timings.reconnect.delay(attempts, fastrand::f64()),
        };
        let change =
            async { if synced { news.notified().await } else { definitions.wait_synced().await } };
        drop(tokio::time::timeout(pause, change).await);
    }
}

/// Succeeds if the resource is served.
async fn list_one(shared: &Shared, resource: Resource) -> Result<(), ApiError> {
    let path = format!("{}?limit=1", resource.collection_path(shared.scope.namespace()));
    let session = shared.control.session(UserAgent::START);
    session.get(&path, "application/json", shared.timings.request).await.map(drop)
}
