//! AWS for one world: an estate on a moto of its own, behind the same proxy as the world's API server, so that calls
//! which change something are crash points like any other write.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::aws::estate::Balancers;
use crate::aws::{AwsBed, Estate, Kubelets, Moto, Transport};
use crate::faults::Proxy;

/// What the cloud is called in crash points.
const NAME: &str = "aws";
const REGION: &str = "eu-west-1";
/// Long enough for a machine to be Provisioned before its Node appears, in every run.
const BOOT: Duration = Duration::from_millis(1200);

/// AWS as one world sees it.
#[derive(Debug)]
pub struct WorldAws {
    /// What the world owns, to look at and to change.
    pub estate: Arc<Estate>,
    /// The estate's load balancers.
    pub balancers: Balancers,
    /// The front of this world: idempotency, delays, and a log of its own.
    pub bed: AwsBed,
    /// Where the subject finds it: behind the proxy.
    pub endpoint: String,
    _kubelets: Kubelets,
}

impl WorldAws {
    /// An empty estate. Its instances register Nodes directly at the API server. Its cluster is called `name`.
    pub async fn start(
        moto: &Arc<Moto>,
        proxy: &Proxy,
        api_server: &kube::Config,
        name: &str,
    ) -> Result<Self> {
        let bed = AwsBed::start_before(Arc::clone(moto), Transport::Plain).await?;
        let estate = Estate::found(moto, REGION, name).await.context("an estate")?;
        let balancers = estate.build_balancers().await.context("load balancers")?;
        let endpoint = proxy.join(NAME, &bed.endpoint_url())?;
        let estate = Arc::new(estate);
        let kubelets = Kubelets::start(&estate, api_server, BOOT)?;
        Ok(Self { estate, balancers, bed, endpoint, _kubelets: kubelets })
    }
}
