//! The binary as a process that runs the recycler, with an environment that holds nothing but what the test says.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use machinist_control_plane::children;
use machinist_testbed::aws::AwsBed;
use rustix::process::{Pid, Signal};
use tempfile::TempDir;
use tokio::process::{Child, Command};

const PROGRAM: &str = env!("CARGO_BIN_EXE_machinist");
const LOGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/recycler");
/// How much of a log is shown when a test fails.
const SHOWN: usize = 60;

static STARTED: AtomicU32 = AtomicU32::new(0);

/// A running recycler.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pid: Pid,
    log: PathBuf,
    _home: TempDir,
}

impl Process {
    /// Starts a recycler that asks `cloud` in `region`.
    pub(crate) fn start(
        kubeconfig: &Path,
        cloud: &AwsBed,
        region: &str,
        flags: &[&str],
    ) -> Result<Self> {
        let flags = [&["--metrics-bind-address=0"], flags].concat();
        Self::start_with(kubeconfig, cloud, region, &flags, &[])
    }

    /// The same with variables in its environment, and with metrics where a flag says.
    pub(crate) fn start_with(
        kubeconfig: &Path,
        cloud: &AwsBed,
        region: &str,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        std::fs::create_dir_all(LOGS)?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let log = Path::new(LOGS).join(format!("{}-{number}.log", std::process::id()));
        let home = TempDir::new()?;
        let mut command = Command::new(PROGRAM);
        command
            .args(["run", "--controllers=recycler", "--health-addr=0"])
            .args(flags)
            .env_clear()
            .env("KUBECONFIG", kubeconfig)
            .env("HOME", home.path())
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL", cloud.endpoint_url())
            .env("AWS_REGION", region)
            .env("AWS_ACCESS_KEY_ID", "AKIARECYCLER")
            .env("AWS_SECRET_ACCESS_KEY", "x")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?);
        let child = children::spawn(&mut command)?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self { child, pid: pid.context("a process id")?, log, _home: home })
    }

    /// Whether the name of a lease's holder is this process's.
    pub(crate) fn is_called(&self, identity: &str) -> bool {
        identity.contains(&format!("_{}_", self.pid.as_raw_nonzero()))
    }

    /// Kills it with SIGKILL and waits until it is gone.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.context("kill -9")
    }

    /// Sends SIGTERM and waits until it has ended.
    pub(crate) async fn terminate(&mut self) -> Result<()> {
        rustix::process::kill_process(self.pid, Signal::TERM)?;
        self.child.wait().await?;
        Ok(())
    }

    /// Everything that it has logged so far.
    pub(crate) fn log(&self) -> Result<String> {
        Ok(std::fs::read_to_string(&self.log)?)
    }
}

impl Drop for Process {
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
