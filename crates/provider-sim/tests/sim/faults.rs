//! Faults beyond those of the conformance suite.

use std::time::{Duration, Instant};

use machinist_domain::key::{ObjectKey, Version};
use machinist_provider::access::Credentials;
use machinist_provider::cloud::{
    Cloud, Deletion, Effect, ErrorClass, InstanceState, MachineRef, ObservedInstance,
};
use machinist_provider_sim::client::SimClient;
use machinist_provider_sim::server::{Modes, SimServer};
use serde_json::json;

use crate::bed::{Bed, machine, parts, spec};

async fn state(bed: &Bed, machine: &MachineRef) -> InstanceState {
    match &bed.client.describe(std::slice::from_ref(machine)).await[..] {
        [ObservedInstance::Present(instance)] => instance.state,
        other => panic!("{other:?}"),
    }
}

/// Waits until the instance is in this state.
async fn becomes(bed: &Bed, machine: &MachineRef, wanted: InstanceState) {
    let start = Instant::now();
    while state(bed, machine).await != wanted {
        assert!(start.elapsed() < Duration::from_secs(20), "{} is not {wanted:?}", machine.key);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_instance_boots_dies_or_never_boots_as_its_spec_says() {
    let bed = Bed::new().await;
    bed.cloud.set_scale(0.001);
    let slow = bed.prepared("slow", &spec(&json!({ "bootSeconds": 100 }))).await;
    let never = spec(&json!({ "failures": { "neverBoots": true } }));
    let never = bed.prepared("never", &never).await;
    let mortal = spec(&json!({ "failures": { "diesAfterSeconds": 100 } }));
    let mortal = bed.prepared("mortal", &mortal).await;
    for machine in [&slow, &never, &mortal] {
        bed.client.create(machine).await.unwrap();
    }
    assert_eq!(state(&bed, &slow).await, InstanceState::Pending);
    assert_eq!(state(&bed, &mortal).await, InstanceState::Running);
    bed.cloud.set_scale(100_000.0);
    becomes(&bed, &slow, InstanceState::Running).await;
    becomes(&bed, &mortal, InstanceState::Terminated).await;
    bed.cloud.set_scale(0.001);
    assert_eq!(state(&bed, &slow).await, InstanceState::Running);
    assert_eq!(state(&bed, &never).await, InstanceState::Pending);
    assert_eq!(state(&bed, &mortal).await, InstanceState::Terminated);
    assert_eq!(bed.cloud.live(), 2);
}

#[tokio::test]
async fn deletion_removes_leftover_volumes_first() {
    let bed = Bed::new().await;
    let machine = bed.prepared("m", &spec(&json!({ "dataVolumeGiB": 5 }))).await;
    let instance = bed.client.create(&machine).await.unwrap();
    assert_eq!(bed.cloud.volumes(), 2);
    assert!(bed.cloud.kill(&instance.id));
    assert_eq!((bed.cloud.live(), bed.cloud.volumes()), (0, 1));
    // For its machine it is gone; for the deletion a volume is left.
    assert_eq!(state(&bed, &machine).await, InstanceState::Terminated);
    bed.delete(&machine).await;
    assert_eq!(bed.cloud.volumes(), 0);
}

#[tokio::test]
async fn next_attempt_avoids_a_full_zone() {
    let bed = Bed::new().await;
    let mut machine = bed.prepared("m", &spec(&json!({}))).await;
    let zone = machine.status.0["launch"]["zone"].as_str().unwrap().to_owned();
    bed.cloud.change_modes(|modes| modes.full_zones = [zone.clone()].into());
    let error = bed.client.create(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::CapacityExhausted);
    assert_eq!(error.effect, Effect::NoneForThisAttempt);
    machine.attempt = 2;
    machine.status = bed.client.prepare(&machine).await.unwrap();
    let instance = bed.client.create(&machine).await.unwrap();
    assert_ne!(instance.zone.as_deref(), Some(zone.as_str()));
    // A spec with a zone can only wait.
    let fixed = bed.prepared("fixed", &spec(&json!({ "zone": zone }))).await;
    let error = bed.client.create(&fixed).await.unwrap_err();
    assert_eq!((error.effect, error.domain.is_some()), (Effect::None, true));
}

#[tokio::test]
async fn rate_limit_throttles_with_retry_after() {
    let bed = Bed::new().await;
    bed.cloud.set_scale(0.001);
    bed.cloud.change_modes(|modes| modes.calls_per_second = Some(3));
    let machine = bed.prepared("m", &spec(&json!({}))).await;
    for _ in 0..3 {
        bed.client.create(&machine).await.unwrap();
    }
    let error = bed.client.create(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Throttled);
    assert_eq!(error.retry_after, Some(Duration::from_secs(1)));
    let other = machine_in(&bed, "other").await;
    let error = (error.domain, bed.client.create(&other).await.unwrap_err().domain);
    assert!(error.0.is_some() && error.0 == error.1, "{error:?}");
}

async fn machine_in(bed: &Bed, name: &str) -> MachineRef {
    bed.prepared(name, &spec(&json!({}))).await
}

#[tokio::test]
async fn instance_of_another_machine_is_neither_described_nor_deleted() {
    let bed = Bed::new().await;
    let owner = machine_in(&bed, "owner").await;
    let instance = bed.client.create(&owner).await.unwrap();
    let mut thief = machine("thief", &spec(&json!({})));
    thief.provider_id = Some(instance.provider_id);
    match &bed.client.describe(std::slice::from_ref(&thief)).await[..] {
        [ObservedInstance::Unknown(failure)] => assert!(failure.message.contains("belongs to")),
        other => panic!("{other:?}"),
    }
    bed.delete(&thief).await;
    assert_eq!(bed.cloud.live(), 1);
}

#[tokio::test]
async fn second_attempt_is_waited_for_after_the_first_was_listed() {
    let bed = Bed::new().await;
    let mut machine = machine_in(&bed, "m").await;
    bed.client.create(&machine).await.unwrap();
    machine.attempt = 2;
    machine.status = bed.client.prepare(&machine).await.unwrap();
    bed.cloud.change_modes(|modes| {
        modes.hidden_millis = 200;
        modes.lose_create_answers = 1;
    });
    bed.client.create(&machine).await.unwrap_err();
    assert_eq!(bed.cloud.live(), 2);
    assert!(matches!(bed.client.delete(&machine).await, Ok(Deletion::UnderWay(_))));
    bed.delete(&machine).await;
    assert_eq!(bed.cloud.live(), 0);
}

#[tokio::test]
async fn late_and_lost_create_responses_create_once() {
    let bed = Bed::new().await;
    let lost = spec(&json!({ "failures": { "lostCreateAnswers": 2 } }));
    let machine = bed.prepared("m", &lost).await;
    for _ in 0..2 {
        let error = bed.client.create(&machine).await.unwrap_err();
        assert_eq!((error.class, error.effect), (ErrorClass::Unavailable, Effect::Unclear));
    }
    bed.client.create(&machine).await.unwrap();
    let mut parts = parts();
    // Long enough for the request to arrive, also on a busy machine.
    parts.timings.request = Duration::from_secs(2);
    let hasty = SimClient::new(Some(bed.server.url()), parts);
    let late = spec(&json!({ "failures": { "createAnswerDelaySeconds": 3600 } }));
    let machine = bed.prepared("late", &late).await;
    assert_eq!(hasty.create(&machine).await.unwrap_err().effect, Effect::Unclear);
    assert_eq!((bed.cloud.created(), bed.cloud.live()), (2, 2));
}

#[tokio::test]
async fn cloud_outlives_server_and_clients() {
    let mut bed = Bed::new().await;
    let machine = machine_in(&bed, "m").await;
    bed.client.create(&machine).await.unwrap();
    bed.server = SimServer::start(&bed.cloud).await.unwrap();
    let error = bed.client.create(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unavailable);
    bed.client = SimClient::new(Some("http://127.0.0.1:1".to_owned()), parts());
    let error = bed.client.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::Unavailable, Effect::None));
    bed.client = SimClient::new(Some(bed.server.url()), parts());
    bed.client.create(&machine).await.unwrap();
    assert_eq!(bed.cloud.created(), 1);
}

#[tokio::test]
async fn token_of_the_secret_is_sent() {
    let bed = Bed::new().await;
    bed.cloud.set_modes(Modes { token: Some("hush".to_owned()), ..Modes::default() });
    let mut machine = machine_in(&bed, "m").await;
    assert_eq!(bed.client.create(&machine).await.unwrap_err().class, ErrorClass::Unauthorised);
    for (name, works) in [("bad", false), ("good", true)] {
        let key = ObjectKey::new("machines", name);
        machine.access.credentials = Credentials::Secret { key, version: Version(1) };
        assert_eq!(bed.client.create(&machine).await.is_ok(), works, "{name}");
    }
}

#[tokio::test]
async fn same_seed_gives_same_names_and_faults() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let bed = Bed::new().await;
        bed.cloud.change_modes(|modes| modes.lost_per_mille = 300);
        let mut luck = Vec::new();
        for number in 0..20 {
            let machine = machine_in(&bed, &format!("m{number}")).await;
            luck.push(bed.client.create(&machine).await.is_ok());
        }
        let ids: Vec<_> = bed.cloud.instances().into_iter().map(|instance| instance.id).collect();
        runs.push((ids, luck));
    }
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0].1.contains(&true) && runs[0].1.contains(&false), "{:?}", runs[0].1);
}
