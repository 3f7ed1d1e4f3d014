//! The binary as a process: started, asked, signalled, and killed when the test is over.
//!
//! Ports are chosen by the system and read from the process's own log, so two tests never want the same one.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use machinist_control_plane::children;
use machinist_testbed::poll;
use rustix::process::{Pid, Signal};
use tempfile::NamedTempFile;
use tokio::process::{Child, Command};

use super::http;
use super::time::PATIENCE;

const PROGRAM: &str = env!("CARGO_BIN_EXE_machinist");
const LOGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/processes");
/// How much of a log is shown when a test fails.
const SHOWN: usize = 60;

static STARTED: AtomicU32 = AtomicU32::new(0);

/// A running `machinist run`.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pid: Pid,
    log: PathBuf,
    health: SocketAddr,
    metrics: SocketAddr,
    _kubeconfig: NamedTempFile,
}

impl Process {
    /// Starts `machinist run` and waits until it listens. Its log gets a name that begins with `name`.
    pub(crate) async fn start(kubeconfig: &str, name: &str, flags: &[&str]) -> Result<Self> {
        Self::start_with(kubeconfig, name, flags, None).await
    }

    /// The same, with a variable in its environment.
    pub(crate) async fn start_with(
        kubeconfig: &str,
        name: &str,
        flags: &[&str],
        variable: Option<(&str, &str)>,
    ) -> Result<Self> {
        let kubeconfig = file_with(kubeconfig)?;
        let log = log_file(name)?;
        let mut command = command(Some(kubeconfig.path()));
        command
            .args(["run", "--metrics-bind-address", "127.0.0.1:0", "--health-addr", "127.0.0.1:0"])
            .arg("--instance-types=catalogue")
            .args(flags)
            .envs(variable)
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?);
        let child = children::spawn(&mut command)?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut process = Self {
            child,
            pid: pid.context("a process id")?,
            log,
            health: nowhere,
            metrics: nowhere,
            _kubeconfig: kubeconfig,
        };
        let (health, metrics) = process.find_addresses().await?;
        process.health = health;
        process.metrics = metrics;
        Ok(process)
    }

    async fn find_addresses(&self) -> Result<(SocketAddr, SocketAddr)> {
        poll::eventually(PATIENCE, "the process to listen", || async {
            let log = self.log()?;
            let mut found = log.lines().filter_map(listening);
            let (first, second) = found.next().zip(found.next()).context("no two addresses yet")?;
            let (code, _) = http::get(first, "/healthz").await?;
            Ok(if code == 200 { (first, second) } else { (second, first) })
        })
        .await
    }

    /// Whether the name of a lease's holder is this process's.
    pub(crate) fn is_called(&self, identity: &str) -> bool {
        identity.contains(&format!("_{}_", self.pid.as_raw_nonzero()))
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        rustix::process::kill_process(self.pid, signal).context("signal")
    }

    /// Fails if the process has ended.
    pub(crate) fn ensure_alive(&mut self) -> Result<()> {
        let ended = self.child.try_wait()?;
        ensure!(ended.is_none(), "the process has ended: {ended:?}");
        Ok(())
    }

    /// Kills it with SIGKILL and waits until it is gone.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.context("kill -9")
    }

    /// Sends SIGTERM, and returns how it ended and how long that took.
    pub(crate) async fn terminate(&mut self) -> Result<(ExitStatus, Duration)> {
        let start = Instant::now();
        self.signal(Signal::TERM)?;
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        Ok((ended.context("SIGTERM had no effect")??, start.elapsed()))
    }

    /// Asks `/readyz`.
    pub(crate) async fn readyz(&self) -> Result<(u16, String)> {
        http::get(self.health, "/readyz").await
    }

    /// Waits until `/readyz` says 200 and that the annotator runs.
    pub(crate) async fn wait_ready(&self) -> Result<()> {
        self.wait_says("controller annotator runs").await
    }

    /// Waits until `/readyz` says 200 and this.
    pub(crate) async fn wait_says(&self, words: &str) -> Result<()> {
        poll::eventually(PATIENCE, &format!("ready, and {words}"), || async {
            let (code, details) = self.readyz().await?;
            ensure!(code == 200 && details.contains(words), "{code}: {details}");
            Ok(())
        })
        .await
    }

    /// The value of a series such as `machinist_leader{controller="annotator"}`; `None` if it is not there.
    pub(crate) async fn metric(&self, series: &str) -> Result<Option<f64>> {
        let (code, text) = http::get(self.metrics, "/metrics").await?;
        ensure!(code == 200, "/metrics: {code}");
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        Ok(value.map(str::parse).transpose()?)
    }

    /// Waits until a series has a value that fits.
    pub(crate) async fn wait_metric(&self, series: &str, fits: impl Fn(f64) -> bool) -> Result<()> {
        poll::eventually(PATIENCE, series, || async {
            let value = self.metric(series).await?;
            ensure!(value.is_some_and(&fits), "it is {value:?}");
            Ok(())
        })
        .await
    }

    /// Everything that it has logged so far.
    pub(crate) fn log(&self) -> Result<String> {
        Ok(std::fs::read_to_string(&self.log)?)
    }

    /// Where it serves probes.
    pub(crate) fn health_address(&self) -> SocketAddr {
        self.health
    }
}

impl Drop for Process {
    /// A test that fails shows what the process said last.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log().unwrap_or_default();
            let lines: Vec<_> = log.lines().collect();
            eprintln!("--- {} ends with:", self.log.display());
            for line in &lines[lines.len().saturating_sub(SHOWN)..] {
                eprintln!("{line}");
            }
        }
    }
}

/// Runs the binary with these arguments until it ends by itself.
pub(crate) async fn run_to_end(kubeconfig: Option<&Path>, arguments: &[&str]) -> Result<Output> {
    let mut command = command(kubeconfig);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = children::spawn(&mut command)?;
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    Ok(output.context("the process does not end")??)
}

/// A temporary file.
pub(crate) fn file_with(content: &str) -> Result<NamedTempFile> {
    let file = NamedTempFile::new()?;
    std::fs::write(file.path(), content)?;
    Ok(file)
}

fn command(kubeconfig: Option<&Path>) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .stdin(Stdio::null())
        .env_remove("RUST_LOG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env_remove("KUBECONFIG");
    if let Some(path) = kubeconfig {
        command.env("KUBECONFIG", path);
    }
    command
}

/// The address in a line that says so, be it for people or JSON.
fn listening(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("listening")?.1.split_once("address")?;
    rest.trim_start_matches(['"', ':', '=']).split(['"', ' ']).next()?.parse().ok()
}

fn log_file(name: &str) -> Result<PathBuf> {
    std::fs::create_dir_all(LOGS)?;
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    Ok(Path::new(LOGS).join(format!("{name}-{number}.log")))
}
