//! The binary as a process that runs the annotator, with an environment that holds only what the test sets.

use std::net::SocketAddr;
use std::ops::Deref;

use anyhow::{Result, ensure};
use machinist_testbed::aws::AwsBed;
use machinist_testbed::faults::Proxy;
use machinist_testbed::{http, process};

use super::world::Ec2World;

const PROGRAM: &str = env!("CARGO_BIN_EXE_machinist");
const LOGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/ec2");
/// Nothing listens there. A process never reaches AWS.
const NOWHERE: &str = "http://127.0.0.1:9";
/// Who the process is by itself.
pub(crate) const AMBIENT: &str = "AKIAAMBIENT";

/// A process to be started.
#[derive(Debug)]
pub(crate) struct Launch(process::Launch);

/// A running process.
#[derive(Debug)]
pub(crate) struct Annotator {
    process: process::Process,
    metrics: SocketAddr,
}

impl Deref for Annotator {
    type Target = process::Process;

    fn deref(&self) -> &process::Process {
        &self.process
    }
}

impl Launch {
    /// A process that looks at the world's namespace, has credentials of its own, and knows no endpoint but the
    /// cluster's.
    pub(crate) fn new(world: &Ec2World) -> Result<Self> {
        let mut launch = Self::everywhere(world)?;
        launch.0.command.args(["--namespace", &world.namespace]);
        Ok(launch)
    }

    /// The same, but it looks at all namespaces.
    pub(crate) fn everywhere(world: &Ec2World) -> Result<Self> {
        let mut launch = process::Launch::new(PROGRAM, LOGS, &world.namespace)?;
        launch
            .command
            .args(["run", "--metrics-bind-address=127.0.0.1:0", "--time-scale=0.1"])
            .env("KUBECONFIG", world.kubeconfig())
            .env("AWS_ENDPOINT_URL", NOWHERE)
            .env("AWS_ACCESS_KEY_ID", AMBIENT)
            .env("AWS_SECRET_ACCESS_KEY", "ambient");
        Ok(Self(launch))
    }

    /// Through a proxy that can disturb what it asks of Kubernetes.
    pub(crate) fn behind(mut self, proxy: &Proxy) -> Result<Self> {
        self.0.kubeconfig(&proxy.kubeconfig())?;
        Ok(self)
    }

    /// With the rights of another account.
    pub(crate) fn with_kubeconfig(mut self, kubeconfig: &str) -> Result<Self> {
        self.0.kubeconfig(kubeconfig)?;
        Ok(self)
    }

    /// The endpoint of EC2 without OpenShift: a variable.
    pub(crate) fn asking(self, cloud: &AwsBed) -> Self {
        self.environment("AWS_ENDPOINT_URL", &cloud.endpoint_url())
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.0.command.env(name, value);
        self
    }

    /// Without credentials of its own.
    pub(crate) fn without_credentials(mut self) -> Self {
        self.0.command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        self
    }

    pub(crate) fn flag(mut self, flag: &str) -> Self {
        self.0.command.arg(flag);
        self
    }

    /// Starts it without probes and waits until it listens.
    pub(crate) async fn start(mut self) -> Result<Annotator> {
        self.0.command.arg("--health-addr=0");
        let process = self.0.start()?;
        let [metrics] = process.addresses().await?;
        Ok(Annotator { process, metrics })
    }

    /// The same with probes, whose address it returns, too.
    pub(crate) async fn start_with_probes(mut self) -> Result<(Annotator, SocketAddr)> {
        self.0.command.arg("--health-addr=127.0.0.1:0");
        let process = self.0.start()?;
        let [first, second] = process.addresses().await?;
        // Metrics answer no other path.
        let (code, _) = http::get(first, "/healthz").await?;
        let (probes, metrics) = if code == 200 { (first, second) } else { (second, first) };
        Ok((Annotator { process, metrics }, probes))
    }
}

impl Annotator {
    /// The value of a series such as `machinist_writes_total{…}`; nothing is zero.
    pub(crate) async fn metric(&self, series: &str) -> Result<f64> {
        Ok(http::metric(self.metrics, series).await?.unwrap_or_default())
    }

    /// Reconciles that ended this way.
    pub(crate) async fn reconciles(&self, result: &str) -> Result<f64> {
        let labels = format!(r#"{{controller="annotator",result="{result}"}}"#);
        self.metric(&format!("machinist_reconcile_total{labels}")).await
    }

    /// Calls of EC2's `DescribeInstanceTypes` that ended this way.
    pub(crate) async fn calls(&self, result: &str) -> Result<f64> {
        let labels = format!(r#"{{operation="DescribeInstanceTypes",result="{result}"}}"#);
        self.metric(&format!("machinist_cloud_calls_total{labels}")).await
    }

    /// Lets it end by itself.
    pub(crate) async fn terminate(&mut self) -> Result<()> {
        let (status, _) = self.process.terminate().await?;
        ensure!(status.success(), "{status}");
        Ok(())
    }
}
