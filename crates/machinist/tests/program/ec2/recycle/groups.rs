//! `recycle groups`.

use std::process::Stdio;

use anyhow::{Context, Result};
use tokio::io::AsyncWriteExt;

use super::yard::{Yard, ended};
use machinist_control_plane::children;

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_shown_with_their_groups_in_the_order_in_which_they_were_asked_for()
-> Result<()> {
    let yard = Yard::new("groups").await?;
    let name = format!("eks-{}", yard.world.namespace);
    let tags = [("eks:nodegroup-name", "workers"), ("eks:cluster-name", "prod")];
    let mut ids = yard.estate.create_group(&name, [0, 2, 2], &tags).await?;
    ids.reverse();
    let single = yard.estate.launch(&[("team", "a")]).await?;
    ids.push(single.clone());

    let mut arguments = vec!["groups", "-o", "json"];
    arguments.extend(ids.iter().map(String::as_str));
    let shown = yard.recycle(&arguments).await?;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let shown = shown.json()?;
    let shown = shown.as_array().context("a list")?;
    let found: Vec<_> = shown.iter().filter_map(|one| one["instanceId"].as_str()).collect();
    assert_eq!(found, ids);
    assert_eq!(shown[0]["autoScalingGroup"], name.as_str());
    assert_eq!((&shown[0]["nodeGroup"], &shown[0]["cluster"]), (&"workers".into(), &"prod".into()));
    assert!(shown[2]["autoScalingGroup"].is_null());

    // For people, from a pipe, with one that EC2 does not know.
    let mut child = children::spawn(yard.command(&["groups", "-"]).stdin(Stdio::piped()))?;
    let mut stdin = child.stdin.take().context("stdin")?;
    stdin.write_all(format!("{} {}\ni-0ffffffffffffffff\n", ids[0], ids[0]).as_bytes()).await?;
    drop(stdin);
    let shown = ended(child).await?;
    assert_eq!(shown.code, Some(1), "{shown:?}");
    let lines: Vec<_> = shown.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{shown:?}");
    assert!(lines[0].starts_with("INSTANCE ID"), "{shown:?}");
    assert!(lines[1].contains("prod") && lines[1].contains("m5.large"), "{shown:?}");
    assert!(shown.stderr.contains("i-0ffffffffffffffff"), "{shown:?}");

    let none = yard.recycle(&["groups", &single, "--cluster", "prod", "-o", "yaml"]).await?;
    assert_eq!((none.code, none.stdout.trim()), (Some(0), "[]"), "{none:?}");
    let bad = yard.recycle(&["groups", "i-1; rm"]).await?;
    assert_eq!(bad.code, Some(2), "{bad:?}");
    let mut nowhere = yard.command(&["groups", &single]);
    let nowhere = ended(children::spawn(nowhere.env_remove("AWS_REGION"))?).await?;
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
    assert!(yard.changes().is_empty());
    Ok(())
}
