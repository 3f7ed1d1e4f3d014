//! Launches with lost responses, concurrent changes and manual interference; and the number of calls.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_ec2::types::{ResourceType, Tag, TagSpecification};
use machinist_provider::cloud::{
    Deletion, Effect as Had, ErrorClass, InstanceState, ObservedInstance,
};
use machinist_testbed::aws::{Behaviour, Effect, Rule};
use serde_json::json;
use tokio::task::JoinSet;

use super::field::{Field, store};

#[tokio::test]
async fn repeat_is_the_same_request_after_any_change() {
    let mut field = Field::new().await;
    let mut machine = field.prepared(&json!({})).await;
    field.front().inject(Rule::next("RunInstances", Effect::ResetAfter));
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::Unavailable, Had::Unclear));
    // Now another image and other subnets would match, and the spec was edited.
    let edited = json!({
        "ami": { "filters": [{ "name": "architecture", "values": ["arm64"] }] },
        "subnet": { "filters": [{ "name": "tag:none", "values": ["none"] }] },
        "instanceType": "m5.xlarge",
    });
    machine.spec = field.machine(&edited).spec;
    field.restart();
    let instance = field.cloud.create(&machine).await.unwrap();
    let made = field.made(&machine).await;
    assert_eq!(made.instance_id(), Some(&*instance.id));
    let calls = field.front().calls_of("RunInstances");
    assert_eq!(calls[0].parameters, calls[1].parameters);
}

#[tokio::test]
async fn changed_user_data_creates_no_second_instance() {
    let mut field = Field::new().await;
    let machine = field.prepared(&json!({})).await;
    let stored = serde_json::to_string(&machine.status.0).unwrap();
    assert!(!stored.contains("IyEvYmlu"), "user data is the Secret's: {stored}");
    field.front().inject(Rule::next("RunInstances", Effect::ResetAfter));
    field.cloud.create(&machine).await.unwrap_err();
    field.secrets.put("user-data", &[("userData", "other")]);
    field.restart();
    let instance = field.cloud.create(&machine).await.unwrap();
    assert_eq!(field.made(&machine).await.instance_id(), Some(&*instance.id));

    // It was not created before: it is created now, with the current Secret.
    let machine = field.prepared(&json!({})).await;
    field.front().inject(Rule::next("RunInstances", Effect::ResetBefore));
    field.cloud.create(&machine).await.unwrap_err();
    field.secrets.put("user-data", &[("userData", "third")]);
    field.restart();
    field.cloud.create(&machine).await.unwrap();
    field.made(&machine).await;
}

#[tokio::test]
async fn token_of_a_terminated_instance_ends_the_attempt() {
    let field = Field::new().await;
    let mut machine = field.prepared(&json!({})).await;
    field.front().inject(Rule::next("RunInstances", Effect::ResetAfter));
    field.cloud.create(&machine).await.unwrap_err();
    let id = field.made(&machine).await.instance_id.unwrap();
    field
        .front()
        .behave(Behaviour { terminated_for: Duration::from_secs(60), ..Behaviour::default() });
    // Created by hand with the same request.
    let mut theirs = machine.clone();
    theirs.status.0.insert("instanceId".to_owned(), json!(id));
    field.delete(&theirs).await;
    // While EC2 lists it, its state is reported.
    let instance = field.cloud.create(&machine).await.unwrap();
    assert_eq!(instance.state, InstanceState::Terminated);
    // Then the token is used, and nothing is listed: another attempt may follow.
    field.front().clock().advance(Duration::from_secs(120));
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::Unavailable, Had::NoneForThisAttempt));
    machine.attempt = 2;
    field.prepare(&mut machine).await.unwrap();
    field.cloud.create(&machine).await.unwrap();
    assert_eq!(field.truth(&machine.uid).await.len(), 2);
}

#[tokio::test]
async fn reports_manual_stop_and_termination() {
    let field = Field::new().await;
    let machine = field.created(&json!({})).await;
    let id = field.made(&machine).await.instance_id.unwrap();
    field.moto.stop_instances().instance_ids(&id).send().await.unwrap();
    let seen = field.present(&machine).await;
    assert_eq!((seen.state, &*seen.state_text), (InstanceState::Stopped, "stopped"));
    assert_eq!(seen.status.0["instanceState"], "stopped");
    field.moto.terminate_instances().instance_ids(&id).send().await.unwrap();
    let seen = field.present(&machine).await;
    assert_eq!(seen.state, InstanceState::Terminated);
    assert!(seen.state_reason.is_some(), "{seen:?}");
}

#[tokio::test]
async fn addresses_with_the_names_of_the_network() {
    let field = Field::new().await;
    let machine = field.created(&json!({})).await;
    let made = field.made(&machine).await;
    let (ip, name) = (made.private_ip_address().unwrap(), made.private_dns_name().unwrap());
    let seen = field.present(&machine).await;
    let listed: Vec<_> = seen
        .addresses
        .iter()
        .map(|address| format!("{} {}", address.kind.as_str(), address.address))
        .collect();
    assert!(listed.contains(&format!("InternalIP {ip}")), "{listed:?}");
    assert!(listed.contains(&format!("InternalDNS {name}")), "{listed:?}");
    assert!(listed.contains(&format!("Hostname {name}")), "{listed:?}");
    assert_eq!(field.front().calls_of("DescribeVpcs").len(), 1);
    assert_eq!(field.front().calls_of("DescribeDhcpOptions").len(), 1);
}

#[tokio::test]
async fn many_are_prepared_and_described_in_few_calls() {
    let field = Field::new().await;
    let mut machines = Vec::new();
    for _ in 0..6 {
        machines.push(field.created(&json!({})).await);
    }
    let count = |action: &str| field.front().calls_of(action).len();
    assert_eq!((count("DescribeSubnets"), count("DescribeSecurityGroups")), (1, 1));
    assert_eq!((count("DescribeImages"), count("RunInstances")), (0, 6));
    let seen = field.cloud.describe(&machines).await;
    assert!(seen.iter().all(|seen| matches!(seen, ObservedInstance::Present(_))), "{seen:?}");
    assert_eq!((count("DescribeInstances"), count("DescribeVpcs")), (1, 1));
    field.cloud.describe(&machines).await;
    assert_eq!((count("DescribeInstances"), count("DescribeVpcs")), (2, 1));

    // Unknown ids do not fail the call; two hundred are requested together.
    let mut unknown = Vec::new();
    for number in 0..194 {
        let mut machine = field.machine(&json!({}));
        machine.status.0.insert("instanceId".to_owned(), json!(format!("i-{number:017x}")));
        unknown.push(machine);
    }
    machines.extend(unknown);
    let seen = field.cloud.describe(&machines).await;
    let present = seen.iter().filter(|seen| matches!(seen, ObservedInstance::Present(_))).count();
    assert_eq!(present, 6);
    assert_eq!(count("DescribeInstances"), 4, "once by id, once by uid");
    let calls = field.counter.calls.lock().clone();
    assert_eq!(calls.len(), field.front().calls().len(), "every call is counted");
}

#[tokio::test]
async fn many_are_deleted_with_few_searches() {
    let field = Field::new().await;
    let mut machines = Vec::new();
    for _ in 0..8 {
        machines.push(field.created(&json!({})).await);
    }
    let count = |action: &str| field.front().calls_of(action).len();
    let before = count("DescribeInstances");
    let mut deletions = JoinSet::new();
    for machine in &machines {
        let (cloud, machine) = (Arc::clone(&field.cloud), machine.clone());
        deletions.spawn(async move { cloud.delete(&machine).await });
    }
    while let Some(deleted) = deletions.join_next().await {
        assert!(matches!(deleted.unwrap().unwrap(), Deletion::UnderWay(_)));
    }
    assert_eq!(count("TerminateInstances"), 8, "each terminates its own instance");
    let searches = count("DescribeInstances") - before;
    // One by id and one by uid, twice if the machine is busy.
    assert!(searches <= 4, "{searches} searches for 8 deletions");
    for machine in &machines {
        let state = field.made(machine).await.state().and_then(|state| state.name().cloned());
        assert!(state.is_some_and(|state| state.as_str() != "running"));
        field.delete(machine).await;
    }
}

#[tokio::test]
async fn one_cancelled_deletion_does_not_stop_the_others() {
    let field = Field::new().await;
    let (first, second) = (field.created(&json!({})).await, field.created(&json!({})).await);
    let cancelled = tokio::time::timeout(Duration::from_millis(5), field.cloud.delete(&first));
    let (cancelled, deleted) = tokio::join!(cancelled, field.cloud.delete(&second));
    assert!(cancelled.is_err(), "it waits for others to join: {cancelled:?}");
    assert!(matches!(deleted.unwrap(), Deletion::UnderWay(_)));
    field.delete(&first).await;
    field.delete(&second).await;
}

#[tokio::test]
async fn invalid_spec_is_reported_without_a_call() {
    let field = Field::new().await;
    let extra = json!({ "publicIp": true, "networkInterfaceType": "wifi", "marketType": "Free" });
    let error = field.prepare(&mut field.machine(&extra)).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::InvalidConfiguration);
    for path in ["networkInterfaceType: ", "marketType: "] {
        assert!(error.message.contains(path), "{error}");
    }
    assert_eq!(field.front().calls().len(), 0);
    let missing = json!({ "userDataSecret": { "name": "missing" } });
    let error = field.prepare(&mut field.machine(&missing)).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::NotFound, "it may come yet");
    assert!(error.message.contains("ns/missing"), "{error}");
    assert_eq!(field.front().calls().len(), 0);
}

#[tokio::test]
async fn failed_creation_is_recorded_beside_the_stored_launch() {
    let field = Field::new().await;
    let machine = field.prepared(&json!({})).await;
    field.front().inject(Rule::next("RunInstances", Effect::NoCapacity));
    let error = field.cloud.create(&machine).await.unwrap_err();
    let now = jiff::Timestamp::UNIX_EPOCH;
    let recorded = field.cloud.failed_status(&machine.status, &error.message, now).unwrap();
    let failed = json!([{ "type": "MachineCreation", "status": "False",
        "reason": "MachineCreationFailed", "message": error.message,
        "lastTransitionTime": "1970-01-01T00:00:00Z" }]);
    assert_eq!(recorded.0["conditions"], failed);
    assert_eq!(recorded.0["launch"], machine.status.0["launch"]);
}

#[tokio::test]
async fn next_attempt_uses_another_zone_after_missing_capacity() {
    let field = Field::new().await;
    let mut machine = field.prepared(&json!({})).await;
    field.front().inject(Rule::next("RunInstances", Effect::NoCapacity));
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!(error.effect, Had::NoneForThisAttempt);
    let first = machine.status.0["launch"]["zone"].clone();
    machine.attempt = 2;
    field.prepare(&mut machine).await.unwrap();
    assert_ne!(machine.status.0["launch"]["zone"], first);
    let instance = field.cloud.create(&machine).await.unwrap();
    store(&mut machine, &instance);
    assert_eq!(
        field.present(&machine).await.zone.as_deref(),
        machine.status.0["launch"]["zone"].as_str()
    );
}

/// So a thousand cost seven. moto needs minutes for that many.
#[tokio::test]
async fn a_settled_fleet_costs_one_call_for_two_hundred_and_two_for_its_network() {
    let field = Field::new().await;
    // A region of its own: moto scans all instances of a region for every request.
    let region = "eu-north-1";
    let config = field.moto.config().to_builder();
    let config = config.region(aws_sdk_ec2::config::Region::new(region)).build();
    let moto = aws_sdk_ec2::Client::from_conf(config);
    let first = field.machine(&json!({ "tags": [] }));
    let tag = |key: &str, value: &str| Tag::builder().key(key).value(value).build();
    let tags = TagSpecification::builder()
        .resource_type(ResourceType::Instance)
        .tags(tag(&format!("kubernetes.io/cluster/{}", first.cluster), "owned"))
        .build();
    let call = moto.run_instances().min_count(250).max_count(250).image_id(&field.image);
    let call = call.instance_type("m5.large".into()).tag_specifications(tags);
    let made = call.send().await.unwrap();
    let machines: Vec<_> = made
        .instances()
        .iter()
        .map(|instance| {
            let mut machine = first.clone();
            machine.access.region = region.into();
            machine.status.0.insert("instanceId".to_owned(), json!(instance.instance_id()));
            machine
        })
        .collect();
    assert_eq!(machines.len(), 250);
    for batch in machines.chunks(200) {
        let seen = field.cloud.describe(batch).await;
        assert!(seen.iter().all(|seen| matches!(seen, ObservedInstance::Present(_))));
    }
    let calls: Vec<_> = field.front().calls().into_iter().map(|call| call.action).collect();
    let expected =
        ["DescribeInstances", "DescribeVpcs", "DescribeDhcpOptions", "DescribeInstances"];
    assert_eq!(calls, expected);
}

#[tokio::test]
async fn deleted_user_data_secret_hides_no_instance() {
    let mut field = Field::new().await;
    let machine = field.prepared(&json!({})).await;
    let never = field.prepared(&json!({})).await;
    field.front().inject(Rule::next("RunInstances", Effect::ResetAfter));
    field.cloud.create(&machine).await.unwrap_err();
    field.secrets.put("user-data", &[]);
    field.restart();
    let instance = field.cloud.create(&machine).await.unwrap();
    assert_eq!(field.made(&machine).await.instance_id(), Some(&*instance.id));
    let error = field.cloud.create(&never).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::NotFound, Had::None));
    assert!(error.message.contains("ns/user-data"), "{error}");
}
