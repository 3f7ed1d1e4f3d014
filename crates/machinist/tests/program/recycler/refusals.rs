//! What is not recycled, and that nothing is changed then.

use anyhow::Result;
use machinist_api::event_recycler::EventRecyclerStatus;
use serde_json::json;

use super::world::shared;

/// The message of the condition `Recycling`.
fn mentions(status: &EventRecyclerStatus, text: &str) -> Option<()> {
    let mut conditions = status.conditions.iter().flatten();
    let mentions =
        |message: &Option<String>| message.as_deref().is_some_and(|it| it.contains(text));
    conditions.any(|one| one.kind == "Recycling" && mentions(&one.message)).then_some(())
}

#[test]
fn a_dry_run_says_what_it_would_do_and_changes_nothing() -> Result<()> {
    shared(async |world| {
        let name = "pretended";
        let old = world.group(name, [1, 3, 2]).await?;
        world.create(name, json!({"dryRun": true})).await?;
        world.complain(name, &old[0]).await?;
        let past = world.ended(name).await?;
        assert_eq!(past.status.as_deref(), Some("DryRun"), "{past:?}");
        world.until_noted(name, "WouldRecycle", "", 1).await?;
        world.is_as_it_was(name, [1, 3, 2], &old).await?;
        assert!(world.changes(name, &old).is_empty());
        for id in &old {
            let node = world.until_node(id).await?;
            assert_eq!(node.spec.and_then(|spec| spec.unschedulable), None);
        }
        Ok(())
    })
}

#[test]
fn a_group_without_instances_is_left_alone_with_a_reason() -> Result<()> {
    shared(async |world| {
        let name = "emptied";
        let old = world.group(name, [0, 3, 1]).await?;
        world.estate.resize_group(name, [0, 3, 0]).await?;
        world.create(name, json!({})).await?;
        world.complain(name, &old[0]).await?;
        world.until(name, "a reason", |status| mentions(status, "no instances")).await?;
        assert!(world.changes(name, &old).is_empty());
        Ok(())
    })
}

#[test]
fn suspended_and_protected_groups_are_left_alone_with_a_reason() -> Result<()> {
    shared(async |world| {
        let (suspended, protected) = ("suspended", "protected");
        let old =
            [world.group(suspended, [0, 3, 1]).await?, world.group(protected, [0, 3, 1]).await?];
        world.estate.suspend(suspended, "Launch").await?;
        let protect = [
            ("AutoScalingGroupName", protected),
            ("InstanceIds.member.1", &*old[1][0]),
            ("ProtectedFromScaleIn", "true"),
        ];
        world.estate.change_group("SetInstanceProtection", &protect).await?;
        world.create(suspended, json!({})).await?;
        world.create(protected, json!({"strategy": "ScaleToZero"})).await?;
        for (name, old, why) in [
            (suspended, &old[0], "Launch of the group is suspended"),
            (protected, &old[1], "protected from scale-in"),
        ] {
            world.complain(name, &old[0]).await?;
            world.until(name, why, |status| mentions(status, why)).await?;
            assert!(world.changes(name, old).is_empty());
        }
        Ok(())
    })
}
