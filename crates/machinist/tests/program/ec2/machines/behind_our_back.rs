//! An instance is stopped or terminated in EC2. Its Node does not change (kubelets here have no heartbeats), so the
//! resync notices.

use anyhow::{Result, ensure};
use kube::ResourceExt;
use machinist_testbed::poll;
use machinist_testbed::world::reading::{condition, condition_of, message, phase};
use serde_json::json;

use super::fleet::Fleet;
use crate::ec2::support::{PATIENCE, stays};

const STATE: &str = "machine.openshift.io/instance-state";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_that_somebody_stops_and_then_terminates() {
    let fleet = Fleet::new("behind").await.unwrap();
    let _controllers = fleet.controllers(&["--sync-period=2s"]).await.unwrap();
    fleet.create_set(1, &fleet.spec(&json!({}))).await.unwrap();
    let id = fleet.settled(1).await.unwrap().remove(0).id;
    let before = fleet.changes().len();

    fleet.estate.stop(&id).await.unwrap();
    poll::eventually(PATIENCE, "the machine to say that it is stopped", || async {
        let machine = fleet.only_machine().await?;
        let (ready, words) = (condition(&machine, "Ready"), message(&machine, "Ready"));
        ensure!(ready == "False/InstanceStopped", "{ready}");
        ensure!(words.contains("Client.UserInitiatedShutdown"), "EC2's own words: {words}");
        let state = &machine.data["status"]["providerStatus"]["instanceState"];
        ensure!(state == "stopped", "{state}");
        let state = machine.annotations().get(STATE).map(String::as_str);
        ensure!(state == Some("stopped"), "{state:?}");
        // It exists, and is neither replaced nor started: that is left to the user who stopped it.
        let exists = condition_of(&machine, "InstanceExists");
        let phase = phase(&machine);
        ensure!(exists["status"] == "True" && phase == "Running", "{exists} {phase}");
        Ok(())
    })
    .await
    .unwrap();
    stays("nothing to be done about it", async || unchanged(&fleet, before)).await.unwrap();

    fleet.estate.terminate(&id).await.unwrap();
    poll::eventually(PATIENCE, "the machine to fail", || async {
        let machine = fleet.only_machine().await?;
        let status = &machine.data["status"];
        ensure!(status["phase"] == "Failed", "{}", status["phase"]);
        let message = status["errorMessage"].as_str().unwrap_or_default();
        ensure!(message.contains("Client.UserInitiatedShutdown"), "EC2's own words: {message}");
        let exists = condition(&machine, "InstanceExists");
        ensure!(exists == "False/InstanceMissing", "{exists}");
        Ok(())
    })
    .await
    .unwrap();
    stays("nothing to be made instead", async || unchanged(&fleet, before)).await.unwrap();
}

/// Nothing was changed in EC2 since so many changes.
fn unchanged(fleet: &Fleet, before: usize) -> Result<()> {
    let changes = fleet.changes();
    ensure!(changes.len() == before, "{:?}", &changes[before..]);
    Ok(())
}
