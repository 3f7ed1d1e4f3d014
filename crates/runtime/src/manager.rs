//! The process: clusters, caches, controllers, leases and servers, started in order and stopped in the opposite one.
//!
//! Stopping: controllers finish or abandon the pass in hand; then, when no write is under way, leases are given back; then the rest ends.

use std::collections::HashMap;
use std::sync::Arc;

use machinist_domain::key::ObjectKey;
use tokio_util::sync::CancellationToken;

use crate::admin::{self, ListenError};
use crate::cache::Scope;
use crate::cache::registry::Caches;
use crate::clock::SharedClock;
use crate::cluster::Cluster;
use crate::cluster::wait::wait_ready;
use crate::controller::start::{Registration, Shared, Start};
use crate::events::Events;
use crate::lease::{Candidate, Elector, Leadership, LeaseCustom};
use crate::metrics::Metrics;
use crate::tasks::Tasks;
use crate::timings::Timings;
use crate::user_agent::UserAgent;
use crate::writer::Gateway;

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whose objects.
    pub scope: Scope,
    /// Whether controllers need their leases; `None` leaves it to each.
    pub leader_elect: Option<bool>,
    /// Where the leases are.
    pub lease_namespace: String,
    /// Whether to take leases once, at the start, from those who hold them.
    pub take_over: bool,
    /// Who we are, unique for this process.
    pub identity: String,
    /// Workers per controller, where it is not the controller's own number.
    pub workers: HashMap<String, usize>,
    /// Write nothing at all.
    pub dry_run: bool,
    /// Where to serve metrics.
    pub metrics_address: String,
    /// Where to serve probes.
    pub health_address: String,
}

/// The process.
#[derive(Debug)]
pub struct Manager {
    options: Options,
    shared: Arc<Shared>,
    tasks: Tasks,
}

impl Manager {
    /// A process that has not started yet.
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
        let shared = Arc::new(Shared {
            control: control.counted_by(metrics.clone()),
            target: target.map(|target| target.counted_by(metrics.clone())),
            scope: options.scope.clone(),
            caches,
            gateway: Arc::new(Gateway::new(options.dry_run, timings.cloud_call, metrics.clone())),
            events: Arc::new(Events::new(window, clock.clone(), metrics.clone(), identity)),
            metrics,
            readiness: Arc::default(),
            clock,
            timings,
            tasks: tasks.clone(),
        });
        Self { options, shared, tasks }
    }

    /// What the controllers share, for tests that look inside.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Runs the controllers until `stop`.
    pub async fn run(
        self,
        controllers: Vec<Registration>,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        self.serve().await?;
        let session = self.shared.control.session(UserAgent::START);
        let there = wait_ready(&session, &self.shared.timings);
        if stop.run_until_cancelled(there).await.is_some() {
            self.shared.readiness.api_answers();
            self.control(controllers, &stop).await;
        }
        // A scraper that reads slowly must not hold up the exit.
        let patience = self.shared.timings.stop_grace / 5;
        if tokio::time::timeout(patience, self.tasks.stop()).await.is_err() {
            tracing::warn!("a connection to the admin server was cut");
        }
        tracing::info!("stopped");
        Ok(())
    }

    async fn serve(&self) -> Result<(), ListenError> {
        let metrics =
            admin::listen("--metrics-bind-address", &self.options.metrics_address).await?;
        let health = admin::listen("--health-addr", &self.options.health_address).await?;
        let (shared, stop) = (&self.shared, || self.tasks.stopping());
        if let Some(listener) = metrics {
            self.tasks.spawn(admin::serve_metrics(listener, shared.clone(), stop()));
        }
        if let Some(listener) = health {
            self.tasks.spawn(admin::serve_health(listener, shared.clone(), stop()));
        }
        Ok(())
    }

    /// Returns when the last controller has ended and the last lease has been given back.
    async fn control(&self, controllers: Vec<Registration>, stop: &CancellationToken) {
        let (working, electing) = (Tasks::default(), Tasks::default());
        for controller in controllers {
            let leadership = self.leadership(&controller, &electing);
            let workers = self.options.workers.get(controller.declaration.name).copied();
            let workers = workers.unwrap_or(controller.declaration.workers).max(1);
            working.spawn(controller.run(Start {
                shared: self.shared.clone(),
                leadership,
                workers,
                stop: working.stopping(),
            }));
        }
        stop.cancelled().await;
        tracing::info!("stopping");
        working.stop().await;
        electing.stop().await;
    }

    fn leadership(&self, controller: &Registration, electing: &Tasks) -> Leadership {
        let needed = self.options.leader_elect.unwrap_or(controller.declaration.lease.required);
        if !needed || self.options.dry_run {
            return Leadership::NotNeeded;
        }
        let LeaseCustom { namespace, duration } = controller.lease;
        let namespace = namespace.unwrap_or(&self.options.lease_namespace);
        let timings = self.shared.timings;
        let timings = Timings { lease: duration.unwrap_or(timings.lease), ..timings };
        let name = Candidate {
            controller: controller.declaration.name,
            key: ObjectKey::new(namespace, controller.declaration.lease_name()),
            identity: self.options.identity.clone(),
            take_over: self.options.take_over,
        };
        let elector = Elector::new(
            name,
            self.shared.control.session(UserAgent::LEASE),
            self.shared.gateway.clone(),
            self.shared.clock.clone(),
            timings,
            self.shared.metrics.clone(),
            self.shared.readiness.clone(),
        );
        let leadership = elector.leadership();
        electing.spawn(elector.run(electing.stopping()));
        leadership
    }
}
