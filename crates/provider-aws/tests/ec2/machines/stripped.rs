//! Instances that lost their tags: the token of their launch identifies them; without it they do not count as gone.

use aws_sdk_ec2::types::{InstanceStateName, Tag};
use machinist_provider::cloud::{
    Deletion, ErrorClass, InstanceState, MachineRef, ObservedInstance,
};
use serde_json::json;

use super::edited_specs::end_of_deletion;
use super::field::{Field, UID_TAG, tags};

async fn instance(field: &Field, id: &str) -> aws_sdk_ec2::types::Instance {
    let shown = field.moto.describe_instances().instance_ids(id).send().await.unwrap();
    shown.reservations()[0].instances()[0].clone()
}

async fn state(field: &Field, id: &str) -> InstanceStateName {
    let state = instance(field, id).await.state.unwrap();
    state.name.unwrap()
}

/// Removes every tag of an instance.
async fn strip(field: &Field, id: &str) {
    let tags = instance(field, id).await.tags.unwrap();
    field.moto.delete_tags().resources(id).set_tags(Some(tags)).send().await.unwrap();
    assert!(instance(field, id).await.tags().is_empty());
}

/// A machine that names an instance without any proof of ownership.
async fn naming_a_strange_one(field: &Field) -> (MachineRef, String) {
    let call = field.moto.run_instances().min_count(1).max_count(1).image_id(&field.image);
    let made = call.instance_type("m5.large".into()).send().await.unwrap();
    let id = made.instances()[0].instance_id().unwrap().to_owned();
    let mut machine = field.machine(&json!({}));
    machine.status.0.insert("instanceId".to_owned(), json!(id));
    machine.provider_id = Some(format!("aws:///us-east-2a/{id}").into());
    (machine, id)
}

#[tokio::test]
async fn instance_without_tags_is_repaired_and_deleted_with_its_machine() {
    let field = Field::new().await;
    let machine = field.created(&json!({})).await;
    let made = field.made(&machine).await;
    let (id, before) = (made.instance_id().unwrap(), tags(made.tags()));
    strip(&field, id).await;
    let seen = field.present(&machine).await;
    assert_eq!((&*seen.id, seen.state), (id, InstanceState::Running));
    let drift = seen.drift.as_deref().unwrap();
    for tag in before.keys() {
        assert!(drift.contains(tag.as_str()), "{tag} in {drift}");
    }
    assert_eq!(field.cloud.update(&machine).await.unwrap().drift, None);
    assert_eq!(tags(instance(&field, id).await.tags()), before);

    strip(&field, id).await;
    field.delete(&machine).await;
    assert_eq!(state(&field, id).await, InstanceStateName::Terminated);
}

#[tokio::test]
async fn instance_without_proof_of_ownership_blocks_the_deletion() {
    let field = Field::new().await;
    let (machine, id) = naming_a_strange_one(&field).await;
    assert!(matches!(field.observe(&machine).await, ObservedInstance::Unknown(_)));
    let error = end_of_deletion(&field, &machine).await.unwrap_err();
    for words in [&*id, UID_TAG, &*machine.uid.0, "spec.providerID", "instanceId"] {
        assert!(error.message.contains(words), "{words} in {error}");
    }
    assert_ne!(error.class, ErrorClass::InvalidConfiguration, "it is tried again");
    assert_eq!(state(&field, &id).await, InstanceStateName::Running);
    // As the message says: it is this machine's.
    let tag = Tag::builder().key(UID_TAG).value(&*machine.uid.0).build();
    field.moto.create_tags().resources(&id).tags(tag).send().await.unwrap();
    field.delete(&machine).await;
    assert_eq!(state(&field, &id).await, InstanceStateName::Terminated);

    // It is not.
    let (mut machine, id) = naming_a_strange_one(&field).await;
    end_of_deletion(&field, &machine).await.unwrap_err();
    machine.status.0.remove("instanceId");
    machine.provider_id = None;
    assert_eq!(end_of_deletion(&field, &machine).await, Ok(Deletion::Gone));
    assert_eq!(state(&field, &id).await, InstanceStateName::Running);

    // It is terminated by hand.
    let (machine, id) = naming_a_strange_one(&field).await;
    field.mark_cluster(&machine).await;
    end_of_deletion(&field, &machine).await.unwrap_err();
    field.moto.terminate_instances().instance_ids(&id).send().await.unwrap();
    assert_eq!(end_of_deletion(&field, &machine).await, Ok(Deletion::Gone));
}
