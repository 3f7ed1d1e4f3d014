//! Stands in for the machine controller: reconciles one machine and keeps its condition `Drained`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use machinist_controllers::drain::{Drainer, Limit, Step, StoredStep, Subject, decide, report};
use machinist_controllers::kinds::{NodeRef, Nodes};
use machinist_domain::conditions::{self, Condition};
use machinist_domain::key::Uid;
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::safety::Limits;
use machinist_runtime::cache::Scope;
use machinist_runtime::clock::{Clock as _, SystemClock};
use machinist_runtime::cluster::Cluster;
use machinist_runtime::lease::Leadership;
use machinist_runtime::manager::{Manager, Options};
use machinist_runtime::timings::Timings;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::Writer;
use machinist_testbed::world::PATIENCE;

use crate::drain::cluster::DrainWorld;

/// A process: when it is dropped, everything that it remembers is gone.
pub(crate) struct Process {
    /// Keeps the caches running.
    _manager: Manager,
    drainer: Drainer,
    writer: Writer,
}

/// A machine that is being deleted.
pub(crate) struct Machine {
    pub(crate) subject: Subject,
    /// The conditions in its status.
    pub(crate) conditions: Vec<Condition>,
    /// The reasons of all Events about it.
    pub(crate) events: Vec<&'static str>,
    /// How often an eviction was refused.
    pub(crate) refusals: usize,
}

/// Fifty times faster than life; a drain is never forced.
pub(crate) fn timings() -> MachineTimings {
    MachineTimings::default().scaled(0.02)
}

impl Process {
    pub(crate) async fn start(world: &DrainWorld, machines: MachineTimings) -> Result<Self> {
        let timings = Timings::default();
        let cluster = Cluster::new(world.config.clone(), &timings)?;
        let options = Options {
            scope: Scope::All,
            leader_elect: Some(false),
            lease_namespace: world.namespace.clone(),
            take_over: false,
            identity: "test".to_owned(),
            workers: HashMap::new(),
            dry_run: false,
            metrics_address: "0".to_owned(),
            secure_metrics: None,
            health_address: "0".to_owned(),
            limits: Limits::default(),
        };
        let (target, clock) = (Some(cluster.clone()), Arc::new(SystemClock));
        let manager = Manager::new(cluster.clone(), target, options, clock.clone(), timings);
        let shared = manager.shared();
        let nodes = shared.caches.open(&cluster, Scope::All, Nodes);
        tokio::time::timeout(PATIENCE, nodes.wait_synced()).await.context("no list of nodes")?;
        let session = cluster.session(UserAgent::of("machine"));
        let gateway = shared.gateway.clone();
        let writer = Writer::new(gateway, session.clone(), "machine", Leadership::NotNeeded);
        let drainer = Drainer::new(nodes, session, clock, machines);
        Ok(Self { _manager: manager, drainer, writer })
    }

    /// One reconcile; returns the step of the drain, and when to requeue.
    pub(crate) async fn reconcile(&self, machine: &mut Machine) -> (Step, Option<Duration>) {
        let clock = SystemClock;
        let view = self.drainer.observe(machine.subject.clone()).await;
        let plan = decide(&view, clock.now());
        let outcome = self.drainer.act(&view, &plan, &self.writer).await;
        let reported = report(&view, &plan, &outcome, clock.now());
        machine.refusals += outcome.refused.len();
        machine.events.extend(reported.events.iter().map(|event| event.reason.as_str()));
        if let Some(list) = conditions::set(&machine.conditions, reported.condition, clock.now()) {
            machine.subject.stored = StoredStep::of(&list[0]);
            machine.conditions = list;
        }
        (reported.step, plan.again(&outcome))
    }

    /// Reconciles as often as the drain requeues, until `wanted` holds of the machine.
    pub(crate) async fn until(
        &self,
        machine: &mut Machine,
        what: &str,
        wanted: impl Fn(Step, &Machine) -> bool,
    ) -> Result<()> {
        let work = async {
            loop {
                let (step, again) = self.reconcile(machine).await;
                if wanted(step, machine) {
                    return;
                }
                // Another client may change the machine or its node.
                tokio::time::sleep(again.unwrap_or(timings().poll)).await;
            }
        };
        let ended = tokio::time::timeout(PATIENCE, work).await;
        ended.with_context(|| format!("{what}: it says {:?} instead", machine.conditions))
    }

    pub(crate) async fn until_step(&self, machine: &mut Machine, step: Step) -> Result<()> {
        self.until(machine, step.as_str(), |at, _| at == step).await
    }
}

impl Machine {
    pub(crate) fn of(node: &Node) -> Result<Self> {
        let uid = Uid(node.uid().context("a node without uid")?.into());
        let subject = Subject {
            uid: Uid(format!("machine-of-{}", node.name_any()).into()),
            node_ref: Some(NodeRef { name: node.name_any().into(), uid }),
            provider_id: None,
            hooks: Box::default(),
            excluded: false,
            forced: false,
            tainted: false,
            limit: Limit::Default,
            stored: None,
        };
        Ok(Self { subject, conditions: Vec::new(), events: Vec::new(), refusals: 0 })
    }

    /// The message of its condition `Drained`.
    pub(crate) fn message(&self) -> &str {
        self.conditions.first().and_then(|condition| condition.message.as_deref()).unwrap_or("")
    }
}
