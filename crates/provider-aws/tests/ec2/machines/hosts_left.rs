//! Dedicated hosts that are easily left behind: EC2 does not know them yet, does not release them at once, or nobody may look for them.

use std::time::{Duration, Instant};

use machinist_provider::cloud::{CloudError, Effect as Had, ErrorClass, MachineRef};
use machinist_testbed::aws::{Effect, Rule};
use serde_json::json;

use super::field::{Field, WINDOW, store};
use super::hosts::{by_hand, own, provided, refusal};

/// As with the rights that OpenShift grants.
async fn field_without_a_look_at_hosts() -> Field {
    let field = Field::new().await;
    field.front().inject(Rule::every("DescribeHosts", refusal("UnauthorizedOperation")));
    field
}

/// Tries until the attempt is over, and says what was in the way. Every launch meets this.
async fn end_of_attempt(field: &Field, machine: &MachineRef, launch: &Effect) -> Vec<CloudError> {
    let (start, mut held_up) = (Instant::now(), Vec::new());
    loop {
        field.front().inject(Rule::next("RunInstances", launch.clone()));
        let error = field.cloud.create(machine).await.unwrap_err();
        if error.effect == Had::NoneForThisAttempt {
            return held_up;
        }
        assert!(start.elapsed() < 10 * WINDOW, "{error}");
        held_up.push(error);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_attempt_is_over_when_its_host_is_gone_and_not_before() {
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
async fn an_attempt_whose_token_is_spent_leaves_no_host() {
    let field = field_without_a_look_at_hosts().await;
    let machine = field.prepared(&own()).await;
    let spent = refusal("IdempotentParameterMismatch");
    assert_eq!(end_of_attempt(&field, &machine, &spent).await, []);
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn a_mistake_fails_a_machine_when_its_host_is_gone_and_not_before() {
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
async fn a_host_that_a_launch_does_not_know_yet_is_waited_for() {
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
async fn an_attempt_whose_host_is_not_known_for_a_while_is_over_for_those_who_may_not_look() {
    let mut field = field_without_a_look_at_hosts().await;
    let machine = field.prepared(&own()).await;
    assert_eq!(end_of_attempt(&field, &machine, &Effect::NoCapacity).await, []);
    // Nobody knows any more that it is over, and the token names the host that was released.
    field.restart();
    let unknown = refusal("InvalidHostID.NotFound");
    field.front().inject(Rule::every("ReleaseHosts", unknown.clone()));
    let start = Instant::now();
    let held_up = end_of_attempt(&field, &machine, &unknown).await;
    assert!(start.elapsed() >= WINDOW && !held_up.is_empty(), "{held_up:?}");
}

#[tokio::test]
async fn a_host_that_comes_of_a_token_used_once_more_and_is_not_known_yet_is_not_left() {
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
async fn a_host_that_ec2_has_not_known_for_a_while_is_gone() {
    let field = field_without_a_look_at_hosts().await;
    let machine = field.created(&own()).await;
    field.front().inject(Rule::every("ReleaseHosts", refusal("InvalidHostID.NotFound")));
    field.delete(&machine).await;
}

/// What there really is of a host, whoever made it.
async fn state(field: &Field, host: &str) -> String {
    let answer = field.moto.describe_hosts().host_ids(host).send().await.unwrap();
    answer.hosts()[0].state().unwrap().as_str().to_owned()
}

/// A machine whose instance is gone, and whose host the other controller made: nothing but the id says whose it is.
fn with_host(mut machine: MachineRef, host: &str) -> MachineRef {
    machine.status.0.insert("dedicatedHost".to_owned(), json!({ "id": host }));
    machine
}

#[tokio::test]
async fn the_host_of_another_controller_goes_before_there_is_another_one() {
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
    assert_eq!(machine.status.0["launch"].get("formerHosts"), None, "nobody needs it any more");
    assert_eq!(machine.status.0["dedicatedHost"]["id"], field.hosts(&machine.uid).await[0]);
    field.delete(&machine).await;
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

/// Rights that go by tags end with the host, whose tags are gone.
#[tokio::test]
async fn a_host_that_is_gone_and_may_not_be_released_once_more_holds_up_nothing() {
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
async fn the_host_of_another_controller_goes_with_a_machine_that_never_got_one_of_its_own() {
    let field = field_without_a_look_at_hosts().await;
    let former = by_hand(&field).await;
    let mut machine = with_host(field.machine(&own()), &former);
    field.prepare(&mut machine).await.unwrap();
    field.delete(&machine).await;
    assert_eq!(state(&field, &former).await, "released");
    // What is known of that one says nothing about a host that nobody has heard of.
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
async fn a_host_that_the_spec_names_is_not_released_whatever_is_stored() {
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
