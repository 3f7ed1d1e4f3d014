//! Specs that are edited while there is an instance: it is found in its stored region, and never counts as gone.

use std::time::{Duration, Instant};

use machinist_domain::retry::Retry;
use machinist_provider::cloud::{CloudError, Deletion, ErrorClass, MachineRef, ObservedInstance};
use machinist_testbed::aws::{Effect, Rule};
use serde_json::json;

use super::field::{Field, REGION, WINDOW};
use crate::support::secret;

const ELSEWHERE: &str = "us-west-1";

/// Another account in moto.
const OTHERS: &str = "222222222222";

/// Puts the keys of another account into the Secret.
async fn change_account(field: &Field, machine: &mut MachineRef) {
    let key = field.key_of_account(OTHERS).await;
    field.secrets.put("aws", &[("aws_access_key_id", &key), ("aws_secret_access_key", "x")]);
    machine.access.credentials = secret("aws", 2);
}

fn put_back(field: &Field, machine: &mut MachineRef) {
    field.secrets.put("aws", &[("aws_access_key_id", "AKIAONE"), ("aws_secret_access_key", "x")]);
    machine.access.credentials = secret("aws", 3);
}

/// The result of a deletion after the consistency window.
pub(crate) async fn end_of_deletion(
    field: &Field,
    machine: &MachineRef,
) -> Result<Deletion, CloudError> {
    let start = Instant::now();
    loop {
        match field.cloud.delete(machine).await {
            Ok(Deletion::UnderWay(_)) if start.elapsed() < 30 * WINDOW => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            end => return end,
        }
    }
}

/// The result of a description after the consistency window.
pub(crate) async fn end_of_look(field: &Field, machine: &MachineRef) -> ObservedInstance {
    let start = Instant::now();
    loop {
        match field.observe(machine).await {
            ObservedInstance::Unknown(failure)
                if matches!(failure.retry, Retry::Again(_)) && start.elapsed() < 30 * WINDOW =>
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            end => return end,
        }
    }
}

#[tokio::test]
async fn edited_region_hides_no_instance() {
    let mut field = Field::new().await;
    let mut machine = field.created(&json!({})).await;
    assert_eq!(machine.status.0["launch"]["region"], REGION);
    machine.access.region = ELSEWHERE.into();
    field.restart();
    assert_eq!(field.present(&machine).await.region.as_deref(), Some(REGION));
    field.cloud.update(&machine).await.unwrap();
    field.delete(&machine).await;
    let state = field.made(&machine).await.state.unwrap();
    assert_eq!(state.name().unwrap().as_str(), "terminated");
}

#[tokio::test]
async fn edited_region_after_a_lost_response_creates_no_second_instance() {
    let mut field = Field::new().await;
    let mut machine = field.prepared(&json!({})).await;
    field.front().inject(Rule::next("RunInstances", Effect::ResetAfter));
    field.cloud.create(&machine).await.unwrap_err();
    machine.access.region = ELSEWHERE.into();
    field.restart();
    let instance = field.cloud.create(&machine).await.unwrap();
    assert_eq!(field.made(&machine).await.instance_id(), Some(&*instance.id));
    // Nothing is prepared in another region either.
    machine.attempt = 2;
    let error = field.cloud.prepare(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unexpected);
    assert!(error.message.starts_with("placement.region is "), "{error}");
}

#[tokio::test]
async fn an_instance_of_another_controller_is_found_in_its_zone() {
    let mut field = Field::new().await;
    let mut machine = field.created(&json!({})).await;
    machine.status.0.retain(|name, _| name == "instanceId");
    machine.access.region = ELSEWHERE.into();
    field.restart();
    assert_eq!(field.present(&machine).await.region.as_deref(), Some(REGION));
}

#[tokio::test]
async fn credentials_of_another_account_do_not_make_instances_absent() {
    let mut field = Field::new().await;
    let mut machine = field.created(&json!({})).await;
    assert_eq!(machine.status.0["account"], "123456789012");
    change_account(&field, &mut machine).await;
    field.restart();
    let ObservedInstance::Unknown(failure) = end_of_look(&field, &machine).await else {
        panic!("it cannot be known");
    };
    for word in ["account 123456789012", "Secret ns/aws", "restore the former credentials"] {
        assert!(failure.message.contains(word), "{}", failure.message);
    }
    let error = end_of_deletion(&field, &machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised);
    // All machines of the account share this lookup.
    let asked = field.front().calls_of("DescribeSecurityGroups").len();
    end_of_look(&field, &machine).await;
    assert_eq!(field.front().calls_of("DescribeSecurityGroups").len(), asked);

    put_back(&field, &mut machine);
    field.delete(&machine).await;
    let state = field.made(&machine).await.state.unwrap();
    assert_eq!(state.name().unwrap().as_str(), "terminated");
}

#[tokio::test]
async fn lost_create_is_not_given_up_after_the_account_changed() {
    let mut field = Field::new().await;
    let mut machine = field.prepared(&json!({})).await;
    field.front().inject(Rule::next("RunInstances", Effect::ResetAfter));
    field.cloud.create(&machine).await.unwrap_err();
    change_account(&field, &mut machine).await;
    field.restart();
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised, "not a mistake that fails it for good");
    let error = end_of_deletion(&field, &machine).await.unwrap_err();
    assert!(error.message.contains("subnet subnet-"), "{error}");

    put_back(&field, &mut machine);
    field.delete(&machine).await;
    let state = field.made(&machine).await.state.unwrap();
    assert_eq!(state.name().unwrap().as_str(), "terminated");
}

#[tokio::test]
async fn instance_of_another_controller_is_not_absent_in_another_account() {
    let mut field = Field::new().await;
    let mut machine = field.created(&json!({})).await;
    machine.status.0.retain(|name, _| name == "instanceId");
    change_account(&field, &mut machine).await;
    field.restart();
    let ObservedInstance::Unknown(failure) = end_of_look(&field, &machine).await else {
        panic!("it cannot be known");
    };
    let tag = format!("kubernetes.io/cluster/{}", machine.cluster);
    assert!(failure.message.contains(&tag), "{}", failure.message);
    let error = end_of_deletion(&field, &machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised);

    // With a visible resource of the cluster, an instance that is not listed is gone.
    put_back(&field, &mut machine);
    let mut vanished = machine.clone();
    vanished.uid = field.machine(&json!({})).uid;
    vanished.provider_id = None;
    vanished.status.0.insert("instanceId".to_owned(), json!("i-00000000000000000"));
    assert_eq!(end_of_look(&field, &vanished).await, ObservedInstance::Absent);
    assert_eq!(end_of_deletion(&field, &vanished).await, Ok(Deletion::Gone));
    field.delete(&machine).await;
    let state = field.made(&machine).await.state.unwrap();
    assert_eq!(state.name().unwrap().as_str(), "terminated");
}

#[tokio::test]
async fn missing_resources_in_another_account_are_not_invalid_configuration() {
    let mut field = Field::new().await;
    let filter = json!({ "name": "tag:network", "values": ["none"] });
    let mut machine = field.machine(&json!({ "subnet": { "filters": [filter] } }));
    let tag = format!("kubernetes.io/cluster/{}", machine.cluster);
    // The account cannot be determined, so the error may pass.
    let error = field.cloud.prepare(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised);
    for words in ["subnet: no subnet in", &tag, "Secret ns/aws"] {
        assert!(error.message.contains(words), "{error}");
    }
    field.mark_cluster(&machine).await;
    field.restart();
    let error = field.cloud.prepare(&machine).await.unwrap_err();
    assert_eq!(
        (error.class, &*error.message),
        (
            ErrorClass::InvalidConfiguration,
            "subnet: no subnet in us-east-2 matches tag:network=none"
        )
    );
    change_account(&field, &mut machine).await;
    let error = field.cloud.prepare(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised);
}

#[tokio::test]
async fn ids_in_spec_and_status_prove_the_account() {
    let field = Field::new().await;
    let groups = field.moto.describe_security_groups().group_names("default");
    let group = groups.send().await.unwrap().security_groups()[0].group_id().unwrap().to_owned();
    let subnets = field.moto.describe_subnets().send().await.unwrap();
    let subnet = subnets.subnets()[0].subnet_id().unwrap();
    let none = json!({ "filters": [{ "name": "tag:network", "values": ["none"] }] });
    let class = async |machine: &MachineRef| field.cloud.prepare(machine).await.unwrap_err().class;
    let by_group = json!({ "securityGroups": [{ "id": group }], "subnet": none });
    let by_subnet = json!({ "subnet": { "id": subnet }, "ami": none });
    for spec in [by_group, by_subnet] {
        let seen = class(&field.machine(&spec)).await;
        assert_eq!(seen, ErrorClass::InvalidConfiguration, "{spec}");
    }
    let mut machine = field.machine(&json!({ "subnet": none }));
    machine.status.0.insert("account".to_owned(), json!("123456789012"));
    assert_eq!(class(&machine).await, ErrorClass::InvalidConfiguration);
    field.mark_cluster(&machine).await;
    machine.status.0.insert("account".to_owned(), json!(OTHERS));
    assert_eq!(class(&machine).await, ErrorClass::Unauthorised, "it was another one");
}

#[tokio::test]
async fn deleted_subnet_does_not_mean_another_account() {
    let field = Field::in_region("ca-central-1").await;
    let vpcs = field.moto.describe_vpcs().send().await.unwrap();
    let vpc = vpcs.vpcs()[0].vpc_id().unwrap();
    let made = field.moto.create_subnet().vpc_id(vpc).cidr_block("172.31.96.0/20");
    let made = made.send().await.unwrap();
    let subnet = made.subnet().unwrap().subnet_id().unwrap();
    let machine = field.prepared(&json!({ "subnet": { "id": subnet } })).await;
    field.front().inject(Rule::next("RunInstances", Effect::ResetBefore));
    field.cloud.create(&machine).await.unwrap_err();
    field.moto.delete_subnet().subnet_id(subnet).send().await.unwrap();
    assert_eq!(end_of_look(&field, &machine).await, ObservedInstance::Absent);
    assert_eq!(end_of_deletion(&field, &machine).await, Ok(Deletion::Gone));
}
