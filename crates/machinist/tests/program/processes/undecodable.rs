//! Objects that cannot be decoded are not absent: they are counted, shown and left alone, and they hide nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use machinist_control_plane::ControlPlane;
use machinist_testbed::poll;
use serde_json::{Value, json};

use crate::processes::support::replica::Replica;
use crate::processes::support::time::PATIENCE;
use crate::processes::support::world::{AnnotatorWorld, LARGE, SMALL};

const UNDECODABLE: &str = r#"machinist_cache_undecodable_objects{kind="MachineSet"}"#;

/// The definition of MachineSets with a schema that takes anything, as an old or careless one might.
fn open_definition() -> Result<String> {
    let mut crd = serde_json::to_value(&machinist_api::crds()[0])?;
    let version = &mut crd["spec"]["versions"][0];
    let anything = json!({"x-kubernetes-preserve-unknown-fields": true});
    version["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "properties": {"spec": anything, "status": anything}});
    if let Some(version) = version.as_object_mut() {
        version.remove("subresources");
        version.remove("additionalPrinterColumns");
    }
    Ok(crd.to_string())
}

/// Specs that no lenient type can read.
fn bad_specs() -> [Value; 4] {
    [
        json!({"template": "a string"}),
        json!({"template": {"spec": [1, 2, 3]}}),
        json!({"template": {"spec": {"providerSpec": 7}}}),
        json!("not even an object"),
    ]
}

/// Names of the sets with an Event about it.
async fn complained_about(world: &AnnotatorWorld) -> Result<BTreeSet<String>> {
    let events = Api::<Event>::namespaced(world.client.clone(), &world.namespace);
    let events = events.list(&ListParams::default()).await?.items;
    let complaints = events.into_iter().filter(|event| {
        event.note.as_deref().is_some_and(|note| note.contains("cannot be decoded"))
    });
    Ok(complaints.filter_map(|event| event.regarding?.name).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_undecodable_objects_is_shown_and_hides_nothing() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    control_plane.install_crds(&open_definition()?).await?;
    let world = AnnotatorWorld::on(&control_plane, "undecodable").await?;
    // One is there before the first list, the others come through the watch.
    world.create_machine_set("bad-early", json!({}), bad_specs()[0].clone()).await?;
    let mut replica = Replica::start(&world, &["--sync-period", "2s"]).await?;
    let mut bad = BTreeSet::from(["bad-early".to_owned()]);
    for round in 0..5 {
        for (n, spec) in bad_specs().into_iter().enumerate() {
            let name = format!("bad-{round}-{n}");
            world.create_machine_set(&name, json!({}), spec).await?;
            bad.insert(name);
        }
        world.create_set(&format!("good-{round}"), SMALL).await?;
    }
    for round in 0..5 {
        world.annotated(&format!("good-{round}"), SMALL).await?;
    }
    replica.process.wait_metric(UNDECODABLE, |value| (value - 21.0).abs() < 0.5).await?;
    let (code, details) = replica.process.readyz().await?;
    assert_eq!(code, 200, "{details}");
    assert!(details.contains("has 26 objects, 21 of which cannot be decoded"), "{details}");
    poll::eventually(PATIENCE, "an Event about each", || async {
        let reported = complained_about(&world).await?;
        ensure!(reported == bad, "{} of {}", reported.len(), bad.len());
        Ok(())
    })
    .await?;
    assert_eq!(replica.patches().len(), 5, "bad ones are never written:\n{}", replica.proxy.log());

    // One that could be read and now cannot keeps what it has, and one that is repaired is annotated.
    let broken = json!({"spec": {"template": "broken"}});
    let merge = kube::api::Patch::Merge(&broken);
    world.sets().patch("good-0", &kube::api::PatchParams::default(), &merge).await?;
    replica.process.wait_metric(UNDECODABLE, |value| (value - 22.0).abs() < 0.5).await?;
    assert_eq!(world.vcpus("good-0").await?.as_deref(), Some(SMALL.vcpus));
    for name in ["bad-early", "bad-1-2", "good-0"] {
        world.change_set(name, LARGE).await?;
        world.annotated(name, LARGE).await?;
    }
    replica.process.wait_metric(UNDECODABLE, |value| (value - 19.0).abs() < 0.5).await?;
    assert!(replica.effects_since(Duration::ZERO).len() >= 8);
    replica.process.ensure_alive()
}
