//! The kubelets of simulated instances: each registers a Node after boot, and stops reporting when its instance ends.
//!
//! They use a client of their own, because they are part of the cloud, and never delete a Node. An instance is not
//! reported as gone while its Node is being registered, so that no Node appears after its instance.

mod node;
mod pods;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use self::pods::Pods;
use crate::server::SimCloud;
use crate::wire::{Instance, State};

pub const USER_AGENT: &str = concat!("sim-kubelet/", env!("CARGO_PKG_VERSION"));

const CONCURRENT_WRITES: usize = 32;
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Default)]
pub struct KubeletOptions {
    /// Whether kwok manages the Nodes (`kwok.x-k8s.io/node: fake`), so that pods run on them.
    pub kwok: bool,
    /// The interval of status updates; `None`: only once.
    pub heartbeat: Option<Duration>,
    /// Whether pods on the Nodes run, and end when they are evicted or deleted. Without it they never end.
    pub pods: bool,
}

/// The kubelets of a cloud. Dropping it stops them.
#[derive(Debug)]
pub struct Kubelets {
    _running: AbortOnDropHandle<()>,
    _pods: Option<AbortOnDropHandle<()>>,
}

impl Kubelets {
    /// Registers the instances of `cloud` at the API server of `config`.
    pub fn start(
        cloud: &SimCloud,
        mut config: kube::Config,
        options: KubeletOptions,
    ) -> Result<Self, kube::Error> {
        config.headers.retain(|(name, _)| *name != http::header::USER_AGENT);
        let agent = http::HeaderValue::from_static(USER_AGENT);
        config.headers.push((http::header::USER_AGENT, agent));
        config.default_retry = false;
        let client = Client::try_from(config)?;
        let pods = options.pods.then(|| Pods::new(client.clone(), cloud.clone()));
        let pods = pods.map(|pods| AbortOnDropHandle::new(tokio::spawn(pods.run())));
        let all = Arc::new(All {
            nodes: Api::all(client),
            cloud: cloud.clone(),
            slots: Semaphore::new(CONCURRENT_WRITES),
            options,
        });
        Ok(Self { _running: AbortOnDropHandle::new(tokio::spawn(all.run())), _pods: pods })
    }
}

struct All {
    nodes: Api<Node>,
    cloud: SimCloud,
    options: KubeletOptions,
    slots: Semaphore,
}

impl All {
    async fn run(self: Arc<Self>) {
        let mut ids = self.cloud.follow();
        let mut lives = JoinSet::new();
        while let Some(id) = ids.recv().await {
            let all = Arc::clone(&self);
            lives.spawn(async move { all.live(&id).await });
            while lives.try_join_next().is_some() {}
        }
    }

    async fn live(&self, id: &str) {
        let Some(instance) = self.cloud.until(id, |state| state != State::Pending).await else {
            return;
        };
        if !self.register(&instance).await {
            return;
        }
        let dead = |state| state != State::Running;
        let period = self.options.heartbeat.unwrap_or(Duration::MAX);
        while tokio::time::timeout(period, self.cloud.until(id, dead)).await.is_err() {
            self.write_condition(id, &node::heartbeat(jiff::Timestamp::now())).await;
        }
        self.fall_silent(id).await;
    }

    /// Marks the Node as not ready, and releases it from kwok.
    async fn fall_silent(&self, id: &str) {
        if self.options.kwok {
            let released = Patch::Merge(node::without_kwok());
            self.write(id, || async {
                there(self.nodes.patch(id, &PatchParams::default(), &released).await)
            })
            .await;
        }
        self.write_condition(id, &node::silent(jiff::Timestamp::now())).await;
    }

    /// Creates the Node; `false` if the instance is gone or the API server refuses.
    async fn register(&self, instance: &Instance) -> bool {
        let Ok(_slot) = self.slots.acquire().await else {
            return false;
        };
        if !self.cloud.begin_registration(&instance.id) {
            return false;
        }
        // Also when this task is dropped.
        let _end = End(&self.cloud, &instance.id);
        let now = jiff::Timestamp::now();
        let node = match node::node(instance, self.options.kwok, now) {
            Ok(node) => node,
            Err(error) => {
                tracing::error!(%error, instance = instance.id, "cannot create its Node");
                return false;
            }
        };
        self.attempt(&instance.id, || async {
            match self.nodes.create(&PostParams::default(), &node).await {
                Ok(_) => Ok(true),
                // An earlier run, or a lost response.
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    self.patch(&instance.id, &node::ready(now)).await
                }
                Err(error) => Err(error),
            }
        })
        .await
    }

    async fn write_condition(&self, id: &str, condition: &Value) {
        self.write(id, || self.patch(id, condition)).await;
    }

    async fn patch(&self, id: &str, condition: &Value) -> Result<bool, kube::Error> {
        let patch = Patch::Strategic(node::patch(condition));
        there(self.nodes.patch_status(id, &PatchParams::default(), &patch).await)
    }

    async fn write<F>(&self, id: &str, work: impl Fn() -> F)
    where
        F: Future<Output = Result<bool, kube::Error>>,
    {
        if let Ok(_slot) = self.slots.acquire().await {
            self.attempt(id, work).await;
        }
    }

    /// Retries: the API server may be unavailable.
    async fn attempt<F>(&self, id: &str, work: impl Fn() -> F) -> bool
    where
        F: Future<Output = Result<bool, kube::Error>>,
    {
        for _ in 0..TRIES {
            match work().await {
                Ok(done) => return done,
                Err(error) => tracing::debug!(%error, instance = id, "the kubelet retries"),
            }
            tokio::time::sleep(PAUSE).await;
        }
        tracing::warn!(instance = id, "the kubelet cannot write its Node; giving up");
        false
    }
}

fn there(answer: Result<Node, kube::Error>) -> Result<bool, kube::Error> {
    match answer {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

struct End<'a>(&'a SimCloud, &'a str);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end_registration(self.1);
    }
}
