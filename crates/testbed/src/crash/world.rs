//! A world: one namespace, one proxy, one deadline, for one run of a scenario.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams},
};
use serde_json::Value;

use super::{Launch, WorldAws, WorldCloud, normalise::Normaliser};
use crate::cluster;
use crate::{
    aws::Moto,
    faults::{ApiRequest, Proxy},
    poll,
};

/// Tells worlds of one process apart.
static WORLDS: AtomicU32 = AtomicU32::new(0);

/// Where one run takes place.
pub struct World {
    /// The namespace that belongs to this run alone.
    pub namespace: String,
    /// The way of the subject to the API server.
    pub proxy: Proxy,
    /// A cloud of its own, where the harness was told to have one.
    pub cloud: Option<WorldCloud>,
    /// AWS with an estate of its own, where the harness was told to have it.
    pub aws: Option<WorldAws>,
    client: Client,
    deadline: Instant,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("namespace", &self.namespace)
            .field("proxy", &self.proxy)
            .finish_non_exhaustive()
    }
}

impl World {
    /// Makes a namespace and a proxy on the given API server.
    pub async fn new(api_server: &kube::Config, name: &str, lifetime: Duration) -> Result<Self> {
        let proxy = Proxy::start(api_server).await?;
        let client = Client::try_from(api_server.clone()).context("the user's own client")?;
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        // The random part keeps worlds of several processes on one API server apart.
        let namespace = format!("{name}-{number}-{:04x}", fastrand::u16(..));
        cluster::create_namespace(&client, &namespace).await?;
        let deadline = Instant::now() + lifetime;
        Ok(Self { namespace, proxy, cloud: None, aws: None, client, deadline })
    }

    /// The same world with a simulated cloud, whose clock goes `scale` times as fast as real time.
    pub async fn with_cloud(self, api_server: &kube::Config, scale: f64) -> Result<Self> {
        let cloud = WorldCloud::start(&self.proxy, api_server, scale).await?;
        Ok(Self { cloud: Some(cloud), ..self })
    }

    /// The same world with AWS, in which its cluster is called like its namespace.
    pub async fn with_aws(self, api_server: &kube::Config, moto: &Arc<Moto>) -> Result<Self> {
        let aws = WorldAws::start(moto, &self.proxy, api_server, &self.namespace).await?;
        Ok(Self { aws: Some(aws), ..self })
    }

    /// The undisturbed user's client, which leads directly to the API server.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The undisturbed user's view of one kind in this world's namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client(), &self.namespace)
    }

    /// What a subject has to know.
    pub fn launch(&self) -> Launch {
        let simulated = self.cloud.as_ref().map(|cloud| &cloud.endpoint);
        let cloud = simulated.or(self.aws.as_ref().map(|aws| &aws.endpoint)).cloned();
        Launch { cloud, ..Launch::new(&self.proxy, &self.namespace) }
    }

    /// Time left.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Waits until the check holds, at most until this world's deadline (see [`poll::eventually`]).
    pub async fn eventually<T, C, F>(&self, what: &str, check: C) -> Result<T>
    where
        C: FnMut() -> F,
        F: Future<Output = Result<T>>,
    {
        poll::eventually(self.time_left(), what, check).await
    }

    /// All objects of these kinds in this world's namespace, as they are.
    pub async fn objects(&self, kinds: &[ApiResource]) -> Result<Vec<Value>> {
        let mut objects = Vec::new();
        for kind in kinds {
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.client(), &self.namespace, kind);
            let list = api.list(&ListParams::default()).await;
            for mut object in list.with_context(|| format!("listing {}", kind.plural))? {
                // Items of a list do not say what they are.
                object.types.get_or_insert_with(|| kube::api::TypeMeta {
                    api_version: kind.api_version.clone(),
                    kind: kind.kind.clone(),
                });
                objects.push(serde_json::to_value(object)?);
            }
        }
        Ok(objects)
    }

    /// All objects of these kinds in this world's namespace, normalised.
    pub async fn state_of(&self, kinds: &[ApiResource]) -> Result<Value> {
        let objects = self.objects(kinds).await?;
        Ok(Normaliser::new(&self.namespace).normalise(objects))
    }

    /// How long the subject has not written: `None` while a write is under way. Only requests for
    /// which `counts` holds are looked at.
    pub(super) fn quiet_for(&self, counts: impl Fn(&ApiRequest) -> bool) -> Option<Duration> {
        let log = self.proxy.log();
        let mut last = Duration::ZERO;
        for entry in log.entries().iter().filter(|entry| counts(&entry.request)) {
            last = last.max(entry.at + entry.took?);
        }
        Some(log.now().saturating_sub(last))
    }
}
