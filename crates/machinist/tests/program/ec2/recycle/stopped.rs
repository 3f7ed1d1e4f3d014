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
    // A replacement that takes an hour: the first instance is gone, and the process waits.
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
    assert!(between.tags[MARK].contains("by-hand/operator@"), "{between:?}");

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
    // Whatever the flags are now: what was begun is finished.
    let done = ended(yard.run(&group, &[])?).await?;
    assert_eq!(done.code, Some(0), "{done:?}");
    let after = yard.truth(&group).await?;
    assert_eq!((after.sizes, after.members.len()), ([1, 3, 2], 2));
    assert!(members.iter().all(|old| !after.members.contains(old)), "{after:?}");
    assert!(!after.tags.contains_key(MARK), "{after:?}");
    Ok(())
}

/// Between the look at a group and its turn there is time: here another group, elsewhere a question.
#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_else_has_finished_meanwhile_is_not_recycled_again() -> Result<()> {
    let yard = Yard::new("meanwhile").await?;
    let (first, old) = yard.group([0, 2, 1]).await?;
    let (second, others) = yard.group_named("others", [0, 3, 2]).await?;
    let slow = Behaviour { launch_after: Duration::from_hours(1), ..Behaviour::default() };
    // A user begins with the second group and stops.
    yard.front().behave(slow);
    let begun = yard.run(&second, &[])?;
    until("the second group to be begun", async || Ok(yard.terminations().len() == 1)).await?;
    interrupt(&begun)?;
    assert_eq!(ended(begun).await?.code, Some(130));
    yard.front().clock().advance(Duration::from_hours(2));

    // Both groups are to be recycled, and the first takes an hour.
    let both = yard.run(&first, &[second.as_str()])?;
    until("the first group to be begun", async || Ok(yard.terminations().len() == 2)).await?;
    yard.front().behave(Behaviour::default());
    let finished = ended(yard.run(&second, &[])?).await?;
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let after = yard.truth(&second).await?;

    yard.front().clock().advance(Duration::from_hours(2));
    let both = ended(both).await?;
    assert_eq!(both.code, Some(1), "{both:?}");
    assert!(both.stderr.contains("another command has finished its recycle"), "{both:?}");
    let results = both.json()?;
    assert_eq!((&results[0]["group"], &results[0]["result"]), (&json!(first), &json!("Succeeded")));
    assert_eq!(results.as_array().map(Vec::len), Some(1), "{results}");
    let mut terminated = yard.terminations();
    terminated.sort();
    let mut expected = [old, others].concat();
    expected.sort();
    assert_eq!(terminated, expected, "each of the old ones once, and none of the new ones");
    assert_eq!(yard.truth(&second).await?.members, after.members);
    Ok(())
}
