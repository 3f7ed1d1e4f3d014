//! Everything stops: when dropped, when a test panics, on Ctrl-C, and after `kill -9`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{programs_in, wait_gone};
use anyhow::{Context, Result, ensure};
use machinist_control_plane::{ControlPlane, children};
use rustix::process::{Pid, Signal, kill_process};

/// The guard needs about half a second; a loaded machine more.
const LIMIT: Duration = Duration::from_secs(60);

/// A process of its own that owns a control plane, and the folder of that control plane.
fn control_plane_process() -> Result<(Child, PathBuf)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_control-plane"));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    children::bind(&mut command)?;
    let mut child = command.spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut line)?;
    let kubeconfig = line.trim().strip_prefix("export KUBECONFIG=").context(line.clone())?;
    let folder = Path::new(kubeconfig).parent().context("no folder")?.to_owned();
    assert_eq!(programs_in(&folder)?.len(), 2, "etcd and kube-apiserver run");
    Ok((child, folder))
}

fn send(child: &Child, signal: Signal) -> Result<()> {
    let pid = Pid::from_raw(i32::try_from(child.id())?).context("no process number")?;
    Ok(kill_process(pid, signal)?)
}

#[test]
fn kill_9_leaves_nothing_behind() -> Result<()> {
    let (mut child, folder) = control_plane_process()?;
    send(&child, Signal::KILL)?;
    child.wait()?;
    wait_gone(&folder, LIMIT)
}

#[test]
fn an_interrupt_is_a_clean_end() -> Result<()> {
    let (mut child, folder) = control_plane_process()?;
    send(&child, Signal::INT)?;
    ensure!(child.wait()?.success());
    assert!(programs_in(&folder)?.is_empty() && !folder.exists(), "gone before the exit");
    Ok(())
}

#[tokio::test]
async fn dropping_it_stops_everything_at_once() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    let folder = control_plane.folder().to_owned();
    assert_eq!(programs_in(&folder)?.len(), 2);
    drop(control_plane);
    assert!(programs_in(&folder)?.is_empty());
    assert!(!folder.exists());
    Ok(())
}

#[tokio::test]
async fn a_panic_stops_everything() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    let folder = control_plane.folder().to_owned();
    let outcome = tokio::spawn(async move {
        let _owned = control_plane;
        panic!("on purpose");
    });
    ensure!(outcome.await.is_err_and(|error| error.is_panic()));
    wait_gone(&folder, LIMIT)
}
