//! `recycle watch`: from Events to a recycled group, without an EventRecycler.

use anyhow::{Context, Result};
use http::StatusCode;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::PostParams;
use machinist_control_plane::children;
use machinist_testbed::aws::{Effect, Rule};
use serde_json::json;

use super::yard::{Yard, ended, interrupt, until};

/// Occurrences count, also those about pods that are gone.
const QUICK: [&str; 5] = [
    "--watch-interval=200ms",
    "--poll-interval=200ms",
    "--threshold=5",
    "--count-by=events",
    "--trust-event-host",
];

/// Events about a Node, some of them aggregated.
async fn trouble(yard: &Yard, node: &str, name: &str, count: u32) -> Result<()> {
    let events: Api<Event> = yard.world.api();
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let event = serde_json::from_value(json!({
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "namespace": yard.world.namespace, "name": "gone", "uid": "x"},
        "source": {"host": node}, "type": "Warning", "reason": "FailedCreatePodSandBox",
        "message": "failed to get sandbox image", "count": count,
        "firstTimestamp": now, "lastTimestamp": now,
    }))?;
    events.create(&PostParams::default(), &event).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn events_after_the_start_have_their_group_recycled_once() -> Result<()> {
    let yard = Yard::new("watch").await?;
    let (group, members) = yard.group([0, 2, 1]).await?;
    trouble(&yard, &members[0], "before", 50).await?;
    let namespace = &*yard.world.namespace;
    let quick = [&QUICK[..], &["-n", namespace]].concat();
    let lines = yard.path("watch.log");
    let start = |more: &[&str]| {
        let mut command = yard.command(&[&["watch"], &quick[..], more].concat());
        command.stdout(std::fs::File::create(&lines)?);
        anyhow::Ok(children::spawn(&mut command)?)
    };
    let printed = async |text: &str| Ok(std::fs::read_to_string(&lines)?.contains(text));

    // Nothing but words.
    let pretending = start(&["--dry-run"])?;
    until("it to watch", async || printed("watching for").await).await?;
    trouble(&yard, &members[0], "first", 3).await?;
    trouble(&yard, &members[0], "second", 4).await?;
    until("it to say so", async || printed("(7 events); would recycle").await).await?;
    interrupt(&pretending)?;
    let pretended = ended(pretending).await?;
    assert_eq!(pretended.code, Some(0), "{pretended:?}");
    assert!(yard.changes().is_empty(), "{:?}", yard.changes());

    // What happened before does not count, not even for a new watch.
    let watching = start(&["--yes"])?;
    until("it to watch", async || printed("watching for").await).await?;
    trouble(&yard, &members[0], "third", 5).await?;
    let over = format!("recycled node group {group}\n");
    until("the group to be recycled", async || printed(&over).await).await?;
    let after = yard.truth(&group).await?;
    assert_eq!((after.sizes, after.members.len()), ([0, 2, 1], 1));
    assert_ne!(after.members, members);
    // The same again would be too much: the group cools down.
    let replacement = after.members.first().context("a member")?;
    trouble(&yard, replacement, "fourth", 9).await?;
    until("it to be counted", async || printed(&format!("{group}: 9")).await).await?;
    interrupt(&watching)?;
    let watched = ended(watching).await?;
    assert_eq!(watched.code, Some(0), "{watched:?}");
    assert_eq!(yard.terminations(), members);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_cannot_be_looked_at_is_tried_again_and_does_not_cool_down() -> Result<()> {
    let yard = Yard::new("unseen").await?;
    let (group, members) = yard.group([0, 2, 1]).await?;
    let denied = Effect::Refuse {
        status: StatusCode::FORBIDDEN,
        code: "AccessDenied".to_owned(),
        message: "not yours".to_owned(),
    };
    yard.front().inject(Rule::every("DescribeAutoScalingGroups", denied));
    let lines = yard.path("watch.log");
    let namespace = &*yard.world.namespace;
    let mut command = yard.command(&[&["watch", "-y", "-n", namespace], &QUICK[..]].concat());
    command.stdout(std::fs::File::create(&lines)?);
    let watching = children::spawn(&mut command)?;
    let printed = async |text: &str, times: usize| {
        Ok(std::fs::read_to_string(&lines)?.matches(text).count() >= times)
    };
    until("it to watch", async || printed("watching for", 1).await).await?;
    trouble(&yard, &members[0], "first", 5).await?;
    until("it to try again", async || printed("; retrying", 2).await).await?;
    assert!(yard.changes().is_empty(), "{:?}", yard.changes());
    yard.front().clear_rules();
    let over = format!("recycled node group {group}\n");
    until("the group to be recycled", async || printed(&over, 1).await).await?;
    interrupt(&watching)?;
    let watched = ended(watching).await?;
    assert_eq!(watched.code, Some(0), "{watched:?}");
    assert_eq!(yard.terminations(), members);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn it_recycles_only_if_it_is_confirmed() -> Result<()> {
    let yard = Yard::new("unconfirmed").await?;
    let refused = yard.recycle(&["watch", "-s", "bad"]).await?;
    assert_eq!((refused.code, &*refused.stdout), (Some(2), ""), "{refused:?}");
    assert!(refused.stderr.contains("--yes or --dry-run"), "{refused:?}");
    assert!(yard.front().calls().is_empty(), "{:?}", yard.front().calls());
    Ok(())
}
