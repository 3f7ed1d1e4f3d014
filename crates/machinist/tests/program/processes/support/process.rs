//! The binary as a process: started, asked, signalled, and killed when the test is over.
//!
//! Ports are chosen by the system and read from the process's own log, so two tests never want the same one.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::Output;

use anyhow::{Result, ensure};
use machinist_testbed::{http, poll, process};
use tempfile::NamedTempFile;
use tokio::process::Command;

use super::time::PATIENCE;

const PROGRAM: &str = env!("CARGO_BIN_EXE_machinist");
const LOGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/processes");

/// A running `machinist run` with probes and metrics.
#[derive(Debug)]
pub(crate) struct Process {
    inner: process::Process,
    health: SocketAddr,
    metrics: SocketAddr,
}

impl Deref for Process {
    type Target = process::Process;

    fn deref(&self) -> &process::Process {
        &self.inner
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut process::Process {
        &mut self.inner
    }
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
        let mut launch = process::Launch::new(PROGRAM, LOGS, name)?;
        launch.kubeconfig(kubeconfig)?;
        launch
            .command
            .args(["run", "--metrics-bind-address", "127.0.0.1:0", "--health-addr", "127.0.0.1:0"])
            .arg("--instance-types=catalogue")
            .args(flags)
            .envs(variable);
        let process = launch.start()?;
        let [first, second] = process.addresses().await?;
        // Metrics may be served over TLS only.
        let (health, metrics) = poll::eventually(PATIENCE, "an answer", || async {
            for (health, metrics) in [(first, second), (second, first)] {
                if http::get(health, "/healthz").await.is_ok_and(|(code, _)| code == 200) {
                    return Ok((health, metrics));
                }
            }
            anyhow::bail!("neither address serves probes")
        })
        .await?;
        Ok(Self { inner: process, health, metrics })
    }

    /// Asks `/readyz`.
    pub(crate) async fn readyz(&self) -> Result<(u16, String)> {
        http::get(self.health, "/readyz").await
    }

    /// Waits until `/readyz` answers 200 and lists the annotator as running.
    pub(crate) async fn wait_ready(&self) -> Result<()> {
        self.wait_ready_with("controller annotator runs").await
    }

    /// Waits until `/readyz` answers 200 with this text.
    pub(crate) async fn wait_ready_with(&self, words: &str) -> Result<()> {
        poll::eventually(PATIENCE, &format!("ready, and {words}"), || async {
            let (code, details) = self.readyz().await?;
            ensure!(code == 200 && details.contains(words), "{code}: {details}");
            Ok(())
        })
        .await
    }

    /// The value of a series such as `machinist_leader{controller="annotator"}`; `None` if it is not there.
    pub(crate) async fn metric(&self, series: &str) -> Result<Option<f64>> {
        http::metric(self.metrics, series).await
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

    /// Where it serves metrics.
    pub(crate) fn metrics_address(&self) -> SocketAddr {
        self.metrics
    }

    /// Where it serves probes.
    pub(crate) fn health_address(&self) -> SocketAddr {
        self.health
    }
}

/// Runs the binary with these arguments until it ends by itself.
pub(crate) async fn run_to_end(kubeconfig: Option<&Path>, arguments: &[&str]) -> Result<Output> {
    run_to_end_with(kubeconfig, arguments, None).await
}

/// The same, with a variable in its environment.
pub(crate) async fn run_to_end_with(
    kubeconfig: Option<&Path>,
    arguments: &[&str],
    variable: Option<(&str, &str)>,
) -> Result<Output> {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .env_remove("RUST_LOG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env_remove("KUBECONFIG")
        .envs(kubeconfig.map(|path| ("KUBECONFIG", path)))
        .envs(variable);
    process::output(&mut command, "").await
}

/// A temporary file.
pub(crate) fn file_with(content: &str) -> Result<NamedTempFile> {
    let file = NamedTempFile::new()?;
    std::fs::write(file.path(), content)?;
    Ok(file)
}
