//! What instances do once they have booted: each registers a Node, and falls silent when it dies or is deleted.
//!
//! Input: the instances of a [`SimCloud`]. Output: Nodes, with a client of its own (`sim-kubelet`): this is the cloud's part of the play, not that of
//! a controller, so it does not go through their gateway. It never deletes a Node; in a real cluster somebody else does that, too.
//!
//! Invariant: an instance is not said to be gone while its Node is being registered, so that nobody removes a Node before it comes.

mod node;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::server::SimCloud;
use crate::wire::{Instance, State};

/// The user agent of all kubelets together.
pub const USER_AGENT: &str = concat!("sim-kubelet/", env!("CARGO_PKG_VERSION"));

/// How often a write is tried again, and how long to wait before.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(200);

/// How kubelets behave.
#[derive(Debug, Clone)]
pub struct KubeletOptions {
    /// Whether kwok is to play the Nodes (`kwok.x-k8s.io/node: fake`), so that pods run on them.
    pub kwok: bool,
    /// How often each says that it is well; `None`: only once.
    pub heartbeat: Option<Duration>,
    /// How many write at the same time.
    pub concurrency: usize,
}

impl Default for KubeletOptions {
    fn default() -> Self {
        Self { kwok: false, heartbeat: None, concurrency: 32 }
    }
}

/// The kubelets of a cloud. Dropping it silences them without a word.
#[derive(Debug)]
pub struct Kubelets {
    _stop: DropGuard,
}

impl Kubelets {
    /// Lets the instances of `cloud` register at the API server of `config`.
    pub fn start(
        cloud: &SimCloud,
        mut config: kube::Config,
        options: KubeletOptions,
    ) -> Result<Self, kube::Error> {
        config.headers.retain(|(name, _)| *name != http::header::USER_AGENT);
        let agent = http::HeaderValue::from_static(USER_AGENT);
        config.headers.push((http::header::USER_AGENT, agent));
        config.default_retry = false;
        let stop = CancellationToken::new();
        let all = Arc::new(All {
            nodes: Api::all(Client::try_from(config)?),
            cloud: cloud.clone(),
            slots: Semaphore::new(options.concurrency.max(1)),
            options,
        });
        tokio::spawn(stop.clone().run_until_cancelled_owned(all.run()));
        Ok(Self { _stop: stop.drop_guard() })
    }
}

/// What all kubelets have in common.
struct All {
    nodes: Api<Node>,
    cloud: SimCloud,
    options: KubeletOptions,
    slots: Semaphore,
}

impl All {
    async fn run(self: Arc<Self>) {
        let mut ids = self.cloud.follow();
        let mut seen = HashSet::new();
        let mut lives = JoinSet::new();
        while let Some(id) = ids.recv().await {
            if seen.insert(id.clone()) {
                let all = Arc::clone(&self);
                lives.spawn(async move { all.live(&id).await });
            }
            while lives.try_join_next().is_some() {}
        }
    }

    /// The life of one kubelet.
    async fn live(&self, id: &str) {
        let booted = |state| state != State::Pending;
        let Some(instance) = self.cloud.until(id, booted).await else {
            return;
        };
        if !self.register(&instance).await {
            return;
        }
        let dead = |state| state != State::Running;
        match self.options.heartbeat {
            None => drop(self.cloud.until(id, dead).await),
            Some(period) => {
                while tokio::time::timeout(period, self.cloud.until(id, dead)).await.is_err() {
                    self.say(id, &node::heartbeat(jiff::Timestamp::now())).await;
                }
            }
        }
        self.fall_silent(id).await;
    }

    /// The node is not heard of any more, not even by the mouth of kwok.
    async fn fall_silent(&self, id: &str) {
        if self.options.kwok {
            let released = Patch::Merge(node::without_kwok());
            self.write(id, || async {
                there(self.nodes.patch(id, &PatchParams::default(), &released).await)
            })
            .await;
        }
        self.say(id, &node::silent(jiff::Timestamp::now())).await;
    }

    /// Creates the Node; `false`: the instance is gone, or the API server does not want it.
    async fn register(&self, instance: &Instance) -> bool {
        let Ok(_slot) = self.slots.acquire().await else {
            return false;
        };
        if !self.cloud.begin_registration(&instance.id) {
            return false;
        }
        // Also when this task is dropped half-way.
        let _end = End(&self.cloud, &instance.id);
        let now = jiff::Timestamp::now();
        let node = match node::node(instance, self.options.kwok, now) {
            Ok(node) => node,
            Err(error) => {
                tracing::error!(%error, instance = instance.id, "no Node can be made of this");
                return false;
            }
        };
        self.attempt(&instance.id, || async {
            match self.nodes.create(&PostParams::default(), &node).await {
                Ok(_) => Ok(true),
                // An earlier run of the kubelet, or an answer that was lost.
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    self.patch(&instance.id, &node::ready(now)).await
                }
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// Changes a condition of the Node, if it is still there.
    async fn say(&self, id: &str, condition: &Value) {
        self.write(id, || self.patch(id, condition)).await;
    }

    async fn patch(&self, id: &str, condition: &Value) -> Result<bool, kube::Error> {
        let patch = Patch::Strategic(node::patch(condition));
        there(self.nodes.patch_status(id, &PatchParams::default(), &patch).await)
    }

    /// One write, when it is its turn.
    async fn write<F>(&self, id: &str, work: impl Fn() -> F)
    where
        F: Future<Output = Result<bool, kube::Error>>,
    {
        if let Ok(_slot) = self.slots.acquire().await {
            self.attempt(id, work).await;
        }
    }

    /// Tries until it works: a kubelet does not give up because the API server is away.
    async fn attempt<F>(&self, id: &str, work: impl Fn() -> F) -> bool
    where
        F: Future<Output = Result<bool, kube::Error>>,
    {
        for _ in 0..TRIES {
            match work().await {
                Ok(done) => return done,
                Err(error) => tracing::debug!(%error, instance = id, "the kubelet tries again"),
            }
            tokio::time::sleep(PAUSE).await;
        }
        tracing::warn!(instance = id, "the kubelet gave up on its Node");
        false
    }
}

/// Whether the Node is there; that it is not is no failure.
fn there(answer: Result<Node, kube::Error>) -> Result<bool, kube::Error> {
    match answer {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

/// Says that a registration is over.
struct End<'a>(&'a SimCloud, &'a str);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end_registration(self.1);
    }
}
