//! The program under test, in a process of its own.

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

/// How to get the program.
const HOW: &str = "build it with: cargo build --release --bin machinist --bin machinist-bench";

/// The environment that `deploy/base/deployment.yaml` gives to the program, as far as it changes how it behaves.
const SHIPPED: [(&str, &str); 1] = [("MIMALLOC_PURGE_DELAY", "0")];

/// What a benchmark wants of the program.
#[derive(Debug)]
pub(crate) struct Role {
    /// Flags of `machinist run`.
    pub(crate) flags: Vec<String>,
    /// Where it finds its cluster and its cloud.
    pub(crate) environment: Vec<(&'static str, String)>,
}

/// How `machinist run` is started.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    flags: Vec<String>,
    environment: Vec<(String, String)>,
    log: PathBuf,
}

impl Program {
    /// The program that the options name, or else the one beside this executable. What the options say comes after
    /// what its role is.
    pub(crate) fn find(role: Role, options: &Options, log: PathBuf) -> Result<Self> {
        let path = match &options.machinist {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("machinist"),
        };
        ensure!(path.exists(), "{} is not there; {HOW}", path.display());
        let shipped = SHIPPED.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let places = role.environment.into_iter().map(|(name, value)| (name.to_owned(), value));
        let said = options.environment.iter().cloned();
        let environment = shipped.into_iter().chain(places).chain(said).collect();
        let flags = role.flags.iter().chain(&options.flags).cloned().collect();
        Ok(Self { path, flags, environment, log })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Starts it for all namespaces. What it logs goes to a file, as it would in a cluster.
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

/// How long everything rests before there is work: the program has started by then, and its memory is that of an idle
/// one.
pub(crate) fn before_work(options: &Options) -> Duration {
    // Starting takes less, also on a busy machine.
    Duration::from_secs(3) + options.settle()
}

/// A running `machinist run`; killed when dropped.
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

    /// How much time of the processors it has used.
    pub(crate) fn cpu(&mut self) -> Result<Duration> {
        let id = self
            .child
            .id()
            .with_context(|| format!("machinist ended; see {}", self.log.display()))?;
        cpu::of_process(id)
    }

    /// Ends it, and waits until it is gone.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.kill().await.context("cannot kill machinist")
    }
}
