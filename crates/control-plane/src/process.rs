//! One running program: started with its output in a log file, stopped at the latest when dropped.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use crate::error::Error;

/// How much of a log goes into an error.
const LOG_LINES: usize = 15;
const POLL: Duration = Duration::from_millis(25);

/// A child process.
#[derive(Debug)]
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program in a process group of its own, so that Ctrl-C reaches only us and the order of stopping stays
    /// ours.
    pub(crate) fn spawn(
        name: &'static str,
        program: &Path,
        arguments: &[OsString],
        log: &Path,
    ) -> Result<Self, Error> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .map_err(Error::file("write", log))?;
        let errors = file.try_clone().map_err(Error::file("write", log))?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(|source| Error::Spawn { program: program.to_owned(), source })?;
        Ok(Self { name, child, log: log.to_owned() })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The end of what it printed.
    fn log_tail(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut lines: Vec<&str> = text.lines().rev().take(LOG_LINES).collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Whether it failed because another process took its port first.
    pub(crate) fn lost_its_port(&self) -> bool {
        self.log_tail().contains("address already in use")
    }

    /// Asks `probe` until it says yes. Fails at once when the program ends.
    pub(crate) async fn wait_ready<F>(
        &mut self,
        limit: Duration,
        mut probe: impl FnMut() -> F,
    ) -> Result<(), Error>
    where
        F: Future<Output = Result<(), String>>,
    {
        let started = Instant::now();
        loop {
            // An unreadable status means that there is no such child any more.
            match self.child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => return Err(self.exited(status.to_string())),
                Err(error) => return Err(self.exited(error.to_string())),
            }
            let Err(last) = probe().await else {
                return Ok(());
            };
            if started.elapsed() > limit {
                let log = self.log_tail();
                return Err(Error::NotReady { name: self.name, after: limit, last, log });
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn exited(&self, status: String) -> Error {
        Error::Exited { name: self.name, status, log: self.log_tail() }
    }

    /// SIGTERM, and SIGKILL for those that do not listen within `grace`.
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
    /// There is nothing to save, so this is SIGKILL: fast, and without the minute that kube-apiserver waits for a lost
    /// etcd.
    fn drop(&mut self) {
        // Both fail only for a child that is gone, which is what is wanted.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
