//! What people can do who may create Events in one namespace and nothing else.

use std::path::Path;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::Api;
use kube::api::PostParams;
use machinist_api::event_recycler::EventRecyclerStatus;
use machinist_testbed::kubectl::kubectl;
use machinist_testbed::poll;
use serde_json::{Value, json};

use super::world::{PATIENCE, RecyclerWorld, alone, shared, term};

const NAME: &str = "forged";

#[test]
fn events_of_one_namespace_count_for_the_nodes_of_its_pods_and_once() -> Result<()> {
    shared(async |world| {
        let nodes = world.group(NAME, [0, 4, 2]).await?;
        world.create(NAME, json!({"threshold": 2, "countBy": null})).await?;
        // Pods that do not exist, and Nodes, which are in no namespace.
        for node in &nodes {
            let invented = json!({"kind": "Pod", "name": format!("no-{node}"), "uid": "x"});
            forge(world, &invented, node).await?;
            forge(world, &json!({"kind": "Node", "name": node}), node).await?;
        }
        // A pod that exists, with Events without end, of which one names the host of others.
        let pods: Api<Pod> = world.api();
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "mine"},
            "spec": {
                "nodeName": nodes[0], "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}],
            },
        }))?;
        let uid = pods.create(&PostParams::default(), &pod).await?.metadata.uid;
        for node in &nodes {
            forge(world, &json!({"kind": "Pod", "name": "mine", "uid": uid}), node).await?;
        }
        let counted =
            |status: &EventRecyclerStatus| status.event_counts.as_ref()?.get(NAME).copied();
        assert_eq!(world.until(NAME, "the pod's own node", counted).await?, 1);
        let unmapped = |status: &EventRecyclerStatus| {
            let unmapped = status.unmapped.clone()?;
            (unmapped.count == 2).then_some(unmapped.example.unwrap_or_default())
        };
        let example = world.until(NAME, "two pods that do not exist", unmapped).await?;
        assert!(example.contains("spec.trustEventHost"), "{example}");
        let status = world.status(NAME).await?;
        assert!(status.recycles.is_none() && status.recycle_history.is_none(), "{status:?}");

        // What the other node really reports counts.
        world.complain_once(NAME, &nodes[1]).await?;
        let past = world.ended(NAME).await?;
        assert_eq!((past.status.as_deref(), past.event_count), (Some("Succeeded"), Some(2)));
        Ok(())
    })
}

/// An Event of the namespace that claims everything that can be claimed.
async fn forge(world: &RecyclerWorld, about: &Value, host: &str) -> Result<()> {
    let now = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second())?.to_string();
    let mut event = json!({
        "metadata": {"generateName": "forged-"}, "involvedObject": about,
        "message": format!("{}: rpc error", term(NAME)), "reason": "Failed", "type": "Warning",
        "count": 1_000_000, "firstTimestamp": now, "lastTimestamp": now,
        "source": {"component": "kubelet", "host": host},
        "reportingComponent": "kubelet", "reportingInstance": host,
    });
    event["involvedObject"]["namespace"] = json!(world.namespace);
    let event: Event = serde_json::from_value(event)?;
    let events: Api<Event> = world.api();
    events.create(&PostParams::default(), &event).await?;
    Ok(())
}

/// With `deploy/recycler/event-policy`, `match.reporters: [kubelet]` is an identity.
#[test]
fn only_a_kubelet_may_report_as_one_where_the_policy_is_installed() -> Result<()> {
    alone(async |world| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/recycler");
        let folder = folder.join("event-policy");
        let rights = json!({"apiVersion": "v1", "kind": "List", "items": [
            {
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": "events"},
                "rules": [{
                    "apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create"],
                }],
            },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": {"name": "events"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "events",
                },
                "subjects": [{
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "Group",
                    "name": "system:authenticated",
                }],
            },
        ]});
        let control_plane = &world.control_plane;
        kubectl(control_plane, &["apply", "-f", "-"], Some(&rights.to_string())).await?;
        let create = async |user: &str, event: Value| {
            let arguments = ["create", "--as", user, "-f", "-", "-o", "name"];
            kubectl(control_plane, &arguments, Some(&event.to_string())).await
        };
        create("jane", core("kubelet", "n1")).await?;
        kubectl(control_plane, &["apply", "-k", &folder.to_string_lossy()], None).await?;
        let refused = async |user: &str, event: Value| {
            let error = create(user, event).await.err().map(|error| error.to_string());
            let error = error.unwrap_or_else(|| "accepted".to_owned());
            ensure!(error.contains("may not report as the kubelet of"), "{error}");
            anyhow::Ok(())
        };
        poll::eventually(PATIENCE, "the policy to hold", || refused("jane", core("kubelet", "n1")))
            .await?;
        refused("system:node:n2", core("kubelet", "n1")).await?;
        refused("jane", new("kubelet", "n1")).await?;
        refused("system:node:n2", new("kubelet", "n1")).await?;
        create("system:node:n1", core("kubelet", "n1")).await?;
        create("system:node:n1", new("kubelet", "n1")).await?;
        create("jane", core("my-controller", "n1")).await?;
        create("jane", new("example.com/my-controller", "n1")).await?;
        Ok(())
    })
}

/// An Event as old kubelets write it.
fn core(component: &str, host: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"generateName": "e-", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": host}, "reason": "R", "message": "m",
        "type": "Warning", "source": {"component": component, "host": host},
    })
}

/// The same in the newer API.
fn new(controller: &str, instance: &str) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"generateName": "e-", "namespace": "default"},
        "regarding": {"kind": "Node", "name": instance}, "reason": "R", "note": "m",
        "type": "Warning", "action": "A", "eventTime": "2026-11-16T01:00:00.000000Z",
        "reportingController": controller, "reportingInstance": instance,
    })
}
