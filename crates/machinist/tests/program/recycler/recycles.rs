//! From Events to new nodes: every strategy, groups of every kind, and what others do meanwhile.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_testbed::poll;
use serde_json::json;

use super::world::{PATIENCE, RecyclerWorld, TAG, shared};

const SIZES: [u32; 3] = [1, 4, 2];

/// Recycles a group of two with this strategy.
async fn recycle(
    world: &RecyclerWorld,
    name: &str,
    tags: &[(&str, &str)],
    strategy: &str,
) -> Result<Vec<String>> {
    let old = world.group_with(name, SIZES, tags).await?;
    world.create(name, json!({"strategy": strategy})).await?;
    world.complain(name, &old[0]).await?;
    let past = world.ended(name).await?;
    ensure!(past.status.as_deref() == Some("Succeeded"), "{past:?}");
    ensure!(past.event_count == Some(5), "{past:?}");
    world.is_renewed(name, SIZES, &old).await?;
    Ok(old)
}

#[test]
fn a_self_managed_group_is_replaced_instance_by_instance() -> Result<()> {
    shared(async |world| {
        let name = "self-managed";
        let old = world.group(name, SIZES).await?;
        world.pod("on-self-managed", &old[1]).await?;
        world.create(name, json!({})).await?;
        world.complain(name, &old[0]).await?;
        let past = world.ended(name).await?;
        assert_eq!(past.status.as_deref(), Some("Succeeded"), "{past:?}");
        world.is_renewed(name, SIZES, &old).await?;
        assert!(!world.has_pod("on-self-managed").await?, "its node was drained");

        let calls = world.changes(name, &old);
        let actions: Vec<_> = calls.iter().map(|call| &*call.action).collect();
        let terminate = "TerminateInstanceInAutoScalingGroup";
        assert_eq!(actions, ["CreateOrUpdateTags", terminate, terminate, "DeleteTags"]);
        for call in calls.iter().filter(|call| call.action == terminate) {
            assert_eq!(call.parameters["ShouldDecrementDesiredCapacity"], "false");
        }
        // The second one had to wait until the successor of the first was ready.
        let nodes: Api<Node> = Api::all(world.client.clone());
        let members = world.facts(name).await?.members;
        let mut born = Vec::new();
        for id in &members {
            born.extend(nodes.get(id).await?.metadata.creation_timestamp.map(|time| time.0));
        }
        assert!(calls[2].at >= *born.iter().min().unwrap(), "{born:?} {calls:#?}");
        for text in ["Draining node", "Terminating instance"] {
            world.until_noted(name, "RecycleProceeds", text, 2).await?;
        }
        world.until_noted(name, "Recycled", "", 1).await
    })
}

#[test]
fn a_group_that_eks_manages_is_replaced_in_the_same_way() -> Result<()> {
    let tags = [("eks:nodegroup-name", "ng"), ("eks:cluster-name", "c")];
    shared(async |world| recycle(world, "eks-ng-1234", &tags, "Replace").await.map(drop))
}

#[test]
fn a_group_with_hooks_is_replaced_in_the_same_way() -> Result<()> {
    shared(async |world| {
        let name = "hooked";
        let old = world.group(name, SIZES).await?;
        for (hook, transition) in [("in", "LAUNCHING"), ("out", "TERMINATING")] {
            let transition = format!("autoscaling:EC2_INSTANCE_{transition}");
            let hook = [
                ("AutoScalingGroupName", name),
                ("LifecycleHookName", hook),
                ("LifecycleTransition", &*transition),
            ];
            world.estate.change_group("PutLifecycleHook", &hook).await?;
        }
        world.create(name, json!({})).await?;
        world.complain(name, &old[0]).await?;
        let past = world.ended(name).await?;
        assert_eq!(past.status.as_deref(), Some("Succeeded"), "{past:?}");
        world.is_renewed(name, SIZES, &old).await
    })
}

#[test]
fn aws_refreshes_a_group_by_itself() -> Result<()> {
    shared(async |world| {
        let old = recycle(world, "refreshed", &[], "InstanceRefresh").await?;
        let changes = world.changes("refreshed", &old);
        let actions: Vec<_> = changes.iter().map(|call| &*call.action).collect();
        assert_eq!(actions, ["CreateOrUpdateTags", "StartInstanceRefresh", "DeleteTags"]);
        assert_eq!(changes[1].parameters["Preferences.MinHealthyPercentage"], "50");
        Ok(())
    })
}

#[test]
fn a_group_goes_to_zero_and_back() -> Result<()> {
    shared(async |world| {
        let old = recycle(world, "to-zero", &[], "ScaleToZero").await?;
        let changes = world.changes("to-zero", &old);
        let actions: Vec<_> = changes.iter().map(|call| &*call.action).collect();
        let resize = "UpdateAutoScalingGroup";
        assert_eq!(actions, ["CreateOrUpdateTags", resize, resize, "DeleteTags"]);
        assert_eq!(changes[2].parameters["DesiredCapacity"], "2");
        Ok(())
    })
}

#[test]
fn sizes_that_somebody_else_sets_meanwhile_are_kept() -> Result<()> {
    shared(async |world| {
        let (replaced, zero) = ("resized-replaced", "resized-zero");
        let old = [world.group(replaced, SIZES).await?, world.group(zero, SIZES).await?];
        world.create(replaced, json!({})).await?;
        world.create(zero, json!({"strategy": "ScaleToZero"})).await?;
        world.complain(replaced, &old[0][0]).await?;
        world.complain(zero, &old[1][0]).await?;
        world.at_step(replaced, "Replacing").await?;
        world.estate.resize_group(replaced, [1, 6, 3]).await?;
        poll::eventually(PATIENCE, "the group to be at zero", || async {
            let sizes = world.facts(zero).await?.sizes;
            ensure!(sizes == [0, 0, 0], "{sizes:?}");
            Ok(())
        })
        .await?;
        world.estate.resize_group(zero, [1, 5, 1]).await?;
        for (name, sizes, old) in [(replaced, [1, 6, 3], &old[0]), (zero, [1, 5, 1], &old[1])] {
            let past = world.ended(name).await?;
            assert_eq!(past.status.as_deref(), Some("Succeeded"), "{past:?}");
            world.is_renewed(name, sizes, old).await?;
        }
        Ok(())
    })
}

#[test]
fn a_budget_holds_and_the_recycle_says_so_and_puts_everything_back() -> Result<()> {
    shared(async |world| {
        let name = "budgeted";
        let old = world.group(name, [0, 2, 1]).await?;
        world.pod("guarded", &old[0]).await?;
        world.forbid_evictions("guarded").await?;
        world.create(name, json!({"drainTimeout": "6s"})).await?;
        world.complain(name, &old[0]).await?;
        let past = world.ended(name).await?;
        assert_eq!(past.status.as_deref(), Some("Failed"), "{past:?}");
        let why = past.message.unwrap_or_default();
        assert!(why.contains("could not be drained within 6s") && why.contains("guarded"), "{why}");
        world.is_as_it_was(name, [0, 2, 1], &old).await?;
        assert!(world.has_pod("guarded").await?);
        let node = world.until_node(&old[0]).await?;
        let cordoned = node.spec.and_then(|spec| spec.unschedulable).unwrap_or_default();
        let marked =
            node.metadata.annotations.unwrap_or_default().contains_key("machinist.dev/drain");
        assert!(!cordoned && !marked, "the node takes pods again");
        Ok(())
    })
}

#[test]
fn a_new_node_that_does_not_come_ends_the_recycle_in_time() -> Result<()> {
    shared(async |world| {
        let name = "lonely";
        let old = world.group(name, [0, 2, 1]).await?;
        world.create(name, json!({"recycleTimeout": "5s"})).await?;
        // From now on this group makes instances that are not of this cluster, so no Node comes.
        world.silence(name).await?;
        world.complain(name, &old[0]).await?;
        let past = world.ended(name).await?;
        assert_eq!(past.status.as_deref(), Some("Failed"), "{past:?}");
        let why = past.message.unwrap_or_default();
        assert!(why.contains("after 5s") && why.contains("not ready"), "{why}");
        let facts = world.facts(name).await?;
        assert!(facts.sizes == [0, 2, 1] && !facts.tags.contains_key(TAG), "{facts:?}");
        Ok(())
    })
}

#[test]
fn an_object_as_kaws_has_it_works() -> Result<()> {
    shared(async |world| {
        let name = "as-in-kaws";
        let old = world.group(name, [1, 4, 3]).await?;
        let kind = GroupVersionKind::gvk("kaws.pischarti.dev", "v1alpha1", "EventRecycler");
        let resource = ApiResource::from_gvk_with_plural(&kind, "eventrecyclers");
        let objects: Api<DynamicObject> = Api::all_with(world.client.clone(), &resource);
        let object = serde_json::from_value(json!({
            "apiVersion": "kaws.pischarti.dev/v1alpha1", "kind": "EventRecycler",
            "metadata": {"name": name},
            "spec": {
                "watchInterval": "60s", "searchTerms": [format!("sandbox image of {name}")],
                "threshold": 3, "awsRegion": world.estate.region(),
                "pollInterval": "250ms", "recycleTimeout": "20m",
            },
        }))?;
        objects.create(&PostParams::default(), &object).await?;
        for node in &old {
            world.complain_once(name, node).await?;
        }
        let past = world.ended(name).await?;
        assert_eq!((past.status.as_deref(), past.event_count), (Some("Succeeded"), Some(3)));
        world.is_renewed(name, [1, 4, 3], &old).await?;
        let seen = objects.get(name).await?;
        assert_eq!(seen.data["status"]["recycleHistory"][0]["nodeGroup"], json!(name));
        Ok(())
    })
}

#[test]
fn an_object_that_is_deleted_in_the_middle_puts_everything_back_even_in_a_dry_run() -> Result<()> {
    shared(async |world| {
        let name = "cancelled";
        let old = world.group(name, [0, 2, 1]).await?;
        world.pod("holdout", &old[0]).await?;
        world.forbid_evictions("holdout").await?;
        world.create(name, json!({})).await?;
        world.complain(name, &old[0]).await?;
        let is_cordoned = async || -> Result<bool> {
            let spec = world.until_node(&old[0]).await?.spec;
            Ok(spec.and_then(|spec| spec.unschedulable).unwrap_or_default())
        };
        poll::eventually(PATIENCE, "the node to be cordoned", || async {
            ensure!(is_cordoned().await?, "it is not");
            Ok(())
        })
        .await?;

        let kind = GroupVersionKind::gvk("kaws.pischarti.dev", "v1beta1", "EventRecycler");
        let resource = ApiResource::from_gvk_with_plural(&kind, "eventrecyclers");
        let objects: Api<DynamicObject> = Api::all_with(world.client.clone(), &resource);
        let pretend = Patch::Merge(json!({"spec": {"dryRun": true}}));
        objects.patch(name, &PatchParams::default(), &pretend).await?;
        let rests = |status: &EventRecyclerStatus| {
            let mut all = status.recycles.iter().flatten();
            all.any(|one| one.message.as_ref().is_some_and(|why| why.contains("dryRun")))
                .then_some(())
        };
        world.until(name, "the recycle to rest", rests).await?;
        assert!(is_cordoned().await?, "what was begun stays");

        objects.delete(name, &DeleteParams::default()).await?;
        poll::eventually(PATIENCE, "the object to be gone", || async {
            let left = objects.get_opt(name).await?;
            ensure!(left.is_none(), "{left:?}");
            Ok(())
        })
        .await?;
        world.is_as_it_was(name, [0, 2, 1], &old).await?;
        assert!(!is_cordoned().await? && world.has_pod("holdout").await?);
        Ok(())
    })
}
