//! The program under test, in a process of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::process::{Child, Command};

use crate::memory::Memory;

/// How to get the program.
const HOW: &str = "build it with: cargo build --release --bin machinist --bin machinist-bench";

/// How `machinist run` is started.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    kubeconfig: PathBuf,
    flags: Vec<String>,
    log: PathBuf,
}

impl Program {
    /// The program at `path`, or else the one beside this executable.
    pub(crate) fn find(
        path: Option<&Path>,
        kubeconfig: PathBuf,
        flags: &[String],
        log: PathBuf,
    ) -> Result<Self> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => std::env::current_exe()?.with_file_name("machinist"),
        };
        ensure!(path.exists(), "{} is not there; {HOW}", path.display());
        Ok(Self { path, kubeconfig, flags: flags.to_vec(), log })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Starts it for one namespace. What it logs goes to a file, as it would in a cluster.
    pub(crate) fn start(&self, namespace: &str) -> Result<Running> {
        let log = File::create(&self.log)
            .with_context(|| format!("cannot write {}", self.log.display()))?;
        let child = Command::new(&self.path)
            .arg("run")
            .arg(format!("--namespace={namespace}"))
            .arg(format!("--control-kubeconfig={}", self.kubeconfig.display()))
            .args(["--target-kubeconfig=none", "--metrics-bind-address=0", "--health-addr=0"])
            .arg("--instance-types=catalogue")
            .args(&self.flags)
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", self.path.display()))?;
        Ok(Running { child, log: self.log.clone() })
    }
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

    /// Ends it, and waits until it is gone.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.kill().await.context("cannot kill machinist")
    }
}
