//! From Events about pods to the group of their node: pods that are placed, that are not placed yet, and that are
//! gone; and Events that go on.

use anyhow::Result;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use machinist_api::event_recycler::EventRecyclerStatus;
use serde_json::{Value, json};

use super::world::{RecyclerWorld, shared};

const NAME: &str = "mapped";

#[test]
fn events_about_pods_count_for_their_node_as_often_as_they_happen() -> Result<()> {
    shared(async |world| {
        let nodes = world.group(NAME, [0, 2, 1]).await?;
        world.create(NAME, json!({"threshold": 1000, "trustEventHost": true})).await?;
        let counts = async |expected: i64| {
            let count = |status: &EventRecyclerStatus| {
                let count = *status.event_counts.as_ref()?.get(NAME)?;
                (count >= expected).then_some(count)
            };
            let count = world.until(NAME, &format!("{expected} events"), count).await?;
            assert_eq!(count, expected);
            anyhow::Ok(())
        };

        world.pod("placed", &nodes[0]).await?;
        let pods: Api<Pod> = Api::namespaced(world.client.clone(), "default");
        let uid = pods.get("placed").await?.metadata.uid;
        let placed = about_pod("placed", uid.as_deref());
        write(world, "mapped-placed", &placed, json!({"count": 2})).await?;
        counts(2).await?;

        // Its kubelet has reported it, and then the pod was replaced by another one of the same name.
        let gone = about_pod("placed", Some("another-uid"));
        let host = json!({"source": {"component": "kubelet", "host": nodes[0]}});
        write(world, "mapped-gone", &gone, host).await?;
        counts(3).await?;

        let late: Pod = serde_json::from_value(json!({
            "metadata": {"name": "late"},
            "spec": {
                "automountServiceAccountToken": false,
                "containers": [{"name": "c", "image": "i"}],
            },
        }))?;
        let uid = pods.create(&PostParams::default(), &late).await?.metadata.uid;
        write(world, "mapped-late", &about_pod("late", uid.as_deref()), json!({})).await?;
        // The watch of Pods may be later than that of Events: first the pod is unknown.
        let unscheduled = |status: &EventRecyclerStatus| {
            let example = status.unmapped.as_ref()?.example.as_deref()?;
            example.contains("not scheduled yet").then_some(())
        };
        world.until(NAME, "an event of a pod without a node", unscheduled).await?;
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "late"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": nodes[0]},
        });
        let _: Value =
            pods.create_subresource("binding", "late", &PostParams::default(), &binding).await?;
        counts(4).await?;
        let mapped = |status: &EventRecyclerStatus| status.unmapped.is_none().then_some(());
        world.until(NAME, "nothing to lead nowhere", mapped).await?;

        // The same Events happen again: as kubelets write them, and as the newer API does.
        let events: Api<Event> = Api::namespaced(world.client.clone(), "default");
        let now = now()?;
        for (name, more, expected) in [
            ("mapped-placed", json!({"count": 7, "lastTimestamp": now}), 9),
            ("mapped-gone", json!({"series": {"count": 3, "lastObservedTime": now}}), 11),
        ] {
            events.patch(name, &PatchParams::default(), &Patch::Merge(more)).await?;
            counts(expected).await?;
        }
        Ok(())
    })
}

fn about_pod(name: &str, uid: Option<&str>) -> Value {
    json!({"kind": "Pod", "apiVersion": "v1", "namespace": "default", "name": name, "uid": uid})
}

async fn write(world: &RecyclerWorld, name: &str, about: &Value, extra: Value) -> Result<()> {
    let now = now()?;
    let mut event = json!({
        "metadata": {"name": name, "namespace": "default"}, "involvedObject": about,
        "message": format!("sandbox image of {NAME}: rpc error"), "reason": "Failed", "type": "Warning",
        "count": 1, "firstTimestamp": now, "lastTimestamp": now, "source": {"component": "test"},
    });
    for (field, value) in extra.as_object().into_iter().flatten() {
        event[field] = value.clone();
    }
    let event: Event = serde_json::from_value(event)?;
    let events: Api<Event> = Api::namespaced(world.client.clone(), "default");
    events.create(&PostParams::default(), &event).await?;
    Ok(())
}

fn now() -> Result<String> {
    let now = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second())?;
    Ok(format!("{now:.6}"))
}
