//! "Create, change and delete five MachineSets", as a user would, waiting after each step for the annotator to do its
//! part.

use anyhow::Result;
use kube::Api;
use kube::api::PostParams;
use machinist_api::machine_set::MachineSet;
use machinist_testbed::World;
use machinist_testbed::crash::Scenario;
use serde_json::{Value, json};

use crate::sets;

/// In no source of instance types.
const UNKNOWN: &str = "x9.mega";

/// Name, first instance type, second one.
const SETS: [(&str, &str, &str); 5] = [
    ("a", "m6i.large", "m6i.xlarge"),
    ("b", "m6g.large", "c7g.large"),
    ("c", "p4d.24xlarge", "g5.xlarge"),
    ("d", UNKNOWN, "m6i.large"),
    ("e", "m5.large", "m5.4xlarge"),
];

pub(crate) struct FiveMachineSets;

impl Scenario for FiveMachineSets {
    fn name(&self) -> &'static str {
        "five-machine-sets"
    }

    async fn run(&self, world: &World) -> Result<()> {
        let api: Api<MachineSet> = world.api();
        for (name, first, _) in SETS {
            let spec = json!({"kind": "AWSMachineProviderConfig", "instanceType": first});
            api.create(&PostParams::default(), &sets::machine_set(name, &spec)?).await?;
        }
        for (name, first, _) in SETS {
            match first {
                UNKNOWN => sets::is_refused(world, name, "FailedUpdate").await?,
                _ => sets::until_annotated(world, name, first).await?,
            }
        }
        for (name, _, second) in SETS {
            sets::change_type(&api, name, second).await?;
        }
        for (name, _, second) in SETS {
            sets::until_annotated(world, name, second).await?;
        }
        sets::delete(world, SETS.map(|(name, ..)| name)).await
    }

    async fn end_state(&self, world: &World) -> Result<Value> {
        sets::end_state(world).await
    }
}
