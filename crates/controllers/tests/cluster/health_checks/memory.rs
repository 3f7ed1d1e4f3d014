//! Remediation with memory.

use machinist_testbed::openshift::FeatureSet;

use super::*;

/// The count is on the health check, so a new process knows it.
#[tokio::test(flavor = "multi_thread")]
async fn a_successor_inherits_retries_also_in_a_new_process() -> Result<()> {
    for served in [Served::Ours, Served::Stock(FeatureSet::Default)] {
        let world = start("retries", served).await?;
        let set = world.create_set(json!({})).await?;
        for name in ["m-0", "m-1"] {
            world.create_one(name, &set).await?;
        }
        world.report("m-0", "Ready", "False", LONG).await?;
        let limit = json!({"annotations": {"machinist.dev/max-retries": "1"}});
        world.create_check(CHECK, limit, json!({})).await?;
        let process = world.run()?;
        assert_eq!(world.until_left(1).await?, ["m-1"]);
        process.kill().await?;

        let process = world.run()?;
        world.create_one("m-2", &set).await?;
        world.report("m-2", "Ready", "False", LONG).await?;
        for object in [CHECK, "m-2", SET] {
            let note = world.until_event(object, "RetryLimitReached").await?;
            assert!(note.contains("1 Machines were replaced in its place"), "{note}");
        }
        // Another one is of no place that was replaced.
        world.report("m-1", "Ready", "False", LONG).await?;
        assert_eq!(world.until_left(1).await?, ["m-2"]);
        process.kill().await?;
    }
    Ok(())
}
