use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinist_control_plane::children;
use tokio::process::{Child, Command};

use crate::Options;
use crate::cpu;
use crate::memory::Memory;

const HOW: &str = "build it with: cargo build --release --bin machinist --bin machinist-bench";

/// What `deploy/base/deployment.yaml` sets, as far as it changes how the program behaves.
const SHIPPED: [(&str, &str); 1] = [("MIMALLOC_PURGE_DELAY", "0")];

#[derive(Debug)]
pub(crate) struct Role {
    pub(crate) flags: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
}

#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    flags: Vec<String>,
    environment: Vec<(String, String)>,
    log: PathBuf,
}

impl Program {
    /// By default the one beside this executable. Flags of the options come after those of the role.
    pub(crate) fn find(role: Role, options: &Options, log: PathBuf) -> Result<Self> {
        let path = match &options.machinist {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("machinist"),
        };
        ensure!(path.exists(), "{} is not there; {HOW}", path.display());
        let shipped = SHIPPED.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let places = role.environment.into_iter().map(|(name, value)| (name.to_owned(), value));
        let given = options.environment.iter().cloned();
        let environment = shipped.into_iter().chain(places).chain(given).collect();
        let flags = role.flags.iter().chain(&options.flags).cloned().collect();
        Ok(Self { path, flags, environment, log })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What it logs goes to a file, as it would in a cluster.
    pub(crate) fn start(&self) -> Result<Running> {
        let log = File::create(&self.log)
            .with_context(|| format!("cannot write {}", self.log.display()))?;
        let mut command = Command::new(&self.path);
        command
            .arg("run")
            .args(["--metrics-bind-address=0", "--health-addr=0"])
            .args(&self.flags)
            .env_clear()
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = children::spawn(&mut command)
            .with_context(|| format!("cannot start {}", self.path.display()))?;
        Ok(Running { child, log: self.log.clone() })
    }
}

/// By then the program has started, and its memory is that of an idle one.
pub(crate) fn before_work(options: &Options) -> Duration {
    // Starting takes less, also on a busy machine.
    Duration::from_secs(3) + options.settle()
}

/// Killed when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    pub(crate) fn memory(&mut self) -> Result<Memory> {
        let ended = self.child.try_wait()?;
        let id = self.child.id().filter(|_| ended.is_none());
        let id = id.with_context(|| format!("machinist ended; see {}", self.log.display()))?;
        Memory::of_process(id)
    }

    pub(crate) fn cpu(&mut self) -> Result<Duration> {
        let id = self
            .child
            .id()
            .with_context(|| format!("machinist ended; see {}", self.log.display()))?;
        cpu::of_process(id)
    }

    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.kill().await.context("cannot kill machinist")
    }
}
