//! A namespace of its own on a real API server, a proxy that can disturb what is tested, and a cloud where one is
//! needed. The user and the kubelets reach the API server directly and are never disturbed.

mod aws;
mod clear;
mod cloud;
mod events;
mod machines;
mod observer;
pub mod reading;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::{Api, Client};

pub use self::aws::WorldAws;
pub use self::cloud::WorldCloud;
pub use self::events::EventFacts;
pub use self::observer::{Extremes, Observer};
use crate::aws::Moto;
use crate::cluster;
use crate::crash::{Launch, Milestones};
use crate::faults::Proxy;
use crate::poll;

/// For a world without a deadline. Anything takes a few seconds on an idle machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub struct World {
    pub namespace: String,
    /// The user's, directly to the API server.
    pub client: Client,
    pub config: kube::Config,
    /// In front of the API server, for what is tested.
    pub proxy: Proxy,
    pub cloud: Option<WorldCloud>,
    pub aws: Option<WorldAws>,
    pub(crate) milestones: Milestones,
    deadline: Option<Instant>,
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
    /// The namespace's name begins with `name`.
    pub async fn new(api_server: &kube::Config, name: &str) -> Result<Self> {
        let client = Client::try_from(api_server.clone()).context("the user's own client")?;
        let namespace = cluster::namespace(&client, name).await?;
        Self::in_namespace(api_server, client, namespace).await
    }

    /// The namespace must not exist yet.
    pub async fn called(api_server: &kube::Config, namespace: String) -> Result<Self> {
        let client = Client::try_from(api_server.clone()).context("the user's own client")?;
        cluster::create_namespace(&client, &namespace).await?;
        Self::in_namespace(api_server, client, namespace).await
    }

    async fn in_namespace(
        api_server: &kube::Config,
        client: Client,
        namespace: String,
    ) -> Result<Self> {
        let (proxy, config) = (Proxy::start(api_server).await?, api_server.clone());
        let milestones = Milestones::default();
        let (cloud, aws, deadline) = (None, None, None);
        Ok(Self { namespace, client, config, proxy, cloud, aws, milestones, deadline })
    }

    /// Nothing is waited for any more after this time.
    #[must_use]
    pub fn within(self, lifetime: Duration) -> Self {
        Self { deadline: Some(Instant::now() + lifetime), ..self }
    }

    #[must_use]
    pub(crate) fn with_milestones(self, milestones: Milestones) -> Self {
        Self { milestones, ..self }
    }

    /// Its clock goes `scale` times as fast as real time.
    pub async fn with_cloud(self, scale: f64) -> Result<Self> {
        let cloud = WorldCloud::start(&self.config, scale).await?.behind(&self.proxy)?;
        Ok(Self { cloud: Some(cloud), ..self })
    }

    /// The cluster is called like the namespace.
    pub async fn with_aws(self, moto: &Arc<Moto>) -> Result<Self> {
        let aws = WorldAws::start(moto, &self.proxy, &self.config, &self.namespace).await?;
        Ok(Self { aws: Some(aws), ..self })
    }

    pub async fn another_proxy(&self) -> Result<Proxy> {
        Proxy::start(&self.config).await
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub fn launch(&self) -> Launch {
        let simulated = self.cloud.as_ref().map(|cloud| &cloud.endpoint);
        let cloud = simulated.or(self.aws.as_ref().map(|aws| &aws.endpoint)).cloned();
        Launch { cloud, ..Launch::new(&self.proxy, &self.namespace) }
    }

    pub fn time_left(&self) -> Duration {
        self.deadline.map_or(PATIENCE, |end| end.saturating_duration_since(Instant::now()))
    }

    pub async fn eventually<T, C, F>(&self, what: &str, check: C) -> Result<T>
    where
        C: FnMut() -> F,
        F: Future<Output = Result<T>>,
    {
        poll::eventually(self.time_left(), what, check).await
    }
}
