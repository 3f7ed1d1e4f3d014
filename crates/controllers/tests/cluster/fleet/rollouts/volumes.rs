//! Rolling updates of Nodes with volumes that can be attached to one Node at a time.

use anyhow::Result;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use machinist_testbed::world::reading::{message, node_of};
use serde_json::json;

use super::{WEB, create, edit, until_complete};
use crate::definitions::Served;
use crate::drain;
use crate::fleet::fixture::Fleet;

/// With no Machine to spare, the new Machines come first, and the volumes of the old ones stay attached until the
/// cloud takes their instances away.
#[tokio::test(flavor = "multi_thread")]
async fn volumes_that_are_never_detached_do_not_stop_a_roll() -> Result<()> {
    let fleet = Fleet::on(drain::control_plane().await, "volumes", Served::Ours).await?;
    let fleet = fleet.and_deployments();
    let process = fleet.run()?;
    create(&fleet, 2, json!({"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}))
        .await?;
    let before = until_complete(&fleet, 2).await?;
    let attachments = Api::<VolumeAttachment>::all(fleet.client.clone());
    let mut attached = Vec::new();
    for machine in fleet.all_machines().await? {
        let node = node_of(&machine);
        let name = format!("volume-of-{node}");
        let attachment: VolumeAttachment = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"attacher": "test.machinist.dev", "nodeName": node, "source": {"persistentVolumeName": name}},
        }))?;
        attachments.create(&PostParams::default(), &attachment).await?;
        attached.push(name);
    }
    edit(&fleet, "sim.medium").await?;
    let said = |web: &DynamicObject| message(web, "Progressing").contains("is being drained, see");
    fleet.until_deployment(WEB, "the Machine that is waited for", said).await?;
    let after = until_complete(&fleet, 2).await?;
    assert!(before.is_disjoint(&after), "{before:?} {after:?}");
    for machine in &before {
        let note = fleet.until_event(machine, "DrainForced").await?;
        assert!(note.contains("volume-of-"), "{note}");
    }
    for name in attached {
        attachments.delete(&name, &DeleteParams::default()).await?;
    }
    process.kill().await
}
