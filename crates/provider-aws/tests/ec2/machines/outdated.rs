//! Stored launches that are outdated: the spec was edited, or its filters match other resources. The current spec is
//! not invalid.

use aws_sdk_ec2::types::{ArchitectureValues, Filter, Tag};
use http::StatusCode;
use machinist_provider::cloud::{Effect as Had, ErrorClass, MachineRef};
use machinist_testbed::aws::{Effect, Rule};
use serde_json::json;

use super::field::Field;

/// The class and effect of a launch that EC2 refuses with this code.
async fn refused(field: &Field, machine: &MachineRef, code: &str) -> (ErrorClass, Had) {
    let refusal = Effect::Refuse {
        status: StatusCode::BAD_REQUEST,
        code: code.to_owned(),
        message: "no".to_owned(),
    };
    field.front().inject(Rule::next("RunInstances", refusal));
    let error = field.cloud.create(machine).await.unwrap_err();
    assert!(error.message.contains(code), "{error}");
    (error.class, error.effect)
}

/// Prepares and creates the next attempt.
async fn next_attempt(field: &Field, machine: &mut MachineRef) {
    machine.attempt += 1;
    field.prepare(machine).await.unwrap();
    field.cloud.create(machine).await.unwrap();
}

#[tokio::test]
async fn refused_launch_is_retried_with_the_edited_spec() {
    let field = Field::new().await;
    let mut machine = field.prepared(&json!({})).await;
    let (none, over) = (Had::None, Had::NoneForThisAttempt);
    let cases = [
        ("UnauthorizedOperation", ErrorClass::Unauthorised, over),
        ("SomethingNew", ErrorClass::Unexpected, over),
        ("InvalidGroup.NotFound", ErrorClass::NotFound, over),
        // Passes without a change.
        ("RequestLimitExceeded", ErrorClass::Throttled, none),
        ("InvalidAMIID.Unavailable", ErrorClass::Unavailable, none),
    ];
    for (code, class, _) in cases {
        assert_eq!(refused(&field, &machine, code).await, (class, none), "{code}");
    }
    let mistake = refused(&field, &machine, "InvalidParameterCombination").await;
    assert_eq!(mistake, (ErrorClass::InvalidConfiguration, none));
    machine.spec = field.machine(&json!({ "instanceType": "m5.xlarge" })).spec;
    for (code, class, effect) in cases {
        assert_eq!(refused(&field, &machine, code).await, (class, effect), "{code}");
    }
    // The edit may have fixed it.
    let mistake = refused(&field, &machine, "InvalidParameterCombination").await;
    assert_eq!(mistake, (ErrorClass::Unavailable, over));
    next_attempt(&field, &mut machine).await;
    let made = field.made(&machine).await;
    assert_eq!(made.instance_type().unwrap().as_str(), "m5.xlarge");
}

#[tokio::test]
async fn removed_user_data_secret_does_not_block() {
    let mut field = Field::new().await;
    field.secrets.put("other", &[("userData", "other")]);
    let mut machine = field.prepared(&json!({})).await;
    field.secrets.put("user-data", &[]);
    field.restart();
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::NotFound, Had::None));
    machine.spec = field.machine(&json!({ "userDataSecret": { "name": "other" } })).spec;
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::NotFound, Had::NoneForThisAttempt));
    next_attempt(&field, &mut machine).await;
    field.made(&machine).await;
}

async fn register_image(field: &Field, name: &str) -> String {
    let call = field.moto.register_image().name(name).root_device_name("/dev/sda1");
    let call = call.architecture(ArchitectureValues::X8664).virtualization_type("hvm");
    call.send().await.unwrap().image_id().unwrap().to_owned()
}

#[tokio::test]
async fn replaced_image_is_not_invalid_configuration() {
    let field = Field::new().await;
    let name = format!("golden-{}", field.machine(&json!({})).key.name);
    let first = register_image(&field, &name).await;
    let filter = json!({ "name": "name", "values": [name] });
    let mut machine = field.prepared(&json!({ "ami": { "filters": [filter] } })).await;
    assert_eq!(machine.status.0["launch"]["image"], json!(first));
    // While the filter matches it, EC2 is right.
    let mistake = (ErrorClass::InvalidConfiguration, Had::None);
    assert_eq!(refused(&field, &machine, "InvalidAMIID.NotFound").await, mistake);
    field.moto.deregister_image().image_id(&first).send().await.unwrap();
    assert_eq!(refused(&field, &machine, "InvalidAMIID.NotFound").await, mistake, "none is left");
    let second = register_image(&field, &name).await;
    let over = (ErrorClass::Unavailable, Had::NoneForThisAttempt);
    assert_eq!(refused(&field, &machine, "InvalidAMIID.NotFound").await, over);
    next_attempt(&field, &mut machine).await;
    assert_eq!(field.made(&machine).await.image_id(), Some(&*second));
}

#[tokio::test]
async fn recreated_security_group_is_looked_up_again() {
    let field = Field::new().await;
    let name = format!("nodes-{}", field.machine(&json!({})).key.name);
    let vpcs = field.moto.describe_vpcs();
    let vpcs = vpcs.filters(Filter::builder().name("is-default").values("true").build());
    let vpc = vpcs.send().await.unwrap().vpcs()[0].vpc_id().unwrap().to_owned();
    let make = async || {
        let call = field.moto.create_security_group().group_name(&name).description("x");
        call.vpc_id(&vpc).send().await.unwrap().group_id().unwrap().to_owned()
    };
    let first = make().await;
    let filter = json!({ "name": "group-name", "values": [name] });
    let groups = json!([{ "filters": [filter] }]);
    let mut machine = field.prepared(&json!({ "securityGroups": groups })).await;
    let wait = (ErrorClass::NotFound, Had::None);
    assert_eq!(refused(&field, &machine, "InvalidGroup.NotFound").await, wait, "it may be new");
    field.moto.delete_security_group().group_id(&first).send().await.unwrap();
    let second = make().await;
    let over = (ErrorClass::NotFound, Had::NoneForThisAttempt);
    assert_eq!(refused(&field, &machine, "InvalidGroup.NotFound").await, over);
    next_attempt(&field, &mut machine).await;
    assert_eq!(machine.status.0["launch"]["securityGroups"], json!([second]));
    field.made(&machine).await;
}

#[tokio::test]
async fn failed_filter_lookup_does_not_fail_the_machine() {
    let field = Field::new().await;
    let machine = field.prepared(&json!({})).await;
    field.front().inject(Rule::nth("DescribeSecurityGroups", 1, Effect::Throttle));
    let refusal = Effect::Refuse {
        status: StatusCode::BAD_REQUEST,
        code: "InvalidSubnetID.NotFound".to_owned(),
        message: "no".to_owned(),
    };
    field.front().inject(Rule::next("RunInstances", refusal));
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::Throttled, Had::None));
    field.cloud.create(&machine).await.unwrap();
    assert_eq!(field.front().unmet_rules(), []);
}

#[tokio::test]
async fn launch_of_another_version_is_not_repeated() {
    let field = Field::new().await;
    let mut machine = field.prepared(&json!({})).await;
    machine.status.0["launch"]["version"] = json!(99);
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::Unexpected, Had::NoneForThisAttempt));
    next_attempt(&field, &mut machine).await;
    field.made(&machine).await;
}

#[tokio::test]
async fn empty_lookup_is_not_cached() {
    let field = Field::new().await;
    let filter = json!({ "name": "tag:network", "values": ["made-later"] });
    let machine = field.machine(&json!({ "subnet": { "filters": [filter] } }));
    field.mark_cluster(&machine).await;
    let error = field.cloud.prepare(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::InvalidConfiguration, "{error}");
    let subnets = field.moto.describe_subnets().send().await.unwrap();
    let subnet = subnets.subnets()[0].subnet_id().unwrap();
    let tag = Tag::builder().key("network").value("made-later").build();
    field.moto.create_tags().resources(subnet).tags(tag).send().await.unwrap();
    let prepared = field.cloud.prepare(&machine).await.unwrap();
    assert_eq!(prepared.0["launch"]["subnet"], subnet);
}
