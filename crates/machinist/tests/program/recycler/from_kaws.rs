//! A cluster in which kaws has run: its definition, its objects, their status. Our definition is applied over it as
//! the docs say, and then the recycler goes on with what is there.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use machinist_testbed::kubectl::kubectl;
use machinist_testbed::poll;
use serde_json::{Value, json};

use super::world::{PATIENCE, RecyclerWorld, bare};

const GROUP: &str = "kaws.pischarti.dev";
const DEFINITION: &str = "eventrecyclers.kaws.pischarti.dev";
const NAMES: [&str; 5] = ["usual", "workers", "no-duration", "no-term", "no-spec"];

#[test]
fn what_kaws_leaves_behind_is_kept_served_under_both_versions_and_gone_on_with() -> Result<()> {
    bare(async |world| {
        let definition = kaws_definition().to_string();
        kubectl(&world.control_plane, &["apply", "-f", "-"], Some(&definition)).await?;
        fill(world).await?;
        let before = read(world, "v1alpha1").await?;
        assert_eq!(before[0]["spec"]["watchInterval"], "60s", "kaws's defaults hold");

        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
        let folder = folder.to_string_lossy();
        kubectl(&world.control_plane, &["apply", "-k", &folder], None).await?;
        let after = poll::eventually(PATIENCE, "v1beta1", || read(world, "v1beta1")).await?;
        assert_eq!(after, before);
        assert_eq!(read(world, "v1alpha1").await?, before);
        let definitions: Api<CustomResourceDefinition> = Api::all(world.client.clone());
        let stored = definitions.get(DEFINITION).await?.status.and_then(|it| it.stored_versions);
        let stored = stored.context("the versions that are stored")?;
        assert!(stored.iter().any(|version| version == "v1alpha1"), "{stored:?}");

        let name = "workers";
        let old = world.group(name, [1, 4, 3]).await?;
        let _recycler = world.recycler(&[])?;
        // Its threshold is three, of nodes.
        for node in &old {
            world.complain_once(name, node).await?;
        }
        let past = world.ended(name).await?;
        assert_eq!(past.status.as_deref(), Some("Succeeded"), "{past:?}");
        world.is_renewed(name, [1, 4, 3], &old).await?;
        let history = world.status(name).await?.recycle_history.unwrap_or_default();
        assert_eq!(history.len(), 2, "{history:?}");
        assert_eq!(json!(history[0]), kaws_status()["recycleHistory"][0]);

        for (name, ready) in NAMES.into_iter().zip(["True", "True", "False", "False", "False"]) {
            let objects = objects(world, "v1beta1");
            poll::eventually(PATIENCE, &format!("{name}: Ready={ready}"), || async {
                let status = &objects.get(name).await?.data["status"];
                ensure!(has_ready(status, ready), "{status}");
                // What the one wrote stays when the other writes.
                let first = &status["recycleHistory"][0];
                ensure!(*first == kaws_status()["recycleHistory"][0], "{status}");
                Ok(())
            })
            .await?;
        }
        // Clients of the old version see the change, too.
        let seen = objects(world, "v1alpha1").get(name).await?;
        assert_eq!(seen.data["status"]["recycleHistory"][1]["nodeGroup"], json!(name));
        Ok(())
    })
}

/// What kaws's users have: what its README shows, everything that there is, and what its schema lets pass.
async fn fill(world: &RecyclerWorld) -> Result<()> {
    let region = world.estate.region();
    let specs = [
        json!({"searchTerms": ["failed to get sandbox image"]}),
        json!({
            "watchInterval": "60s", "searchTerms": ["sandbox image of workers"], "threshold": 3,
            "dryRun": false, "awsRegion": region, "pollInterval": "1s", "recycleTimeout": "20m",
        }),
        json!({"searchTerms": ["x"], "watchInterval": "abc"}),
        json!({"searchTerms": [""]}),
        Value::Null,
    ];
    let objects = objects(world, "v1alpha1");
    for (name, spec) in NAMES.into_iter().zip(specs) {
        let mut object = json!({
            "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "EventRecycler",
            "metadata": {"name": name},
        });
        if spec.is_object() {
            object["spec"] = spec;
        }
        let object = serde_json::from_value(object)?;
        // A definition can be established a moment before its kind is served.
        poll::eventually(PATIENCE, name, || async {
            objects.create(&PostParams::default(), &object).await.context("it is not taken")
        })
        .await?;
        let status = Patch::Merge(json!({"status": kaws_status()}));
        objects.patch_status(name, &PatchParams::default(), &status).await?;
    }
    Ok(())
}

fn kaws_status() -> Value {
    json!({
        "lastCheckTime": "2026-11-01T10:00:00Z", "activeRecycles": [],
        "recycleHistory": [{
            "nodeGroup": "former", "timestamp": "2026-11-01T09:00:00Z", "eventCount": 7,
            "status": "Completed",
        }],
        "eventCounts": {"former": 2},
    })
}

/// All objects, without what the API server changes by itself.
async fn read(world: &RecyclerWorld, version: &str) -> Result<Vec<Value>> {
    let objects = objects(world, version);
    let mut found = Vec::new();
    for name in NAMES {
        let object = objects.get(name).await?;
        ensure!(object.metadata.uid.is_some(), "{name} has no uid");
        found.push(json!({
            "uid": object.metadata.uid, "spec": object.data["spec"], "status": object.data["status"],
        }));
    }
    Ok(found)
}

fn objects(world: &RecyclerWorld, version: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(GROUP, version, "EventRecycler");
    let resource = ApiResource::from_gvk_with_plural(&kind, "eventrecyclers");
    Api::all_with(world.client.clone(), &resource)
}

fn has_ready(status: &Value, ready: &str) -> bool {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| one["type"] == "Ready" && one["status"] == ready)
}

/// kaws's definition as far as it means anything: names, fields, defaults.
fn kaws_definition() -> Value {
    let text = |default: &str| json!({"type": "string", "default": default});
    let time = json!({"type": "string", "format": "date-time"});
    let spec = json!({
        "type": "object", "required": ["searchTerms"],
        "properties": {
            "watchInterval": text("60s"), "pollInterval": text("15s"), "recycleTimeout": text("20m"),
            "searchTerms": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            "threshold": {"type": "integer", "minimum": 1, "default": 5},
            "dryRun": {"type": "boolean", "default": false},
            "awsRegion": {"type": "string"},
        },
    });
    let status = json!({
        "type": "object",
        "properties": {
            "lastCheckTime": time,
            "activeRecycles": {"type": "array", "items": {"type": "string"}},
            "recycleHistory": {"type": "array", "items": {"type": "object", "properties": {
                "nodeGroup": {"type": "string"}, "timestamp": time,
                "eventCount": {"type": "integer"}, "status": {"type": "string"},
            }}},
            "eventCounts": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
    });
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": DEFINITION},
        "spec": {
            "group": GROUP, "scope": "Cluster",
            "names": {
                "kind": "EventRecycler", "listKind": "EventRecyclerList",
                "plural": "eventrecyclers", "singular": "eventrecycler", "shortNames": ["er"],
            },
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}},
            }],
        },
    })
}
