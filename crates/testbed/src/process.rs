//! Every child ends with the test process ([`children`]) and no call waits for one without a deadline.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use machinist_control_plane::children;
use rustix::process::{Pid, Signal};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use crate::poll;

/// Far more than a child takes to end or to log something on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);
const SHOWN: usize = 60;

static STARTED: AtomicU32 = AtomicU32::new(0);

pub async fn output(command: &mut Command, stdin: &str) -> Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = children::spawn(command)?;
    let mut pipe = child.stdin.take().context("no pipe")?;
    let write = async move {
        // A process that does not read its stdin closes it.
        pipe.write_all(stdin.as_bytes()).await.ok();
    };
    let both = async { tokio::join!(write, child.wait_with_output()).1 };
    Ok(tokio::time::timeout(PATIENCE, both).await.context("the process does not end")??)
}

/// Nothing is in its environment but what the test sets.
#[derive(Debug)]
pub struct Launch {
    pub command: Command,
    home: TempDir,
    log: PathBuf,
}

impl Launch {
    /// In a home of its own and without the metadata service of AWS; its stderr goes to a file in `logs`.
    pub fn new(program: impl AsRef<Path>, logs: &str, name: &str) -> Result<Self> {
        std::fs::create_dir_all(logs)?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let log = Path::new(logs).join(format!("{name}-{number}.log"));
        let home = TempDir::new()?;
        let mut command = Command::new(program.as_ref());
        command
            .env_clear()
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?);
        Ok(Self { command, home, log })
    }

    pub fn kubeconfig(&mut self, content: &str) -> Result<()> {
        let path = self.home.path().join("kubeconfig");
        std::fs::write(&path, content)?;
        self.command.env("KUBECONFIG", path);
        Ok(())
    }

    pub fn start(mut self) -> Result<Process> {
        let child = children::spawn(&mut self.command)?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Process { child, pid: pid.context("a process id")?, log: self.log, home: self.home })
    }
}

/// Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    pid: Pid,
    log: PathBuf,
    home: TempDir,
}

impl Process {
    /// By the identity of a Lease's holder.
    pub fn is_called(&self, identity: &str) -> bool {
        identity.contains(&format!("_{}_", self.pid.as_raw_nonzero()))
    }

    /// It has its temporary files, too.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn log(&self) -> Result<String> {
        Ok(std::fs::read_to_string(&self.log)?)
    }

    pub async fn until_logged(&self, text: &str) -> Result<()> {
        poll::eventually(PATIENCE, text, || async {
            let log = self.log()?;
            ensure!(log.contains(text), "{log}");
            Ok(())
        })
        .await
    }

    /// In the order of its log, be that for people or JSON.
    pub async fn addresses<const N: usize>(&self) -> Result<[SocketAddr; N]> {
        poll::eventually(PATIENCE, "the process to listen", || async {
            let found = self.listening()?;
            found.try_into().map_err(|found| anyhow!("not yet: {found:?}\n{:?}", self.log()))
        })
        .await
    }

    /// The addresses that its log names until now.
    pub fn listening(&self) -> Result<Vec<SocketAddr>> {
        Ok(self.log()?.lines().filter_map(listening).collect())
    }

    pub fn ensure_alive(&mut self) -> Result<()> {
        let ended = self.child.try_wait()?;
        ensure!(ended.is_none(), "the process has ended: {ended:?}");
        Ok(())
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        rustix::process::kill_process(self.pid, signal).context("signal")
    }

    pub async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.context("kill -9")
    }

    pub async fn ended(&mut self) -> Result<ExitStatus> {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        Ok(ended.context("the process does not end")??)
    }

    pub async fn terminate(&mut self) -> Result<(ExitStatus, Duration)> {
        let start = Instant::now();
        self.signal(Signal::TERM)?;
        Ok((self.ended().await.context("SIGTERM had no effect")?, start.elapsed()))
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

fn listening(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("listening")?.1.split_once("address")?;
    rest.trim_start_matches(['"', ':', '=']).split(['"', ' ']).next()?.parse().ok()
}
