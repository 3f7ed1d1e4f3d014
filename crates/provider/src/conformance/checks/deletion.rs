use crate::cloud::ObservedInstance;
use crate::conformance::Fault;
use crate::conformance::scene::{Checked, Scene, ensure, expect, expect_error};

pub(super) async fn deleting_takes_everything_and_may_be_repeated(scene: &Scene<'_>) -> Checked {
    let machine = scene.created().await?;
    scene.running(&machine).await?;
    scene.delete(&machine).await?;
    if let ObservedInstance::Present(instance) = scene.observe(&machine).await {
        let state = instance.state;
        ensure(!state.exists(), || format!("gone, and described as {state:?}"))?;
    }
    scene.delete(&machine).await
}

pub(super) async fn what_never_was_is_gone(scene: &Scene<'_>) -> Checked {
    // Another controller may have created an instance without storing it, so this waits as well.
    scene.delete(&scene.machine()).await?;
    scene.delete(&scene.prepared().await?).await
}

pub(super) async fn what_was_lost_and_is_not_shown_yet_is_deleted_all_the_same(
    scene: &Scene<'_>,
) -> Checked {
    let machine = scene.prepared().await?;
    scene.bed.set_fault(Fault::LostAndUnlisted).await;
    expect_error("a create whose answer is lost", scene.cloud.create(&machine).await)?;
    scene.ensure_existing(&machine, 1).await?;
    scene.delete(&machine).await
}

pub(super) async fn what_was_made_and_is_not_shown_yet_is_deleted_all_the_same(
    scene: &Scene<'_>,
) -> Checked {
    scene.bed.set_fault(Fault::Unlisted).await;
    let machine = scene.created().await?;
    scene.delete(&machine).await
}

pub(super) async fn only_the_machines_own_instance_goes(scene: &Scene<'_>) -> Checked {
    let machine = scene.created().await?;
    // A Machine that was recreated with the same name.
    let mut namesake = scene.machine();
    namesake.key = machine.key.clone();
    scene.prepare(&mut namesake).await?;
    expect("create", scene.cloud.create(&namesake).await)?;
    scene.ensure_existing(&machine, 1).await?;
    scene.ensure_existing(&namesake, 1).await?;
    scene.delete(&machine).await?;
    scene.ensure_existing(&namesake, 1).await
}
