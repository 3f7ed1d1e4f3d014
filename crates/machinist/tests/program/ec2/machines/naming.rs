//! Tags have the cluster's name, so nothing is created before OpenShift's Infrastructure was read.

use anyhow::ensure;
use machinist_testbed::poll;
use machinist_testbed::world::reading::message;
use serde_json::json;

use super::fleet::Fleet;
use crate::ec2::support::{PATIENCE, stays};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_made_before_openshift_says_what_the_cluster_is_called() {
    let fleet = Fleet::new("nameless").await.unwrap();
    fleet.set_infrastructure(json!({"infrastructureName": null})).await.unwrap();
    let _controllers = fleet.controllers(&[]).await.unwrap();
    fleet.create_set(1, &fleet.spec(&json!({}))).await.unwrap();
    poll::eventually(PATIENCE, "the machine to say what it waits for", || async {
        let machine = fleet.only_machine().await?;
        let messages = ["Ready", "InstanceExists"].map(|kind| message(&machine, kind).to_owned());
        ensure!(
            messages.iter().any(|message| message.contains("status.infrastructureName")),
            "{messages:?}"
        );
        Ok(())
    })
    .await
    .unwrap();
    let nothing = async || {
        ensure!(fleet.cloud.front().calls().is_empty(), "{:?}", fleet.cloud.front().calls());
        Ok(())
    };
    stays("nothing to be asked of EC2", nothing).await.unwrap();

    fleet.set_infrastructure(json!({"infrastructureName": fleet.estate.name()})).await.unwrap();
    // Those that are counted are those with the tag of this name.
    let instances = fleet.settled(1).await.unwrap();
    let tag = instances[0].tags.get("machinist.dev/cluster").map(String::as_str);
    assert_eq!(tag, Some(fleet.estate.name()));
}
