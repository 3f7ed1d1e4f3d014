//! A spec that is edited while there is an instance: it is looked for where it is, and never taken for gone because somebody looks elsewhere.

use std::time::{Duration, Instant};

use machinist_provider::cloud::{CloudError, Deletion, ErrorClass, MachineRef, Sighting};
use machinist_testbed::aws::{Effect, Rule};
use serde_json::json;

use super::field::{Field, REGION, WINDOW};
use crate::support::secret;

const ELSEWHERE: &str = "us-west-1";

/// Another account, in moto.
const OTHERS: &str = "222222222222";

/// The Secret holds the keys of another account from now on.
async fn change_account(field: &Field, machine: &mut MachineRef) {
    let key = field.key_of_account(OTHERS).await;
    field.secrets.put("aws", &[("aws_access_key_id", &key), ("aws_secret_access_key", "x")]);
    machine.realm.credentials = secret("aws", 2);
}

fn put_back(field: &Field, machine: &mut MachineRef) {
    field.secrets.put("aws", &[("aws_access_key_id", "AKIAONE"), ("aws_secret_access_key", "x")]);
    machine.realm.credentials = secret("aws", 3);
}

/// What a deletion comes to, once it is not too early to tell.
pub(crate) async fn end_of_deletion(
    field: &Field,
    machine: &MachineRef,
) -> Result<Deletion, CloudError> {
    let start = Instant::now();
    loop {
        match field.cloud.delete(machine).await {
            Ok(Deletion::UnderWay(_)) if start.elapsed() < 10 * WINDOW => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            end => return end,
        }
    }
}

/// What a look comes to, once it is not too early to tell.
pub(crate) async fn end_of_look(field: &Field, machine: &MachineRef) -> Sighting {
    let start = Instant::now();
    loop {
        match field.sighting(machine).await {
            Sighting::Unknown(failure)
                if failure.message.contains("at once") && start.elapsed() < 10 * WINDOW =>
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            end => return end,
        }
    }
}

#[tokio::test]
async fn a_region_that_was_edited_hides_no_instance() {
    let mut field = Field::new().await;
    let mut machine = field.created(&json!({})).await;
    assert_eq!(machine.status.0["launch"]["region"], REGION);
    machine.realm.region = ELSEWHERE.into();
    field.restart();
    assert_eq!(field.present(&machine).await.region.as_deref(), Some(REGION));
    field.cloud.update(&machine).await.unwrap();
    field.delete(&machine).await;
    let state = field.made(&machine).await.state.unwrap();
    assert_eq!(state.name().unwrap().as_str(), "terminated");
}

#[tokio::test]
async fn a_region_that_was_edited_after_the_answer_was_lost_makes_no_second_instance() {
    let mut field = Field::new().await;
    let mut machine = field.prepared(&json!({})).await;
    field.front().inject(Rule::next("RunInstances", Effect::ResetAfter));
    field.cloud.create(&machine).await.unwrap_err();
    machine.realm.region = ELSEWHERE.into();
    field.restart();
    let instance = field.cloud.create(&machine).await.unwrap();
    assert_eq!(field.made(&machine).await.instance_id(), Some(&*instance.id));
    // Nor is anything prepared anew there, where nobody would look for what is here.
    machine.attempt = 2;
    let error = field.cloud.prepare(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unknown);
    assert!(error.message.starts_with("placement.region: "), "{error}");
}

#[tokio::test]
async fn an_instance_of_another_controller_is_found_in_its_zone() {
    let mut field = Field::new().await;
    let mut machine = field.created(&json!({})).await;
    machine.status.0.retain(|name, _| name == "instanceId");
    machine.realm.region = ELSEWHERE.into();
    field.restart();
    assert_eq!(field.present(&machine).await.region.as_deref(), Some(REGION));
}

#[tokio::test]
async fn with_the_credentials_of_another_account_nothing_is_gone() {
    let mut field = Field::new().await;
    let mut machine = field.created(&json!({})).await;
    assert_eq!(machine.status.0["account"], "123456789012");
    change_account(&field, &mut machine).await;
    field.restart();
    let Sighting::Unknown(failure) = end_of_look(&field, &machine).await else {
        panic!("it cannot be known");
    };
    for word in ["account 123456789012", "secret ns/aws", "Put the former ones back"] {
        assert!(failure.message.contains(word), "{}", failure.message);
    }
    let error = end_of_deletion(&field, &machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised);
    // All machines of the account would ask the same.
    let asked = field.front().calls_of("DescribeSecurityGroups").len();
    end_of_look(&field, &machine).await;
    assert_eq!(field.front().calls_of("DescribeSecurityGroups").len(), asked);

    put_back(&field, &mut machine);
    field.delete(&machine).await;
    let state = field.made(&machine).await.state.unwrap();
    assert_eq!(state.name().unwrap().as_str(), "terminated");
}

#[tokio::test]
async fn what_was_made_before_the_account_was_changed_and_nobody_heard_of_is_not_given_up() {
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
async fn what_another_controller_made_is_not_gone_because_another_account_does_not_show_it() {
    let mut field = Field::new().await;
    let mut machine = field.created(&json!({})).await;
    machine.status.0.retain(|name, _| name == "instanceId");
    change_account(&field, &mut machine).await;
    field.restart();
    let Sighting::Unknown(failure) = end_of_look(&field, &machine).await else {
        panic!("it cannot be known");
    };
    let tag = format!("kubernetes.io/cluster/{}", machine.cluster);
    assert!(failure.message.contains(&tag), "{}", failure.message);
    let error = end_of_deletion(&field, &machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised);

    // Where something of the cluster is shown, what is not shown is gone.
    put_back(&field, &mut machine);
    let mut vanished = machine.clone();
    vanished.uid = field.machine(&json!({})).uid;
    vanished.provider_id = None;
    vanished.status.0.insert("instanceId".to_owned(), json!("i-00000000000000000"));
    assert_eq!(end_of_look(&field, &vanished).await, Sighting::Absent);
    assert_eq!(end_of_deletion(&field, &vanished).await, Ok(Deletion::Gone));
    field.delete(&machine).await;
    let state = field.made(&machine).await.state.unwrap();
    assert_eq!(state.name().unwrap().as_str(), "terminated");
}

#[tokio::test]
async fn a_spec_is_not_wrong_because_another_account_does_not_have_what_it_names() {
    let mut field = Field::new().await;
    let filter = json!({ "name": "tag:network", "values": ["none"] });
    let mut machine = field.machine(&json!({ "subnet": { "filters": [filter] } }));
    let tag = format!("kubernetes.io/cluster/{}", machine.cluster);
    // Whose account this is nobody can tell: that may pass.
    let error = field.cloud.prepare(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised);
    for words in ["subnet: no subnet fits", &tag, "secret ns/aws"] {
        assert!(error.message.contains(words), "{error}");
    }
    field.mark_cluster(&machine).await;
    field.restart();
    let error = field.cloud.prepare(&machine).await.unwrap_err();
    assert_eq!(
        (error.class, &*error.message),
        (ErrorClass::InvalidConfiguration, "subnet: no subnet fits in us-east-2: tag:network=none")
    );
    change_account(&field, &mut machine).await;
    let error = field.cloud.prepare(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised);
}

#[tokio::test]
async fn what_a_spec_names_by_id_and_what_is_stored_show_whose_account_it_is() {
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
async fn a_subnet_that_was_deleted_is_no_other_account() {
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
    assert_eq!(end_of_look(&field, &machine).await, Sighting::Absent);
    assert_eq!(end_of_deletion(&field, &machine).await, Ok(Deletion::Gone));
}
