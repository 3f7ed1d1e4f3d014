use std::collections::BTreeSet;

use machinist_domain::retry::Retry;

use crate::cloud::{AddressKind, ObservedInstance};
use crate::conformance::Fault;
use crate::conformance::scene::{Checked, Scene, ensure, expect, expect_error, store};

pub(super) async fn an_instance_comes_to_run_under_one_name(scene: &Scene<'_>) -> Checked {
    let machine = scene.created().await?;
    let instance = scene.running(&machine).await?;
    let provider_id = Some(&instance.provider_id);
    ensure(machine.provider_id.as_ref() == provider_id, || {
        format!("created as {:?}, described as {provider_id:?}", machine.provider_id)
    })?;
    let kinds: Vec<_> = instance.addresses.iter().map(|address| address.kind).collect();
    ensure(kinds.contains(&AddressKind::InternalIp), || format!("its addresses are {kinds:?}"))?;
    let attempt = instance.status.attempt();
    ensure(attempt == Some(1), || format!("the status lost its launch: {:?}", instance.status))?;
    ensure(instance.drift.is_none(), || format!("it is new and differs: {:?}", instance.drift))
}

pub(super) async fn many_are_described_in_order_and_together_with_unknown_ones(
    scene: &Scene<'_>,
) -> Checked {
    let none = scene.cloud.describe(&[]).await;
    ensure(none.is_empty(), || format!("describing no machine returned {none:?}"))?;
    let machines = [
        scene.created().await?,
        scene.machine(),
        scene.created().await?,
        scene.created().await?,
        scene.machine(),
    ];
    let answers = scene.cloud.describe(&machines).await;
    let seen = answers.iter().map(|answer| Some(&answer.present()?.provider_id));
    let seen: Vec<_> = seen.collect();
    let known: Vec<_> = machines.iter().map(|machine| machine.provider_id.as_ref()).collect();
    ensure(seen == known, || format!("{seen:?} instead of {known:?}"))?;
    // It may be too early to be certain.
    let absent = answers.iter().filter(|answer| match answer {
        ObservedInstance::Absent => true,
        ObservedInstance::Unknown(failure) => matches!(failure.retry, Retry::Again(_)),
        _ => false,
    });
    ensure(absent.count() == 2, || format!("two never existed, but the answers are {answers:?}"))
}

pub(super) async fn what_is_not_shown_yet_is_not_absent(scene: &Scene<'_>) -> Checked {
    scene.bed.set_fault(Fault::Unlisted).await;
    let machine = scene.created().await?;
    scene.seen(&machine, |_| true).await?;
    // The same when the response to the create was lost.
    scene.bed.set_fault(Fault::LostAndUnlisted).await;
    let machine = scene.prepared().await?;
    expect_error("a create whose answer is lost", scene.cloud.create(&machine).await)?;
    scene.seen(&machine, |_| true).await.map(drop)
}

pub(super) async fn lists_are_followed_to_the_last_page(scene: &Scene<'_>) -> Checked {
    let mut wanted = BTreeSet::new();
    for _ in 0..5 {
        wanted.insert(scene.created().await?.uid.to_string());
    }
    // Of another cluster.
    let mut other = scene.machine();
    other.cluster = "conformance-of-another-cluster".into();
    scene.prepare(&mut other).await?;
    expect("create", scene.cloud.create(&other).await)?;
    scene.bed.set_fault(Fault::SmallPages).await;
    let listed = expect("list", scene.cloud.list(&scene.reach()).await)?;
    let found: Vec<_> = listed.iter().map(|owned| owned.machine_uid.to_string()).collect();
    let distinct: BTreeSet<_> = found.iter().cloned().collect();
    ensure(found.len() == distinct.len(), || format!("some are listed twice: {found:?}"))?;
    let missing: Vec<_> = wanted.difference(&distinct).collect();
    ensure(missing.is_empty(), || format!("not listed: {missing:?}"))?;
    let foreign = other.uid.to_string();
    ensure(!distinct.contains(&foreign), || "another cluster's instance is listed".to_owned())
}

pub(super) async fn drift_is_seen_and_repaired(scene: &Scene<'_>) -> Checked {
    let mut machine = scene.created().await?;
    let instance = scene.running(&machine).await?;
    store(&mut machine, &instance);
    scene.bed.cause_drift(&machine.uid).await;
    scene.seen(&machine, |instance| instance.drift.is_some()).await?;
    let repaired = expect("update", scene.cloud.update(&machine).await)?;
    ensure(repaired.drift.is_none(), || format!("repaired, and still {:?}", repaired.drift))?;
    scene.seen(&machine, |instance| instance.drift.is_none()).await?;
    expect("update of what is as it should be", scene.cloud.update(&machine).await)?;
    scene.ensure_existing(&machine, 1).await
}
