//! The process: starts clusters, caches, controllers, leases and servers, and stops them in reverse order. Leases are
//! released when no write is in flight.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use machinist_domain::safety::Limits;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::admin::{self, ListenError};
use crate::cache::Scope;
use crate::cache::registry::Caches;
use crate::clock::SharedClock;
use crate::cluster::wait::wait_ready;
use crate::cluster::{Cluster, Reach};
use crate::controller::start::{Registration, Shared, Start};
use crate::events::Events;
use crate::freezes::Freezes;
use crate::health::Health;
use crate::lease::Leadership;
use crate::lease::elector::{Candidate, Elector};
use crate::messages;
use crate::metrics::Metrics;
use crate::readiness::Readiness;
use crate::tasks::{TaskPanicked, Tasks};
use crate::timings::Timings;
use crate::tls::{self, Certificate, CertificateError};
use crate::user_agent::UserAgent;
use crate::writer::Gateway;

const ADMIN_SERVER: &str = "admin server";

/// Options of the process.
#[derive(Debug, Clone)]
pub struct Options {
    pub scope: Scope,
    /// Whether leases are required; `None` leaves it to each controller.
    pub leader_elect: Option<bool>,
    pub lease_namespace: String,
    /// Whether to take leases from their holders, once, at the start.
    pub take_over: bool,
    /// A unique name of this process.
    pub identity: String,
    pub workers: HashMap<String, usize>,
    pub dry_run: bool,
    pub metrics_address: String,
    /// `None`: plain HTTP for everyone who reaches the address.
    pub secure_metrics: Option<SecureMetrics>,
    pub health_address: String,
    /// When machinist stops by itself what it decides by itself.
    pub limits: Limits,
}

/// Metrics with TLS, authentication and authorization.
#[derive(Debug, Clone, Default)]
pub struct SecureMetrics {
    /// The folder with `tls.crt` and `tls.key`; `None`: a self-signed certificate.
    pub certificate: Option<PathBuf>,
}

/// Why the process ends without being told to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    TaskPanicked(#[from] TaskPanicked),
}

/// The process.
#[derive(Debug)]
pub struct Manager {
    options: Options,
    shared: Arc<Shared>,
}

impl Manager {
    /// A process that is not started yet.
    pub fn new(
        control: Cluster,
        target: Option<Cluster>,
        options: Options,
        clock: SharedClock,
        timings: Timings,
    ) -> Self {
        let tasks = Tasks::default();
        let metrics = Arc::new(Metrics::default());
        let caches = Caches::new(clock.clone(), timings, metrics.clone(), tasks.clone());
        let window = timings.event_window;
        let identity = options.identity.clone();
        let freezes =
            Arc::new(Freezes::new(clock.clone(), metrics.clone(), options.limits, timings.freezes));
        let reach = Reach::new(clock.clone(), timings.freezes.unreachable);
        let target = target.map(|target| {
            let same = target.url == control.url;
            let new = || Reach::new(clock.clone(), timings.freezes.unreachable);
            let reach = if same { reach.clone() } else { new() };
            target.counted_by(metrics.clone()).reached_by(reach)
        });
        let shared = Arc::new(Shared {
            control: control.counted_by(metrics.clone()).reached_by(reach),
            target,
            scope: options.scope.clone(),
            caches,
            gateway: Arc::new(Gateway::new(options.dry_run, timings.cloud_call, metrics.clone())),
            events: Arc::new(Events::new(window, clock.clone(), metrics.clone(), identity)),
            metrics,
            readiness: Arc::new(Readiness::new(freezes.clone())),
            freezes,
            health: Health::new(tasks.clone(), timings.stall),
            clock,
            timings,
            tasks,
        });
        Self { options, shared }
    }

    /// What the controllers share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Runs the controllers until `stop`, or until a task panics.
    pub async fn run(
        self,
        controllers: Vec<Registration>,
        stop: CancellationToken,
    ) -> Result<(), RunError> {
        self.serve().await?;
        let session = self.shared.control.session(UserAgent::START);
        let there = wait_ready(&session, &self.shared.timings);
        let control = async {
            there.await;
            self.shared.readiness.api_answers();
        };
        tokio::select! {
            () = self.ended(&stop) => {}
            () = control => self.control(controllers, &stop).await,
        }
        // A slow scraper must not delay the exit.
        let patience = self.shared.timings.stop_grace / 5;
        if tokio::time::timeout(patience, self.shared.tasks.stop()).await.is_err() {
            tracing::warn!("closed a slow connection to the admin server");
        }
        if let Some(panicked) = self.shared.tasks.panicked() {
            return Err(panicked.into());
        }
        tracing::info!("stopped");
        Ok(())
    }

    /// A process whose task panicked stops as after a signal: other tasks finish their writes and release leases.
    async fn ended(&self, stop: &CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.shared.tasks.wait_panicked() => {}
        }
    }

    async fn serve(&self) -> Result<(), RunError> {
        let (options, shared) = (&self.options, &self.shared);
        let tasks = &shared.tasks;
        let metrics = admin::listen("--metrics-bind-address", &options.metrics_address).await?;
        let health = admin::listen("--health-addr", &options.health_address).await?;
        match (metrics, &options.secure_metrics) {
            (None, _) => {}
            (Some(listener), None) => {
                let routes = admin::metrics_routes().with_state(shared.clone());
                tasks.spawn(ADMIN_SERVER, admin::serve(listener, routes, tasks.stopping()));
            }
            (Some(listener), Some(secure)) => self.serve_secure(listener, secure).await?,
        }
        if let Some(listener) = health {
            let routes = admin::health_routes().with_state(shared.clone());
            tasks.spawn(ADMIN_SERVER, admin::serve(listener, routes, tasks.stopping()));
        }
        Ok(())
    }

    async fn serve_secure(
        &self,
        listener: TcpListener,
        secure: &SecureMetrics,
    ) -> Result<(), CertificateError> {
        let (shared, timings) = (&self.shared, self.shared.timings.server);
        let certificate = match &secure.certificate {
            None => Certificate::self_signed()?,
            Some(folder) => {
                let (clock, interval) = (shared.clock.clone(), timings.certificate);
                Certificate::of_files(folder, clock, interval).await?
            }
        };
        let routes = admin::secure_metrics_routes(shared).with_state(shared.clone());
        admin::announce(&listener);
        let serving = tls::serve(listener, certificate, routes, timings, shared.tasks.stopping());
        shared.tasks.spawn(ADMIN_SERVER, serving);
        Ok(())
    }

    /// Returns when all controllers have stopped and all leases are released.
    async fn control(&self, controllers: Vec<Registration>, stop: &CancellationToken) {
        let (working, electing) = (self.shared.tasks.group(), self.shared.tasks.group());
        if let Some(one) = controllers.iter().find(|one| one.declaration.obeys_freezes()) {
            let Shared { freezes, caches, control, scope, .. } = &*self.shared;
            freezes.watch(caches, control, scope, self.lease_namespace(one));
            freezes.watch_api_servers(&self.shared);
        }
        for controller in controllers {
            let leadership = self.leadership(&controller, &electing);
            let workers = self.options.workers.get(controller.declaration.name).copied();
            let workers = workers.unwrap_or(controller.declaration.workers).max(1);
            let start = Start {
                shared: self.shared.clone(),
                leadership,
                workers,
                stop: working.stopping(),
            };
            let task = messages::controller_task(controller.declaration.name);
            working.spawn(task, (controller.start)(start));
        }
        self.ended(stop).await;
        tracing::info!("stopping");
        working.stop().await;
        electing.stop().await;
    }

    fn lease_namespace(&self, controller: &Registration) -> &str {
        controller.lease.namespace.unwrap_or(&self.options.lease_namespace)
    }

    fn leadership(&self, controller: &Registration, electing: &Tasks) -> Leadership {
        let needed = self.options.leader_elect.unwrap_or(controller.declaration.lease.required);
        if !needed || self.options.dry_run {
            return Leadership::NotNeeded;
        }
        let namespace = self.lease_namespace(controller);
        let duration = controller.lease.duration.unwrap_or(self.shared.timings.lease);
        let candidate = Candidate {
            controller: controller.declaration.name,
            key: ObjectKey::new(namespace, controller.declaration.lease_name()),
            identity: self.options.identity.clone(),
            take_over: self.options.take_over,
        };
        let elector = Elector::new(candidate, self.shared.clone(), duration);
        let leadership = elector.leadership();
        let task = messages::lease_task(controller.declaration.name);
        electing.spawn(task, elector.run(electing.stopping()));
        leadership
    }
}
