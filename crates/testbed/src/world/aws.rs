//! AWS is behind the same proxy as the API server, so that calls which change something are crash points.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::aws::estate::Balancers;
use crate::aws::{AwsBed, Estate, Kubelets, Moto, Transport};
use crate::faults::Proxy;

const NAME: &str = "aws";
const REGION: &str = "eu-west-1";
/// Long enough for a machine to be Provisioned before its Node appears, in every run.
const BOOT: Duration = Duration::from_millis(1200);

#[derive(Debug)]
pub struct WorldAws {
    pub estate: Arc<Estate>,
    pub balancers: Balancers,
    pub bed: AwsBed,
    /// Behind the proxy.
    pub endpoint: String,
    _kubelets: Kubelets,
}

impl WorldAws {
    /// The cluster is called `name`. Its instances register Nodes directly at the API server.
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
