//! The binary as a process that runs the annotator, with an environment that holds nothing but what the test says.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use machinist_control_plane::children;
use machinist_testbed::aws::AwsBed;
use machinist_testbed::faults::Proxy;
use machinist_testbed::poll;
use rustix::process::{Pid, Signal};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::PATIENCE;
use super::scene::Scene;

const PROGRAM: &str = env!("CARGO_BIN_EXE_machinist");
const LOGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/ec2");
/// Nothing listens there. A process never reaches AWS.
const NOWHERE: &str = "http://127.0.0.1:9";
/// Who the process is by itself.
pub(crate) const AMBIENT: &str = "AKIAAMBIENT";
/// How much of a log is shown when a test fails.
const SHOWN: usize = 40;

static STARTED: AtomicU32 = AtomicU32::new(0);

/// A process to be started.
#[derive(Debug)]
pub(crate) struct Launch {
    command: Command,
    log: PathBuf,
    home: TempDir,
}

/// A running process.
#[derive(Debug)]
pub(crate) struct Annotator {
    child: Child,
    log: PathBuf,
    metrics: SocketAddr,
    home: TempDir,
}

impl Launch {
    /// A process that looks at the scene's namespace, has credentials of its own, and knows no endpoint but the
    /// cluster's.
    pub(crate) fn new(scene: &Scene) -> Result<Self> {
        let mut launch = Self::everywhere(scene)?;
        launch.command.args(["--namespace", &scene.namespace]);
        Ok(launch)
    }

    /// The same, but it looks at all namespaces.
    pub(crate) fn everywhere(scene: &Scene) -> Result<Self> {
        std::fs::create_dir_all(LOGS)?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let log = Path::new(LOGS).join(format!("{}-{number}.log", scene.namespace));
        let home = TempDir::new()?;
        let mut command = Command::new(PROGRAM);
        command
            .args(["run", "--metrics-bind-address=127.0.0.1:0", "--health-addr=0"])
            .arg("--time-scale=0.1")
            .env_clear()
            .env("KUBECONFIG", scene.kubeconfig())
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL", NOWHERE)
            .env("AWS_ACCESS_KEY_ID", AMBIENT)
            .env("AWS_SECRET_ACCESS_KEY", "ambient")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?);
        Ok(Self { command, log, home })
    }

    /// Through a proxy that can disturb what it asks of Kubernetes.
    pub(crate) fn behind(self, proxy: &Proxy) -> Result<Self> {
        let kubeconfig = self.home.path().join("kubeconfig");
        std::fs::write(&kubeconfig, proxy.kubeconfig())?;
        Ok(self.environment("KUBECONFIG", &kubeconfig.to_string_lossy()))
    }

    /// Where EC2 is, as plain Kubernetes says it.
    pub(crate) fn asking(self, cloud: &AwsBed) -> Self {
        self.environment("AWS_ENDPOINT_URL", &cloud.endpoint_url())
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Without credentials of its own.
    pub(crate) fn without_credentials(mut self) -> Self {
        self.command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        self
    }

    pub(crate) fn flag(mut self, flag: &str) -> Self {
        self.command.arg(flag);
        self
    }

    /// Starts it and waits until it listens.
    pub(crate) async fn start(mut self) -> Result<Annotator> {
        let child = children::spawn(&mut self.command)?;
        let metrics = poll::eventually(PATIENCE, "the process to listen", || async {
            let log = std::fs::read_to_string(&self.log)?;
            log.lines().find_map(listening).with_context(|| format!("not yet: {log}"))
        })
        .await?;
        Ok(Annotator { child, log: self.log, metrics, home: self.home })
    }
}

impl Annotator {
    /// The value of a series such as `machinist_writes_total{…}`; nothing is zero.
    pub(crate) async fn metric(&self, series: &str) -> Result<f64> {
        let mut stream = TcpStream::connect(self.metrics).await?;
        let request = "GET /metrics HTTP/1.1\r\nHost: machinist\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        ensure!(text.starts_with("HTTP/1.1 200"), "/metrics: {text}");
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        Ok(value.map_or(Ok(0.0), str::parse)?)
    }

    /// Passes that ended this way.
    pub(crate) async fn passes(&self, result: &str) -> Result<f64> {
        let labels = format!(r#"{{controller="annotator",result="{result}"}}"#);
        self.metric(&format!("machinist_reconcile_total{labels}")).await
    }

    /// Calls of EC2's `DescribeInstanceTypes` that ended this way.
    pub(crate) async fn calls(&self, result: &str) -> Result<f64> {
        let labels = format!(r#"{{operation="DescribeInstanceTypes",result="{result}"}}"#);
        self.metric(&format!("machinist_cloud_calls_total{labels}")).await
    }

    /// The folder that is its home and has its temporary files.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Everything that it has logged so far.
    pub(crate) fn log(&self) -> Result<String> {
        Ok(std::fs::read_to_string(&self.log)?)
    }

    /// Lets it end by itself.
    pub(crate) async fn terminate(&mut self) -> Result<()> {
        let pid = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        rustix::process::kill_process(pid.context("a process id")?, Signal::TERM)?;
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let status = ended.context("SIGTERM had no effect")??;
        ensure!(status.success(), "{status}");
        Ok(())
    }
}

impl Drop for Annotator {
    /// Always printed; the test harness shows it only if the test fails.
    fn drop(&mut self) {
        let log = self.log().unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        println!("--- {} ends with:", self.log.display());
        for line in &lines[lines.len().saturating_sub(SHOWN)..] {
            println!("{line}");
        }
    }
}

/// The address in a line that says so, be it for people or JSON.
fn listening(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("listening")?.1.split_once("127.0.0.1:")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some(SocketAddr::from(([127, 0, 0, 1], rest[..digits].parse().ok()?)))
}
