//! Dedicated hosts: given ones are used, own ones are allocated once and released with the machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_sdk_ec2::types::AutoPlacement;
use http::StatusCode;
use machinist_provider::cloud::{Deletion, Effect as Had, ErrorClass};
use machinist_provider::permit::{self, Permit};
use machinist_testbed::aws::{Effect, Rule};
use serde_json::{Value, json};

use super::edited_specs::end_of_deletion;
use super::field::{Field, REGION, store};

pub(super) fn own() -> Value {
    json!({ "placement": {
        "region": REGION,
        "tenancy": "host",
        "host": {
            "affinity": "DedicatedHost",
            "dedicatedHost": {
                "allocationStrategy": "Dynamic",
                "dynamicHostAllocation": { "tags": [{ "name": "cost", "value": "b" }] },
            },
        },
    } })
}

/// A host that was allocated by hand.
pub(super) async fn by_hand(field: &Field) -> String {
    let call = field.moto.allocate_hosts().auto_placement(AutoPlacement::Off).quantity(1);
    let call = call.availability_zone(format!("{REGION}a")).instance_type("m5.large");
    call.send().await.unwrap().host_ids()[0].clone()
}

pub(super) fn provided(host: &str) -> Value {
    json!({ "placement": {
        "region": REGION,
        "availabilityZone": format!("{REGION}a"),
        "tenancy": "host",
        "host": { "affinity": "DedicatedHost", "dedicatedHost": { "id": host } },
    } })
}

#[tokio::test]
async fn a_provided_host_is_used_and_marked_as_shared() {
    let field = Field::new().await;
    let host = by_hand(&field).await;
    let machine = field.created(&provided(&host)).await;
    let wire = field.launch_on_the_wire();
    for (name, value) in [("HostId", host.as_str()), ("Tenancy", "host"), ("Affinity", "host")] {
        assert_eq!(wire[&format!("Placement.{name}")], value);
    }
    let tag = &field.front().calls_of("CreateTags")[0].parameters;
    assert_eq!((tag["ResourceId.1"].as_str(), tag["Tag.1.Value"].as_str()), (&*host, "shared"));
    assert!(!machine.status.0.contains_key("dedicatedHost"), "it is not the machine's own");
    field.delete(&machine).await;
    assert!(field.front().calls_of("ReleaseHosts").is_empty());
}

#[tokio::test]
async fn own_host_is_allocated_stored_and_released() {
    let field = Field::new().await;
    let machine = field.created(&own()).await;
    let hosts = field.hosts(&machine.uid).await;
    assert_eq!(hosts.len(), 1);
    assert_eq!(machine.status.0["dedicatedHost"]["id"], json!(hosts[0]));
    assert_eq!(field.launch_on_the_wire()["Placement.HostId"], hosts[0]);
    let asked = &field.front().calls_of("AllocateHosts")[0].parameters;
    assert_eq!((asked["Quantity"].as_str(), asked["AutoPlacement"].as_str()), ("1", "off"));
    assert!(asked.values().any(|value| value == "cost"), "{asked:?}");
    field.delete(&machine).await;
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
    field.delete(&machine).await;
}

#[tokio::test]
async fn leader_that_was_suspended_after_the_allocation_launches_nothing() {
    let field = Field::new().await;
    let mut machine = field.prepared(&own()).await;
    let counter = Arc::clone(&field.counter);
    let resumed = move || counter.calls.lock().iter().any(|(name, _)| *name == "AllocateHosts");
    let permit = Permit::new(move || (!resumed()).then_some(Duration::from_secs(1)));
    permit::within(permit, field.cloud.create(&machine)).await.unwrap_err();
    assert_eq!(field.front().calls_of("AllocateHosts").len(), 1);
    assert_eq!(field.front().calls_of("RunInstances").len(), 0);
    // The next leader repeats the attempt, and the token returns the same host.
    let instance = field.cloud.create(&machine).await.unwrap();
    store(&mut machine, &instance);
    assert_eq!(field.hosts(&machine.uid).await.len(), 1);
    field.delete(&machine).await;
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn lost_responses_allocate_one_host_and_leave_none() {
    for action in ["AllocateHosts", "RunInstances"] {
        let mut field = Field::new().await;
        let mut machine = field.prepared(&own()).await;
        field.front().inject(Rule::next(action, Effect::ResetAfter));
        field.cloud.create(&machine).await.unwrap_err();
        field.restart();
        let instance = field.cloud.create(&machine).await.unwrap();
        assert_eq!(field.hosts(&machine.uid).await.len(), 1, "{action}");
        store(&mut machine, &instance);
        field.delete(&machine).await;
        assert_eq!(field.hosts(&machine.uid).await, [""; 0], "{action}");

        // The machine is deleted before the host is stored.
        let machine = field.prepared(&own()).await;
        field.front().inject(Rule::next(action, Effect::ResetAfter));
        field.cloud.create(&machine).await.unwrap_err();
        assert_eq!(field.hosts(&machine.uid).await.len(), 1, "{action}");
        field.restart();
        field.delete(&machine).await;
        assert_eq!(field.hosts(&machine.uid).await, [""; 0], "{action}");
    }
}

#[tokio::test]
async fn refused_launch_leaves_no_host() {
    let field = Field::new().await;
    let machine = field.prepared(&own()).await;
    field.front().inject(Rule::next(
        "RunInstances",
        Effect::Refuse {
            status: StatusCode::BAD_REQUEST,
            code: "InvalidParameterCombination".to_owned(),
            message: "These do not go together.".to_owned(),
        },
    ));
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::InvalidConfiguration);
    assert_eq!(error.effect, Had::NoneForThisAttempt);
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
    field.delete(&machine).await;
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn hosts_of_earlier_attempts_are_released() {
    let field = Field::new().await;
    let other = field.created(&own()).await;
    let mut machine = field.prepared(&own()).await;
    field.front().inject(Rule::next("RunInstances", Effect::Throttle));
    field.cloud.create(&machine).await.unwrap_err();
    assert_eq!(field.hosts(&machine.uid).await.len(), 1, "it is for the next try");
    // Whatever ended that attempt.
    machine.attempt = 2;
    field.prepare(&mut machine).await.unwrap();
    field.front().inject(Rule::next("ReleaseHosts", Effect::Throttle));
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::Throttled, Had::None));
    assert_eq!(field.hosts(&machine.uid).await.len(), 1, "no second one beside the first");
    let instance = field.cloud.create(&machine).await.unwrap();
    store(&mut machine, &instance);
    let host = machine.status.0["dedicatedHost"]["id"].as_str().unwrap().to_owned();
    assert_eq!(field.hosts(&machine.uid).await, [host], "the first went before the second came");
    field.delete(&machine).await;
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
    assert_eq!(field.hosts(&other.uid).await.len(), 1, "another machine's is left alone");
    field.delete(&other).await;
}

pub(super) fn refusal(code: &str) -> Effect {
    let (status, message) = (StatusCode::BAD_REQUEST, "no".to_owned());
    Effect::Refuse { status, code: code.to_owned(), message }
}

#[tokio::test]
async fn attempt_ends_when_its_host_was_released_before_a_restart() {
    let mut field = Field::new().await;
    let mut machine = field.prepared(&own()).await;
    field.front().inject(Rule::next("RunInstances", Effect::NoCapacity));
    field.cloud.create(&machine).await.unwrap_err();
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
    // After a restart it is unknown that the attempt is over, and the token names the released host.
    field.restart();
    for code in ["InvalidHostID.NotFound", "InvalidHostState"] {
        field.front().inject(Rule::next("RunInstances", refusal(code)));
        let error = field.cloud.create(&machine).await.unwrap_err();
        assert_eq!(error.effect, Had::NoneForThisAttempt, "{code}");
    }
    machine.attempt = 2;
    field.prepare(&mut machine).await.unwrap();
    // A host that is not usable yet is waited for.
    field.front().inject(Rule::next("RunInstances", refusal("InvalidHostState")));
    assert_eq!(field.cloud.create(&machine).await.unwrap_err().effect, Had::None);
    let instance = field.cloud.create(&machine).await.unwrap();
    store(&mut machine, &instance);
    assert_eq!(field.hosts(&machine.uid).await.len(), 1);
    field.delete(&machine).await;
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn host_that_was_released_by_hand_is_gone() {
    let field = Field::new().await;
    let machine = field.created(&own()).await;
    let id = field.made(&machine).await.instance_id.unwrap();
    field.front().inject(Rule::every("ReleaseHosts", refusal("InvalidHostState")));
    field.moto.terminate_instances().instance_ids(id).send().await.unwrap();
    let error = end_of_deletion(&field, &machine).await.unwrap_err();
    assert!(error.message.contains("InvalidHostState"), "{error}");
    for host in field.hosts(&machine.uid).await {
        field.moto.release_hosts().host_ids(host).send().await.unwrap();
    }
    field.delete(&machine).await;
}

#[tokio::test]
async fn host_of_another_version_is_released() {
    let field = Field::new().await;
    let mut machine = field.created(&own()).await;
    machine.status.0.remove("dedicatedHost");
    machine.status.0["launch"]["version"] = json!(99);
    field.delete(&machine).await;
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn deletion_allocates_no_host() {
    let field = Field::new().await;
    let machine = field.prepared(&own()).await;
    field.front().inject(Rule::next("AllocateHosts", Effect::NoCapacity));
    field.cloud.create(&machine).await.unwrap_err();
    field.delete(&machine).await;
    assert_eq!(field.front().calls_of("AllocateHosts").len(), 1);
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn lost_host_is_found_by_its_token_without_list_permission() {
    let field = Field::new().await;
    field.front().inject(Rule::every("DescribeHosts", refusal("UnauthorizedOperation")));
    let machine = field.prepared(&own()).await;
    field.front().inject(Rule::next("AllocateHosts", Effect::ResetAfter));
    field.cloud.create(&machine).await.unwrap_err();
    // The limit does not mean that the host does not exist.
    field.front().inject(Rule::next("AllocateHosts", refusal("HostLimitExceeded")));
    let (start, mut messages) = (Instant::now(), Vec::new());
    let error = loop {
        match field.cloud.delete(&machine).await {
            Ok(Deletion::UnderWay(what)) => {
                assert!(start.elapsed() < Duration::from_secs(60));
                assert_eq!(field.front().calls_of("AllocateHosts").len(), 1, "{what}");
                messages.push(what);
            }
            Ok(Deletion::Gone) => panic!("a host is left"),
            Err(error) => break error,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(error.message.contains("ec2:DescribeHosts"), "{error}");
    let last = messages.last().unwrap();
    assert!(last.contains("ec2:DescribeHosts") && last.contains("repeated"), "{last}");
    field.delete(&machine).await;
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}
