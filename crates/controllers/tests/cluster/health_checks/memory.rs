//! Remediation with memory.

use machinist_testbed::openshift::FeatureSet;

use super::*;

/// The count is on the health check, so a new process knows it.
#[tokio::test(flavor = "multi_thread")]
async fn a_successor_inherits_retries_also_in_a_new_process() -> Result<()> {
    for served in [Served::Ours, Served::Stock(FeatureSet::Default)] {
        let world = start("retries", served).await?;
        let set = world.create_set(json!({})).await?;
        world.create_one("m-0", &set).await?;
        world.report("m-0", "Ready", "False", LONG).await?;
        let limit = json!({"annotations": {"machinist.dev/max-retries": "1"}});
        world.create_check(CHECK, limit, json!({})).await?;
        let process = world.run()?;
        world.until_left(0).await?;
        process.kill().await?;

        let process = world.run()?;
        world.create_one("m-2", &set).await?;
        world.report("m-2", "Ready", "False", LONG).await?;
        for object in [CHECK, "m-2", SET] {
            let note = world.until_event(object, "RetryLimitReached").await?;
            assert!(note.contains("1 Machines were replaced in its place"), "{note}");
        }
        assert_eq!(world.alive_machines().await?, ["m-2"]);
        process.kill().await?;
    }
    Ok(())
}
