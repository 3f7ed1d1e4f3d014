//! `recycle run`: from the question to the end, and everything that keeps it from beginning.

use std::time::Duration;

use anyhow::Result;
use machinist_control_plane::children;
use machinist_testbed::aws::Behaviour;
use serde_json::json;

use super::yard::{MARK, Yard, ended};

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_says_what_would_happen_and_changes_nothing() -> Result<()> {
    let yard = Yard::new("dry").await?;
    let (group, members) = yard.group([1, 3, 2]).await?;
    let shown = yard.recycle(&["run", &group, "--dry-run", "-o", "json"]).await?;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let shown = shown.json()?;
    let [one] = shown.as_array().unwrap().as_slice() else { panic!("{shown}") };
    assert_eq!((&one["min"], &one["max"], &one["desired"]), (&json!(1), &json!(3), &json!(2)));
    let instances: Vec<_> =
        one["instances"].as_array().unwrap().iter().map(|one| one["node"].as_str()).collect();
    assert_eq!(instances, [Some(&*members[0]), Some(&*members[1])]);
    let text = yard.recycle(&["run", &group, "--dry-run"]).await?;
    assert!(text.stdout.contains("drained, terminated and replaced"), "{text:?}");

    // stdin is not a terminal, and there is no --yes.
    let unasked = yard.recycle(&["run", &group]).await?;
    assert_eq!(unasked.code, Some(2), "{unasked:?}");
    assert!(yard.changes().is_empty(), "{:?}", yard.changes());
    let node = yard.world.until_node(&members[0]).await?;
    assert_eq!(node.spec.and_then(|spec| spec.unschedulable), None);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_instance_is_replaced_and_the_group_is_as_it_was() -> Result<()> {
    let yard = Yard::new("replace").await?;
    let (group, members) = yard.group([1, 3, 2]).await?;
    let done = ended(yard.run(&group, &["--verbose"])?).await?;
    assert_eq!(done.code, Some(0), "{done:?}");
    let result = done.json()?;
    assert_eq!((&result[0]["result"], &result[0]["instances"]), (&json!("Succeeded"), &json!(2)));
    assert!(done.stderr.contains("Replacing, 1 of 2 replaced"), "{done:?}");
    let logged = |text: &str| done.stderr.lines().filter(|line| line.contains(text)).count();
    assert_eq!(logged(" audit: cloud "), 4, "mark, two terminations, the mark's removal: {done:?}");
    assert!(logged(" audit: write ") > 0, "cordons: {done:?}");
    let after = yard.truth(&group).await?;
    assert_eq!(after.sizes, [1, 3, 2]);
    assert_eq!(after.members.len(), 2);
    assert!(members.iter().all(|old| !after.members.contains(old)), "{after:?}");
    assert!(!after.tags.keys().any(|key| key.starts_with(MARK)), "{after:?}");
    let mut terminated = yard.terminations();
    terminated.sort();
    assert_eq!(terminated, members, "each once");
    let node = yard.world.until_node(&members[0]).await?;
    assert_eq!(node.spec.and_then(|spec| spec.unschedulable), Some(true), "it was cordoned");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_that_does_not_come_gives_the_group_up_at_its_size() -> Result<()> {
    let yard = Yard::new("timeout").await?;
    let (group, members) = yard.group([2, 2, 2]).await?;
    let slow = Behaviour { launch_after: Duration::from_hours(1), ..Behaviour::default() };
    yard.front().behave(slow);
    let given_up = ended(yard.run(&group, &["--timeout=2s"])?).await?;
    assert_eq!(given_up.code, Some(1), "{given_up:?}");
    let result = given_up.json()?;
    assert_eq!(result[0]["result"], "Failed", "{given_up:?}");
    assert!(given_up.stderr.contains("TimedOut"), "{given_up:?}");
    assert!(!given_up.stderr.contains("audit"), "without --verbose: {given_up:?}");
    let after = yard.truth(&group).await?;
    assert_eq!(after.sizes, [2, 2, 2]);
    assert!(members.iter().any(|old| after.members.contains(old)), "the other one was left alone");
    assert!(!after.tags.keys().any(|key| key.starts_with(MARK)), "{after:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_recycled_is_refused_with_a_reason_before_anything_happens() -> Result<()> {
    let yard = Yard::new("refused").await?;
    let (group, _) = yard.group([0, 2, 1]).await?;
    let missing = yard.recycle(&["run", "missing", "-y"]).await?;
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains("no Auto Scaling group missing"), "{missing:?}");
    yard.estate.suspend(&group, "Launch").await?;
    let suspended = yard.recycle(&["run", &group, "-y"]).await?;
    assert_eq!(suspended.code, Some(1), "{suspended:?}");
    assert!(suspended.stderr.contains("Launch") && suspended.stderr.contains("suspended"));
    let empty = format!("{group}-empty");
    yard.estate.create_group(&empty, [0, 1, 0], &[]).await?;
    let empty = yard.recycle(&["run", &empty, "-y"]).await?;
    assert_eq!(empty.code, Some(1), "{empty:?}");
    assert!(yard.changes().is_empty(), "{:?}", yard.changes());
    Ok(())
}

/// As kaws, which needs none.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_cluster_aws_alone_says_when_instances_are_replaced() -> Result<()> {
    let yard = Yard::new("alone").await?;
    for strategy in ["scale-to-zero", "replace"] {
        let (group, members) = yard.group_named(strategy, [1, 3, 2]).await?;
        let mut command = yard.command(&["run", &group, "-y", "-p=200ms", "-o=json"]);
        command.args(["--no-cluster", &format!("--strategy={strategy}")]);
        // A cluster that could be asked is not.
        command.env("KUBECONFIG", "/nonexistent/kubeconfig");
        let done = ended(children::spawn(&mut command)?).await?;
        assert_eq!(done.code, Some(0), "{done:?}");
        assert_eq!(done.json()?[0]["result"], json!("Succeeded"), "{done:?}");
        let after = yard.truth(&group).await?;
        assert_eq!((after.sizes, after.members.len()), ([1, 3, 2], 2));
        assert!(members.iter().all(|old| !after.members.contains(old)), "{after:?}");
        let node = yard.world.until_node(&members[0]).await?;
        assert_eq!(node.spec.and_then(|spec| spec.unschedulable), None, "it was left alone");
    }
    Ok(())
}
