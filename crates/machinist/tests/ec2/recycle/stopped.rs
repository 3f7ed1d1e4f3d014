//! `recycle run` that is stopped in the middle: the plan is on the group, and the same command goes on.

use std::time::Duration;

use anyhow::Result;
use machinist_testbed::aws::Behaviour;
use serde_json::json;

use super::yard::{MARK, Yard, ended, interrupt, until};

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_leaves_a_plan_that_the_same_command_carries_out() -> Result<()> {
    let yard = Yard::new("ctrl-c").await?;
    let (group, members) = yard.group([1, 3, 2]).await?;
    // A replacement that takes an hour: the first instance is gone, and everybody waits.
    let slow = Behaviour { launch_after: Duration::from_hours(1), ..Behaviour::default() };
    yard.front().behave(slow);
    let child = yard.run(&group, &[])?;
    until("the first to go", async || Ok(!yard.terminations().is_empty())).await?;
    interrupt(&child)?;
    let stopped = ended(child).await?;
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    let hint = format!("machinist recycle run --region eu-north-1 {group}");
    assert!(stopped.stderr.contains(&hint), "{stopped:?}");
    let between = yard.truth(&group).await?;
    assert_eq!(between.sizes, [1, 3, 2]);
    assert!(between.tags[MARK].contains("by-hand/somebody@"), "{between:?}");

    let shown = yard.recycle(&["run", &group, "--dry-run", "-o", "json"]).await?;
    assert_eq!(shown.json()?[0]["resumed"], json!(true), "{shown:?}");
    yard.front().clock().advance(Duration::from_hours(2));
    yard.front().behave(Behaviour::default());
    let done = ended(yard.run(&group, &[])?).await?;
    assert_eq!(done.code, Some(0), "{done:?}");
    let after = yard.truth(&group).await?;
    assert_eq!((after.sizes, after.members.len()), ([1, 3, 2], 2));
    assert!(!after.tags.contains_key(MARK), "{after:?}");
    let mut terminated = yard.terminations();
    terminated.sort();
    assert_eq!(terminated, members, "each of the old ones once, and none of the new ones");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_zero_the_group_gets_its_size_back() -> Result<()> {
    let yard = Yard::new("killed").await?;
    let (group, members) = yard.group([1, 3, 2]).await?;
    let slow = Behaviour { shutting_down_for: Duration::from_hours(1), ..Behaviour::default() };
    yard.front().behave(slow);
    let mut child = yard.run(&group, &["--strategy=scale-to-zero"])?;
    until("the group to be at zero", async || Ok(yard.truth(&group).await?.sizes == [0, 0, 0]))
        .await?;
    child.kill().await?;

    yard.front().clock().advance(Duration::from_hours(2));
    yard.front().behave(Behaviour::default());
    // Whatever is said now: what was begun is finished.
    let done = ended(yard.run(&group, &[])?).await?;
    assert_eq!(done.code, Some(0), "{done:?}");
    let after = yard.truth(&group).await?;
    assert_eq!((after.sizes, after.members.len()), ([1, 3, 2], 2));
    assert!(members.iter().all(|old| !after.members.contains(old)), "{after:?}");
    assert!(!after.tags.contains_key(MARK), "{after:?}");
    Ok(())
}
