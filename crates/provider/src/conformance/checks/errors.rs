//! Every error class and its effect. No error counts as an answer.

use machinist_domain::permit::{Permit, within};

use crate::cloud::{CloudError, Effect, ErrorClass, MachineRef, ObservedInstance};
use crate::conformance::Fault;
use crate::conformance::scene::{Checked, PAUSE, Scene, ensure, expect, expect_error};

pub(super) async fn an_impossible_spec_is_invalid_for_good(scene: &Scene<'_>) -> Checked {
    let mut machine = scene.machine();
    machine.spec = scene.bed.impossible_spec();
    let error = match scene.cloud.prepare(&machine).await {
        Err(error) => error,
        Ok(status) => {
            machine.status = status;
            expect_error("create", scene.cloud.create(&machine).await)?
        }
    };
    ensure_class(&error, ErrorClass::InvalidConfiguration)?;
    ensure_without_effect(&error)?;
    scene.ensure_existing(&machine, 0).await
}

pub(super) async fn no_room_is_told_as_such_and_passes(scene: &Scene<'_>) -> Checked {
    let (mut machine, other) = (scene.prepared().await?, scene.prepared().await?);
    scene.bed.set_fault(Fault::NoCapacity).await;
    let error = expect_error("create", scene.cloud.create(&machine).await)?;
    ensure_class(&error, ErrorClass::CapacityExhausted)?;
    ensure_without_effect(&error)?;
    ensure(error.domain.is_some(), || "CapacityExhausted has no failure domain".to_owned())?;
    expect_error("create of another", scene.cloud.create(&other).await)?;
    scene.ensure_existing(&machine, 0).await?;
    scene.bed.set_fault(Fault::None).await;
    if error.effect == Effect::NoneForThisAttempt {
        machine.attempt = 2;
        scene.prepare(&mut machine).await?;
    }
    expect("create once there is room", scene.cloud.create(&machine).await)?;
    scene.ensure_existing(&machine, 1).await
}

pub(super) async fn throttling_is_told_as_such_and_concerns_all_alike(
    scene: &Scene<'_>,
) -> Checked {
    let other = scene.prepared().await?;
    let error = refused(scene, Fault::Throttled, ErrorClass::Throttled).await?;
    ensure_without_effect(&error)?;
    scene.bed.set_fault(Fault::Throttled).await;
    let second = expect_error("create of another", scene.cloud.create(&other).await)?;
    ensure(error.domain.is_some() && error.domain == second.domain, || {
        format!(
            "two that are throttled together do not say so: {:?}, {:?}",
            error.domain, second.domain
        )
    })
}

pub(super) async fn missing_rights_are_told_as_such(scene: &Scene<'_>) -> Checked {
    let error = refused(scene, Fault::Unauthorised, ErrorClass::Unauthorised).await?;
    ensure_without_effect(&error)
}

pub(super) async fn an_outage_leaves_everything_open(scene: &Scene<'_>) -> Checked {
    let error = refused(scene, Fault::Unavailable, ErrorClass::Unavailable).await?;
    ensure(error.effect == Effect::Unclear, || format!("its effect is {:?}", error.effect))
}

/// The response may come from a proxy, so its effect is unclear.
pub(super) async fn nonsense_is_no_answer(scene: &Scene<'_>) -> Checked {
    let error = troubled(scene, Fault::InvalidResponses).await?;
    ensure(matches!(error.class, ErrorClass::Unexpected | ErrorClass::Unavailable), || {
        format!("{:?} instead of Unexpected or Unavailable: {error}", error.class)
    })?;
    ensure(error.effect == Effect::Unclear, || format!("its effect is {:?}", error.effect))
}

pub(super) async fn what_is_not_there_is_not_found(scene: &Scene<'_>) -> Checked {
    let machine = scene.machine();
    let error = expect_error("update of what never was", scene.cloud.update(&machine).await)?;
    ensure_class(&error, ErrorClass::NotFound)
}

/// The lease ended while the call read something, or the process was suspended.
pub(super) async fn nothing_is_changed_without_a_permit(scene: &Scene<'_>) -> Checked {
    let (machine, there) = (scene.prepared().await?, scene.created().await?);
    let before = scene.running(&there).await?;
    scene.bed.cause_drift(&there.uid).await;
    let drifted = scene.seen(&there, |instance| instance.drift.is_some()).await?;
    let expired = || Permit::new(|| None);
    let error = within(expired(), scene.cloud.create(&machine)).await;
    ensure_without_effect(&expect_error("create", error)?)?;
    expect_error("update", within(expired(), scene.cloud.update(&there)).await)?;
    expect_error("delete", within(expired(), scene.cloud.delete(&there)).await)?;
    scene.ensure_existing(&machine, 0).await?;
    scene.ensure_existing(&there, 1).await?;
    let after = scene.seen(&there, |_| true).await?;
    ensure(after.drift == drifted.drift && after.state == before.state, || {
        format!("{before:?} became {after:?}")
    })?;
    let permit = Permit::new(|| Some(PAUSE));
    expect("create with a permit", within(permit, scene.cloud.create(&machine)).await)?;
    scene.ensure_existing(&machine, 1).await
}

/// All calls fail with this class.
async fn refused(scene: &Scene<'_>, fault: Fault, class: ErrorClass) -> Result<CloudError, String> {
    let error = troubled(scene, fault).await?;
    ensure_class(&error, class)?;
    Ok(error)
}

/// All calls fail, and nothing counts as absent; afterwards everything works.
async fn troubled(scene: &Scene<'_>, fault: Fault) -> Result<CloudError, String> {
    let there = scene.created().await?;
    scene.seen(&there, |_| true).await?;
    let machine: MachineRef = scene.prepared().await?;
    scene.bed.set_fault(fault).await;
    let error = expect_error("create", scene.cloud.create(&machine).await)?;
    let observed = scene.observe(&there).await;
    ensure(matches!(observed, ObservedInstance::Unknown(_)), || {
        format!("the cloud could not be asked, and the answer is {observed:?}")
    })?;
    expect_error("delete", scene.cloud.delete(&there).await)?;
    expect_error("list", scene.cloud.list(&scene.reach()).await)?;
    expect_error("update", scene.cloud.update(&there).await)?;
    scene.bed.set_fault(Fault::None).await;
    scene.ensure_existing(&there, 1).await?;
    expect("create afterwards", scene.cloud.create(&machine).await)?;
    scene.ensure_existing(&machine, 1).await?;
    Ok(error)
}

fn ensure_class(error: &CloudError, class: ErrorClass) -> Checked {
    ensure(error.class == class, || format!("{:?} instead of {class:?}: {error}", error.class))
}

fn ensure_without_effect(error: &CloudError) -> Checked {
    ensure(error.effect != Effect::Unclear, || {
        format!("it leaves open whether anything happened: {error}")
    })
}
