use std::time::Instant;

use machinist_domain::key::Uid;

use crate::cloud::{Deletion, ErrorClass, ObservedInstance, Owned};
use crate::conformance::Fault;
use crate::conformance::scene::{Checked, PAUSE, Scene, ensure, expect, expect_error, store};

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

pub(super) async fn an_orphan_is_deleted_alone_and_only_if_its_tags_are_the_same(
    scene: &Scene<'_>,
) -> Checked {
    let first = scene.created().await?;
    // Another attempt of the same Machine, whose instance is the current one.
    let mut second = first.clone();
    (second.attempt, second.provider_id) = (2, None);
    scene.prepare(&mut second).await?;
    let instance = expect("the second attempt", scene.cloud.create(&second).await)?;
    store(&mut second, &instance);
    let within = scene.reach();
    let listed = expect("list", scene.cloud.list(&within).await)?;
    let own: Vec<_> = listed.into_iter().filter(|one| one.machine_uid == first.uid).collect();
    let attempts: Vec<_> = own.iter().map(|one| one.attempt).collect();
    ensure(own.len() == 2, || format!("two attempts are listed as {own:?}"))?;
    let known = attempts.contains(&Some(1)) && attempts.contains(&Some(2));
    ensure(known || attempts == [None, None], || format!("their attempts are {attempts:?}"))?;
    let orphan = own.into_iter().find(|one| one.instance.id != instance.id);
    let Some(orphan) = orphan else { return Err("the first instance is not listed".to_owned()) };

    let forged = Owned { machine_uid: Uid("another".into()), ..orphan.clone() };
    let error = scene.cloud.delete_orphan(&within, &forged).await;
    let error = expect_error("deleting an instance of another Machine", error)?;
    ensure(error.class == ErrorClass::Conflict, || format!("its class is {:?}", error.class))?;
    scene.ensure_existing(&first, 2).await?;

    let start = Instant::now();
    loop {
        match expect("delete_orphan", scene.cloud.delete_orphan(&within, &orphan).await)? {
            Deletion::Gone => break,
            Deletion::UnderWay(what) if start.elapsed() > scene.bed.patience() => {
                return Err(format!("still under way: {what}"));
            }
            Deletion::UnderWay(_) => tokio::time::sleep(PAUSE).await,
        }
    }
    let left = scene.truth(&first).await;
    let left: Vec<_> = left.iter().filter(|found| found.exists).map(|found| &found.id).collect();
    ensure(left == [&instance.id], || format!("{left:?} exist instead of {}", instance.id))
}
