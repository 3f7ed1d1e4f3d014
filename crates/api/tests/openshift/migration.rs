//! Changes of a status that OpenShift refuses while authority moves between its two machine APIs are refused by ours too.

use anyhow::Result;
use machinist_control_plane::FeatureSet;
use serde_json::{Value, json};

use crate::server::{KINDS, Server, Verdict, Whose};

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
        (json!({"authoritativeAPI": "Somebody", "synchronizedGeneration": 1}), false),
        (json!({"authoritativeAPI": "ClusterAPI", "synchronizedGeneration": -1}), false),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn authority_moves_step_by_step_or_not_at_all() -> Result<()> {
    let server = Server::get().await?;
    for kind in KINDS {
        for whose in [Whose::OpenShifts(FeatureSet::CustomNoUpgrade), Whose::Ours] {
            let created = server.create(whose, kind, ("migration", ""), Some(&json!({}))).await?;
            let mut object = created.object()?;
            for (status, taken) in steps() {
                let verdict = server.set_status(whose, kind, &object, &status).await?;
                assert_eq!(
                    verdict.is_accepted(),
                    taken,
                    "{whose:?} {kind:?} {status}: {verdict:?}"
                );
                if let Verdict::Accepted(stored) = verdict {
                    object = stored;
                }
            }
        }
    }
    Ok(())
}
