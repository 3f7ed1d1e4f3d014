//! Changes of a status that OpenShift refuses while authority moves between its two machine APIs are refused by ours
//! too.

use anyhow::Result;
use machinist_control_plane::{ControlPlane, KubernetesVersion, Options};
use machinist_testbed::openshift::FeatureSet;
use serde_json::{Value, json};

use crate::openshift::server::{Answer, KINDS, Server, Whose, install};

/// One status after the other, and whether the API server takes it after those before.
fn steps() -> [(Value, bool); 10] {
    [
        (json!({"authoritativeAPI": "MachineAPI", "synchronizedGeneration": 5}), true),
        (json!({"authoritativeAPI": "ClusterAPI", "synchronizedGeneration": 5}), false),
        (json!({"synchronizedGeneration": 5}), false),
        (json!({"authoritativeAPI": "MachineAPI", "synchronizedGeneration": 4}), false),
        (json!({"authoritativeAPI": "MachineAPI"}), false),
        (json!({"authoritativeAPI": "MachineAPI", "synchronizedGeneration": 6}), true),
        (json!({"authoritativeAPI": "Migrating", "synchronizedGeneration": 6}), true),
        (json!({"authoritativeAPI": "ClusterAPI", "synchronizedGeneration": 1}), true),
        (json!({"authoritativeAPI": "Other", "synchronizedGeneration": 1}), false),
        (json!({"authoritativeAPI": "ClusterAPI", "synchronizedGeneration": -1}), false),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn authority_moves_step_by_step_or_not_at_all() -> Result<()> {
    let server = Server::get().await?;
    for whose in [Whose::OpenShifts(FeatureSet::CustomNoUpgrade), Whose::Ours] {
        step_by_step(&server, whose).await?;
    }
    Ok(())
}

/// The rules are written in a language that grows from version to version of Kubernetes.
#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_kubernetes_that_we_support_understands_our_definitions() -> Result<()> {
    let version = KubernetesVersion::ALL[0];
    let control_plane =
        ControlPlane::start_with(Options { version: Some(version), ..Options::default() }).await?;
    install(&control_plane, &[Whose::Ours]).await?;
    step_by_step(&Server::of(&control_plane, &[Whose::Ours]).await?, Whose::Ours).await
}

async fn step_by_step(server: &Server, whose: Whose) -> Result<()> {
    for kind in KINDS {
        let created = server.create(whose, kind, ("migration", ""), Some(&json!({}))).await?;
        let mut object = created.object()?;
        for (status, taken) in steps() {
            let answer = server.set_status(whose, kind, &object, &status).await?;
            assert_eq!(answer.is_accepted(), taken, "{whose:?} {kind:?} {status}: {answer:?}");
            if let Answer::Accepted(stored) = answer {
                object = stored;
            }
        }
    }
    Ok(())
}
