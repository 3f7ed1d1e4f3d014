//! One running program: started with its output in a log file, stopped at the latest when dropped.

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use crate::children::OWNER;
use crate::folder::Folder;
use crate::messages;

const LOG_LINES: usize = 15;
const POLL: Duration = Duration::from_millis(25);

/// Below the ports that systems use for outgoing connections (Linux: from 32768, macOS: from 49152). Otherwise a client
/// that keeps dialling a stopped API server could get that very port and keep the API server from coming back.
const PORTS: std::ops::Range<u16> = 20_000..32_768;
const PORT_CHOICES: u32 = 200;
const PORT_TRIES: u32 = 5;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Exited(String);

pub(crate) struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// In a process group of its own, so that Ctrl-C reaches only us and the order of stopping stays ours.
    pub(crate) fn spawn(
        name: &'static str,
        program: &Path,
        arguments: &[OsString],
        folder: &Folder,
    ) -> Result<Self> {
        let log = folder.root().join("logs").join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log);
        let file = file.with_context(|| messages::cannot("write", log.display()))?;
        let child = Command::new(program)
            .args(arguments)
            .env(OWNER, folder.mark())
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .process_group(0)
            .spawn()
            .with_context(|| messages::cannot("run", program.display()))?;
        Ok(Self { name, child, log })
    }

    fn log_tail(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut lines: Vec<&str> = text.lines().rev().take(LOG_LINES).collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Repeats `probe` until it succeeds. Fails at once when the program ends.
    pub(crate) async fn wait_ready(
        &mut self,
        limit: Duration,
        probe: impl AsyncFn() -> Result<()>,
    ) -> Result<()> {
        let started = Instant::now();
        loop {
            let ended = match self.child.try_wait() {
                Ok(status) => status.map(|status| status.to_string()),
                // There is no such child any more.
                Err(error) => Some(error.to_string()),
            };
            if let Some(status) = ended {
                bail!(Exited(messages::exited(self.name, &status, &self.log_tail())));
            }
            let Err(last) = probe().await else {
                return Ok(());
            };
            if started.elapsed() > limit {
                bail!(messages::not_ready(self.name, limit, &last, &self.log_tail()));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// SIGTERM, and SIGKILL for those that do not end within `grace`.
    pub(crate) async fn stop(mut self, grace: Duration) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let asked = pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
        let deadline = Instant::now() + grace;
        while asked && Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            tokio::time::sleep(POLL).await;
        }
    }
}

impl Drop for Process {
    /// SIGKILL, because there is nothing to save, and kube-apiserver would wait a minute for a lost etcd.
    fn drop(&mut self) {
        // Both fail only for a child that is gone, which is what is wanted.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Starts a program on a free port, and on another one if a different process takes the port first.
pub(crate) async fn on_free_port<T>(mut start: impl AsyncFnMut(u16) -> Result<T>) -> Result<T> {
    let mut tries = 0;
    loop {
        tries += 1;
        match start(free_port()?).await {
            Err(error) if tries < PORT_TRIES && lost_its_port(&error) => {}
            result => return result,
        }
    }
}

fn lost_its_port(error: &anyhow::Error) -> bool {
    let exited = error.downcast_ref::<Exited>();
    exited.is_some_and(|it| it.0.contains("address already in use"))
}

fn free_port() -> Result<u16> {
    (0..PORT_CHOICES)
        .map(|_| fastrand::u16(PORTS))
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .with_context(|| messages::no_port(PORT_CHOICES))
}
