use std::sync::Arc;

use crate::cloud::ownership::Ownership;
use crate::cloud::{Effect, ErrorClass};
use crate::conformance::Fault;
use crate::conformance::scene::{Checked, Scene, ensure, expect, expect_error};

pub(super) async fn preparing_makes_nothing_and_names_its_attempt(scene: &Scene<'_>) -> Checked {
    let mut machine = scene.machine();
    for attempt in [1, 2] {
        machine.attempt = attempt;
        scene.prepare(&mut machine).await?;
        let stored = machine.status.attempt();
        ensure(stored == Some(attempt), || {
            format!("launch.attempt is {stored:?} instead of {attempt}")
        })?;
    }
    let found = scene.truth(&machine).await;
    ensure(found.is_empty(), || format!("preparing made {found:?}"))
}

pub(super) async fn what_was_prepared_is_what_is_made(scene: &Scene<'_>) -> Checked {
    let mut machine = scene.prepared().await?;
    // Edits after `prepare` must not change the request.
    machine.spec = scene.bed.impossible_spec();
    expect("create reads more than what was prepared", scene.cloud.create(&machine).await)?;
    scene.ensure_existing(&machine, 1).await
}

pub(super) async fn what_was_not_prepared_is_not_made(scene: &Scene<'_>) -> Checked {
    let mut machine = scene.machine();
    expect_error("create without prepare", scene.cloud.create(&machine).await)?;
    scene.prepare(&mut machine).await?;
    machine.attempt = 2;
    expect_error("create of another attempt", scene.cloud.create(&machine).await)?;
    scene.ensure_existing(&machine, 0).await
}

pub(super) async fn creating_twice_makes_one(scene: &Scene<'_>) -> Checked {
    let machine = scene.prepared().await?;
    let first = expect("the first create", scene.cloud.create(&machine).await)?;
    let second = expect("the second create", scene.cloud.create(&machine).await)?;
    ensure(first.id == second.id, || format!("{} and {} were made", first.id, second.id))?;
    let attempt = second.status.attempt();
    ensure(attempt == Some(1), || format!("the status lost its launch: {:?}", second.status))?;
    scene.ensure_existing(&machine, 1).await
}

pub(super) async fn creating_at_the_same_time_makes_one(scene: &Scene<'_>) -> Checked {
    let machine = scene.prepared().await?;
    let create = || scene.cloud.create(&machine);
    // A cloud may refuse concurrent repeats; it must not create two.
    let answers = tokio::join!(create(), create(), create(), create());
    let answers: [_; 4] = answers.into();
    let mut ids: Vec<_> = answers.into_iter().flatten().map(|instance| instance.id).collect();
    ids.sort();
    ids.dedup();
    ensure(ids.len() == 1, || format!("these were made: {ids:?}"))?;
    scene.ensure_existing(&machine, 1).await
}

pub(super) async fn a_lost_answer_and_another_try_make_one(scene: &Scene<'_>) -> Checked {
    let machine = scene.prepared().await?;
    scene.bed.set_fault(Fault::LostResponses).await;
    let error = expect_error("a create whose answer is lost", scene.cloud.create(&machine).await)?;
    ensure(error.effect == Effect::Unclear, || format!("its effect is {:?}", error.effect))?;
    ensure(error.class == ErrorClass::Unavailable, || format!("its class is {:?}", error.class))?;
    scene.ensure_existing(&machine, 1).await?;
    scene.bed.set_fault(Fault::None).await;
    let again = expect("the second create", scene.cloud.create(&machine).await)?;
    scene.ensure_existing(&machine, 1).await?;
    let made = scene.truth(&machine).await;
    ensure(made.iter().any(|found| found.id == again.id), || {
        format!("{} is none of {made:?}", again.id)
    })
}

pub(super) async fn an_instance_says_whose_it_is(scene: &Scene<'_>) -> Checked {
    let machine = scene.created().await?;
    let wanted = Ownership::of(&machine);
    let found = scene.truth(&machine).await;
    let owners: Vec<_> = found.iter().map(|found| found.ownership.clone()).collect();
    ensure(owners == [Some(wanted.clone())], || format!("{owners:?} instead of {wanted:?}"))?;
    let listed = expect("list", scene.cloud.list(&scene.reach()).await)?;
    let mine: Vec<_> = listed
        .iter()
        .filter(|owned| owned.machine_uid == machine.uid)
        .map(|owned| Arc::clone(&owned.instance.provider_id))
        .collect();
    let known: Vec<_> = machine.provider_id.into_iter().collect();
    ensure(mine == known, || format!("listed as {mine:?} instead of {known:?}"))
}
