//! Deregistration after a concurrent change: of the spec, the network, the load balancer, or the controller.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_ec2::types::{ResourceType, Tag, TagSpecification};
use machinist_provider::cloud::{ErrorClass, MachineRef};
use machinist_testbed::aws::{Effect, Rule};
use serde_json::{Value, json};

use super::balancers::Balanced;
use super::field::{Field, store};

/// Terminates an instance by hand, and returns its address.
async fn terminate(field: &Field, machine: &MachineRef) -> String {
    let made = field.made(machine).await;
    let id = made.instance_id().unwrap();
    field.moto.terminate_instances().instance_ids(id).send().await.unwrap();
    made.private_ip_address().unwrap().to_owned()
}

/// An instance with the same address in another VPC. Returns its id.
async fn namesake(field: &Field, address: &str, tag: Option<Tag>) -> String {
    let range = "172.31.0.0/16";
    let vpc = field.moto.create_vpc().cidr_block(range).send().await.unwrap();
    let vpc = vpc.vpc().and_then(|vpc| vpc.vpc_id()).unwrap();
    let subnet = field.moto.create_subnet().vpc_id(vpc).cidr_block(range).send().await.unwrap();
    let subnet = subnet.subnet().and_then(|subnet| subnet.subnet_id()).unwrap();
    let tags = tag.map(|tag| {
        TagSpecification::builder().resource_type(ResourceType::Instance).tags(tag).build()
    });
    let call = field.moto.run_instances().min_count(1).max_count(1).image_id(&field.image);
    let call = call.instance_type("m5.large".into()).subnet_id(subnet).private_ip_address(address);
    let made = call.set_tag_specifications(tags.map(|tags| vec![tags])).send().await.unwrap();
    let made = &made.instances()[0];
    assert_eq!(made.private_ip_address(), Some(address));
    made.instance_id().unwrap().to_owned()
}

/// Deletes a machine, and checks that it was deregistered before.
async fn leaves_everybody(balanced: &Balanced, machine: &MachineRef) {
    let field = &balanced.field;
    let id = machine.status.0["instanceId"].as_str().unwrap().to_owned();
    field.delete(machine).await;
    let count = |action: &str| {
        let calls = field.front().calls_of(action);
        calls.iter().filter(|call| call.parameters.values().any(|value| *value == id)).count()
    };
    let counts = (count("DeregisterInstancesFromLoadBalancer"), count("DeregisterTargets"));
    assert_eq!(counts, (1, 1), "with the group of instances");
    assert_eq!(balanced.known_to_classic().await, [""; 0]);
    assert_eq!((balanced.targets(0).await.len(), balanced.targets(1).await.len()), (0, 0));
}

#[tokio::test]
async fn stores_the_load_balancers_of_an_instance() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let mut machine = field.created(&balanced.spec()).await;
    let stored = balanced.spec()["loadBalancers"].clone();
    assert_eq!(machine.status.0["loadBalancers"], stored, "stored before the first deregistration");
    // One more, in another order: stored ones keep their place.
    let other = json!({ "name": "other", "type": "network" });
    let more = json!({ "loadBalancers": [other, stored[1], stored[0]] });
    machine.spec = field.machine(&more).spec;
    let seen = field.present(&machine).await;
    store(&mut machine, &seen);
    let both = json!([stored[0], stored[1], other]);
    assert_eq!(machine.status.0["loadBalancers"], both);
    machine.spec = field.machine(&json!({})).spec;
    assert_eq!(field.present(&machine).await.status, machine.status);
    let plain = field.created(&json!({})).await;
    assert!(!plain.status.0.contains_key("loadBalancers"), "{:?}", plain.status);
}

#[tokio::test]
async fn deregisters_from_load_balancers_removed_from_the_spec() {
    let balanced = Balanced::new().await;
    let mut machine = balanced.registered().await;
    machine.spec = balanced.field.machine(&json!({})).spec;
    leaves_everybody(&balanced, &machine).await;

    // Also if it terminated before.
    let mut machine = balanced.registered().await;
    machine.spec = balanced.field.machine(&json!({})).spec;
    terminate(&balanced.field, &machine).await;
    assert_eq!(balanced.targets(1).await.len(), 1);
    balanced.field.delete(&machine).await;
    assert_eq!(balanced.targets(1).await, [""; 0]);
}

#[tokio::test]
async fn deregisters_with_an_otherwise_invalid_spec() {
    let balanced = Balanced::new().await;
    let spoilt = |machine: &mut MachineRef, spec: &Value| {
        machine.spec = balanced.field.machine(spec).spec;
    };
    let mut machine = balanced.registered().await;
    machine.status.0.remove("loadBalancers");
    let mut spec = balanced.spec();
    spec["tags"] = json!(5);
    spoilt(&mut machine, &spec);
    leaves_everybody(&balanced, &machine).await;

    let mut machine = balanced.registered().await;
    spoilt(&mut machine, &json!({ "loadBalancers": "all" }));
    leaves_everybody(&balanced, &machine).await;
}

#[tokio::test]
async fn deletion_waits_while_load_balancers_are_unknown() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let mut machine = balanced.registered().await;
    // As another controller leaves it.
    machine.status.0.remove("loadBalancers");
    let spec = std::mem::replace(
        &mut machine.spec,
        field.machine(&json!({ "loadBalancers": "all" })).spec,
    );
    let error = field.cloud.delete(&machine).await.unwrap_err();
    assert!(error.message.contains("loadBalancers"), "{error}");
    assert!(field.front().calls_of("TerminateInstances").is_empty());
    machine.spec = spec;
    leaves_everybody(&balanced, &machine).await;
}

#[tokio::test]
async fn address_belongs_to_the_instance_that_the_group_reaches() {
    // Another VPC has a security group of the same name.
    let balanced = Balanced::in_region("eu-west-3").await;
    let field = &balanced.field;
    let machine = balanced.registered().await;
    let address = terminate(field, &machine).await;
    // The cluster's own instances may be in a peered VPC.
    let tag = Tag::builder().key(format!("kubernetes.io/cluster/{}", machine.cluster));
    let id = namesake(field, &address, Some(tag.value("owned").build())).await;
    field.delete(&machine).await;
    assert_eq!(balanced.targets(1).await, [&*address]);

    field.moto.terminate_instances().instance_ids(id).send().await.unwrap();
    namesake(field, &address, None).await;
    field.delete(&machine).await;
    assert_eq!(balanced.targets(1).await, [""; 0], "networks apart have the same addresses");
}

#[tokio::test]
async fn deregisters_an_address_of_another_controller() {
    let mut balanced = Balanced::new().await;
    let machine = balanced.field.created(&balanced.spec()).await;
    let drift = balanced.field.present(&machine).await.drift.clone();
    assert!(drift.is_some_and(|drift| drift.starts_with("not registered")), "it is remembered");
    let ours = Arc::clone(&balanced.field.cloud);
    balanced.field.restart();
    balanced.field.cloud.update(&machine).await.unwrap();
    let address = terminate(&balanced.field, &machine).await;
    assert_eq!(balanced.targets(1).await, [address]);
    balanced.field.cloud = ours;
    balanced.field.delete(&machine).await;
    assert_eq!(balanced.targets(1).await, [""; 0]);
}

#[tokio::test]
async fn concurrent_reader_does_not_cache_the_state_before_registration() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let network = json!({ "loadBalancers": [{ "name": balanced.name, "type": "network" }] });
    let machine = field.created(&network).await;
    let slow = Effect::Delay(Duration::from_millis(700));
    field.front().inject(Rule::next("RegisterTargets", slow).times(2));
    let looking = async {
        loop {
            field.present(&machine).await;
        }
    };
    tokio::select! {
        updated = field.cloud.update(&machine) => drop(updated.unwrap()),
        never = looking => never,
    }
    assert_eq!(field.present(&machine).await.drift, None);
}

#[tokio::test]
async fn load_balancer_without_target_group_is_reported() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let name = balanced.make_useless().await;
    let machine =
        field.created(&json!({ "loadBalancers": [{ "name": name, "type": "network" }] })).await;
    let expected =
        format!("load balancer {name} has no target group for instances or IP addresses");
    assert_eq!(field.present(&machine).await.drift.as_deref(), Some(&*expected));
    let error = field.cloud.update(&machine).await.unwrap_err();
    assert_eq!((error.class, &error.message), (ErrorClass::NotFound, &expected));
    field.delete(&machine).await;
}
