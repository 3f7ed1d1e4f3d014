//! Dedicated hosts that may be left behind: EC2 does not list them yet, does not release them at once, or they cannot
//! be listed.

use std::time::{Duration, Instant};

use machinist_provider::cloud::{CloudError, Effect as Had, ErrorClass, MachineRef};
use machinist_testbed::aws::{Effect, Rule};
use serde_json::json;

use super::field::{Field, WINDOW, store};
use super::hosts::{by_hand, own, provided, refusal};

/// With the permissions that OpenShift grants.
async fn field_without_a_look_at_hosts() -> Field {
    let field = Field::new().await;
    field.front().inject(Rule::every("DescribeHosts", refusal("UnauthorizedOperation")));
    field
}

/// Repeats until the attempt is over, and returns the errors before. Every launch has this effect.
async fn end_of_attempt(field: &Field, machine: &MachineRef, launch: &Effect) -> Vec<CloudError> {
    let (start, mut held_up) = (Instant::now(), Vec::new());
    loop {
        field.front().inject(Rule::next("RunInstances", launch.clone()));
        let error = field.cloud.create(machine).await.unwrap_err();
        if error.effect == Had::NoneForThisAttempt {
            return held_up;
        }
        assert!(start.elapsed() < 30 * WINDOW, "{error}");
        held_up.push(error);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn attempt_ends_only_when_its_host_is_released() {
    let field = field_without_a_look_at_hosts().await;
    let mut machine = field.machine(&own());
    field.front().inject(Rule::next("ReleaseHosts", Effect::Throttle));
    let mut held_up = Vec::new();
    for attempt in 1..=4 {
        machine.attempt = attempt;
        field.prepare(&mut machine).await.unwrap();
        held_up.extend(end_of_attempt(&field, &machine, &Effect::NoCapacity).await);
    }
    machine.attempt = 5;
    field.prepare(&mut machine).await.unwrap();
    let instance = field.cloud.create(&machine).await.unwrap();
    store(&mut machine, &instance);
    field.delete(&machine).await;
    assert_eq!(field.hosts(&machine.uid).await, [""; 0], "not even of the first attempt");
    let [error] = &held_up[..] else { panic!("{held_up:?}") };
    assert_eq!((error.class, error.effect), (ErrorClass::Throttled, Had::None));
    for words in ["InsufficientInstanceCapacity", "ReleaseHosts"] {
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn attempt_with_a_used_token_leaves_no_host() {
    let field = field_without_a_look_at_hosts().await;
    let machine = field.prepared(&own()).await;
    let spent = refusal("IdempotentParameterMismatch");
    assert_eq!(end_of_attempt(&field, &machine, &spent).await, []);
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn invalid_configuration_is_final_only_when_the_host_is_released() {
    let field = Field::new().await;
    let machine = field.prepared(&own()).await;
    let mistake = refusal("InvalidParameterCombination");
    field.front().inject(Rule::next("RunInstances", mistake.clone()).times(2));
    field.front().inject(Rule::next("ReleaseHosts", refusal("InvalidHost.Occupied")));
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::Unavailable, Had::None));
    assert_eq!(field.hosts(&machine.uid).await.len(), 1);
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::InvalidConfiguration);
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn launch_waits_for_a_host_that_is_not_known_yet() {
    let field = field_without_a_look_at_hosts().await;
    let mut machine = field.prepared(&own()).await;
    for code in ["InvalidHostID.NotFound", "InvalidHostState"] {
        field.front().inject(Rule::next("RunInstances", refusal(code)));
        assert_eq!(field.cloud.create(&machine).await.unwrap_err().effect, Had::None, "{code}");
    }
    let instance = field.cloud.create(&machine).await.unwrap();
    store(&mut machine, &instance);
    assert_eq!(field.front().calls_of("ReleaseHosts").len(), 0);
    assert_eq!(field.hosts(&machine.uid).await.len(), 1);
    field.delete(&machine).await;
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn attempt_ends_when_its_host_stays_unknown_without_list_permission() {
    let mut field = field_without_a_look_at_hosts().await;
    let machine = field.prepared(&own()).await;
    assert_eq!(end_of_attempt(&field, &machine, &Effect::NoCapacity).await, []);
    // After a restart it is unknown that the attempt is over, and the token names the released host.
    field.restart();
    let unknown = refusal("InvalidHostID.NotFound");
    field.front().inject(Rule::every("ReleaseHosts", unknown.clone()));
    let start = Instant::now();
    let held_up = end_of_attempt(&field, &machine, &unknown).await;
    assert!(start.elapsed() >= WINDOW && !held_up.is_empty(), "{held_up:?}");
}

#[tokio::test]
async fn host_of_a_repeated_request_is_released() {
    let field = field_without_a_look_at_hosts().await;
    let machine = field.prepared(&own()).await;
    field.front().inject(Rule::next("AllocateHosts", Effect::ResetBefore));
    field.cloud.create(&machine).await.unwrap_err();
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
    field.front().inject(Rule::next("ReleaseHosts", refusal("InvalidHostID.NotFound")));
    field.delete(&machine).await;
    assert_eq!(field.front().calls_of("ReleaseHosts").len(), 2);
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn host_that_stays_unknown_is_gone() {
    let field = field_without_a_look_at_hosts().await;
    let machine = field.created(&own()).await;
    field.front().inject(Rule::every("ReleaseHosts", refusal("InvalidHostID.NotFound")));
    field.delete(&machine).await;
}

/// The real state of a host.
async fn state(field: &Field, host: &str) -> String {
    let answer = field.moto.describe_hosts().host_ids(host).send().await.unwrap();
    answer.hosts()[0].state().unwrap().as_str().to_owned()
}

/// A machine without an instance, whose host another controller allocated: only the id is stored.
fn with_host(mut machine: MachineRef, host: &str) -> MachineRef {
    machine.status.0.insert("dedicatedHost".to_owned(), json!({ "id": host }));
    machine
}

#[tokio::test]
async fn host_of_another_controller_is_released_before_a_new_allocation() {
    let field = Field::new().await;
    let former = by_hand(&field).await;
    let mut machine = with_host(field.machine(&own()), &former);
    field.prepare(&mut machine).await.unwrap();
    field.front().inject(Rule::next("ReleaseHosts", refusal("InvalidHost.Occupied")));
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::Unavailable, Had::None));
    assert!(error.message.contains("InvalidHost.Occupied"), "{error}");
    assert_eq!(field.front().calls_of("AllocateHosts").len(), 0);
    let instance = field.cloud.create(&machine).await.unwrap();
    assert_eq!(state(&field, &former).await, "released");
    assert_eq!(machine.status.0["launch"]["formerHosts"], json!([former]));
    store(&mut machine, &instance);
    assert_eq!(machine.status.0["launch"].get("formerHosts"), None, "it is not needed any more");
    assert_eq!(machine.status.0["dedicatedHost"]["id"], field.hosts(&machine.uid).await[0]);
    field.delete(&machine).await;
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

/// Permissions that depend on tags end with the host, which loses its tags.
#[tokio::test]
async fn released_host_does_not_block_the_deletion() {
    let field = Field::new().await;
    let former = by_hand(&field).await;
    let mut machine = with_host(field.machine(&own()), &former);
    field.prepare(&mut machine).await.unwrap();
    field.front().inject(Rule::every("ReleaseHosts", refusal("UnauthorizedOperation")));
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert!(error.message.contains("UnauthorizedOperation"), "{error}");
    field.moto.release_hosts().host_ids(&former).send().await.unwrap();
    field.cloud.create(&machine).await.unwrap();
}

#[tokio::test]
async fn host_of_another_controller_is_released_with_the_machine() {
    let field = field_without_a_look_at_hosts().await;
    let former = by_hand(&field).await;
    let mut machine = with_host(field.machine(&own()), &former);
    field.prepare(&mut machine).await.unwrap();
    field.delete(&machine).await;
    assert_eq!(state(&field, &former).await, "released");
    // It says nothing about a host that is not known.
    let former = by_hand(&field).await;
    let mut machine = with_host(field.machine(&own()), &former);
    field.prepare(&mut machine).await.unwrap();
    field.front().inject(Rule::next("AllocateHosts", Effect::ResetAfter));
    field.cloud.create(&machine).await.unwrap_err();
    field.delete(&machine).await;
    assert_eq!(state(&field, &former).await, "released");
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn host_of_the_spec_is_never_released() {
    let field = Field::new().await;
    let host = by_hand(&field).await;
    let mut machine = with_host(field.machine(&provided(&host)), &host);
    field.delete(&machine).await;
    field.prepare(&mut machine).await.unwrap();
    let instance = field.cloud.create(&machine).await.unwrap();
    store(&mut machine, &instance);
    field.delete(&machine).await;
    assert_eq!(field.front().calls_of("ReleaseHosts").len(), 0);
    assert_eq!(state(&field, &host).await, "available");
}
