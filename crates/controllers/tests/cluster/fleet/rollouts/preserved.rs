use machinist_testbed::world::reading::condition_of;

use super::*;

/// An available Machine is kept, and so does not replace another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_completes_beside_a_machine_that_is_kept() -> Result<()> {
    let fleet = Fleet::with_deployments("roll-beside").await?;
    let process = fleet.run()?;
    create(&fleet, 2, json!({})).await?;
    let before = until_complete(&fleet, 2).await?;
    let kept = before.first().unwrap();
    let preserve =
        |value: &str| json!({"metadata": {"annotations": {"machinist.dev/preserve": value}}});
    fleet.patch_machine(kept, preserve("now")).await?;
    fleet
        .until_machine(kept, "it is kept", |one| condition(one, "Preserved") == "True/Requested")
        .await?;
    edit(&fleet, "sim.medium").await?;
    let web = fleet
        .until_deployment(WEB, "the rollout to complete", |web| {
            let status = &web.data["status"];
            status["observedGeneration"].as_i64() == web.metadata.generation
                && condition(web, "Progressing") == "True/NewMachineSetAvailable"
                && message(web, "Progressing").starts_with("Revision 2")
        })
        .await?;
    let text = message(&web, "Progressing");
    assert!(text.contains(&format!("kept for debugging: {kept} (until ")), "{text}");
    let counts = ["replicas", "updatedReplicas", "availableReplicas", "preservedReplicas"];
    assert_eq!(counts.map(|name| web.data["status"][name].as_u64()), [2, 2, 2, 1].map(Some));
    let machines = fleet.all_machines().await?;
    let names: Vec<_> = machines.iter().map(ResourceExt::name_any).collect();
    assert!(machines.len() == 3 && names.contains(kept), "{names:?}");
    stays_idle(&fleet).await?;

    fleet.patch_machine(kept, preserve("false")).await?;
    let after = until_complete(&fleet, 2).await?;
    assert!(!after.contains(kept));
    let none = |web: &DynamicObject| web.data["status"]["preservedReplicas"] == 0;
    let web = fleet.until_deployment(WEB, "nothing to be kept", none).await?;
    assert!(!condition_of(&web, "Progressing").to_string().contains("debugging"));
    process.kill().await
}

/// The first one is kept by the deployment; it replaces no old one, and the second one stops the rollout.
#[tokio::test(flavor = "multi_thread")]
async fn new_machines_that_fail_and_are_kept_replace_no_old_one() -> Result<()> {
    let fleet = Fleet::with_deployments("roll-auto").await?;
    let process = fleet.run()?;
    create(&fleet, 2, json!({"autoPreserveFailedMachineMax": 1})).await?;
    let before = until_complete(&fleet, 2).await?;
    // The provider refuses it.
    let broken = json!({"instanceType": "sim.broken", "bootSeconds": "soon"});
    let broken = json!({"spec": {"providerSpec": {"value": broken}}});
    fleet.patch_deployment(WEB, json!({"spec": {"template": broken}})).await?;
    let names = || async {
        let machines = fleet.all_machines().await?;
        let is_kept = |one: &&DynamicObject| {
            one.annotations().get("machinist.dev/preserve").is_some_and(|value| value == "auto")
        };
        let kept: Vec<_> = machines.iter().filter(is_kept).map(ResourceExt::name_any).collect();
        let all: Vec<_> = machines.iter().map(ResourceExt::name_any).collect();
        let old = all.iter().filter(|name| before.contains(*name)).count();
        ensure!(all.len() == 4 && kept.len() == 1 && old == 2, "{all:?}, kept: {kept:?}");
        Ok(kept)
    };
    let kept = fleet.eventually("one of two failed Machines to be kept", names).await?;
    holds_for(Duration::from_secs(1), "no old Machine goes", || async { names().await.map(drop) })
        .await?;

    edit(&fleet, "sim.small").await?;
    fleet
        .until_deployment(WEB, "the rollback beside the one that is kept", |web| {
            let status = &web.data["status"];
            status["observedGeneration"].as_i64() == web.metadata.generation
                && condition(web, "Progressing") == "True/NewMachineSetAvailable"
                && message(web, "Progressing").contains(&format!("kept for debugging: {}", kept[0]))
                && status["preservedReplicas"] == 1
                && status["availableReplicas"] == 2
        })
        .await?;
    fleet
        .patch_machine(
            &kept[0],
            json!({"metadata": {"annotations": {"machinist.dev/preserve": "false"}}}),
        )
        .await?;
    assert_eq!(until_complete(&fleet, 2).await?, before);
    process.kill().await
}
