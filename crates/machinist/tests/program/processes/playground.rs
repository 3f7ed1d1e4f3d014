//! The playground, as a first-time user runs it.

use anyhow::{Result, ensure};

use crate::processes::support::process::run_to_end;

/// It brings everything up, shows that a fleet grows, shrinks, heals, is rolled and rolled back, and goes, and ends.
#[tokio::test(flavor = "multi_thread")]
async fn once_proves_itself_and_leaves_nothing_behind() -> Result<()> {
    let ended = run_to_end(None, &["playground", "--once"]).await?;
    let (stdout, log) =
        (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    ensure!(ended.status.success(), "{}\n{stdout}\n{log}", ended.status);
    ensure!(stdout.contains("proved: machinist rollout undo put back"), "{stdout}\n{log}");
    ensure!(stdout.contains("stopped the controllers and the API server"), "{stdout}\n{log}");
    Ok(())
}

/// The health check among its samples has dead machines replaced.
#[tokio::test(flavor = "multi_thread")]
async fn machines_that_die_are_replaced() -> Result<()> {
    let ended = run_to_end(None, &["playground", "--once", "--fail=dies"]).await?;
    let (stdout, log) =
        (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    ensure!(ended.status.success(), "{}\n{stdout}\n{log}", ended.status);
    ensure!(stdout.contains("proved: the instances of 3 machines died"), "{stdout}\n{log}");
    ensure!(stdout.contains("stopped the controllers and the API server"), "{stdout}\n{log}");
    Ok(())
}
