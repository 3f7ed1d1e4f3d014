//! Machines of another controller: its status and tags, without a uid. They are taken over without a new instance.

use aws_sdk_ec2::types::{ResourceType, Tag, TagSpecification};
use jiff::SignedDuration;
use machinist_domain::retry::Retry;
use machinist_provider::cloud::{
    Deletion, ErrorClass, InstanceState, MachineRef, ObservedInstance, ProviderStatus,
};
use serde_json::json;

use super::edited_specs::{end_of_deletion, end_of_look};
use super::field::{Field, UID_TAG, WINDOW, tags};

/// An instance as the other controller launches it.
async fn by_hand(field: &Field, machine: &MachineRef) -> String {
    let tag = |key: &str, value: &str| Tag::builder().key(key).value(value).build();
    let tags = TagSpecification::builder()
        .resource_type(ResourceType::Instance)
        .tags(tag("Name", &machine.key.name))
        .tags(tag(&format!("kubernetes.io/cluster/{}", machine.cluster), "owned"))
        .tags(tag("team", "a"))
        .tags(tag("theirs", "stays"))
        .build();
    let call = field.moto.run_instances().min_count(1).max_count(1).image_id(&field.image);
    let call = call.instance_type("m5.large".into()).tag_specifications(tags);
    call.send().await.unwrap().instances()[0].instance_id().unwrap().to_owned()
}

fn changes(field: &Field) -> Vec<String> {
    let calls = field.front().calls().into_iter().map(|call| call.action);
    calls.filter(|action| !action.starts_with("Describe")).collect()
}

#[tokio::test]
async fn a_machine_with_the_other_controllers_status() {
    let field = Field::new().await;
    let mut machine = field.machine(&json!({}));
    let id = by_hand(&field, &machine).await;
    let status = json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "AWSMachineProviderStatus",
        "instanceId": id,
        "instanceState": "running",
        "conditions": [{ "type": "MachineCreation", "status": "True",
            "reason": "MachineCreationSucceeded", "message": "Machine successfully created",
            "lastTransitionTime": "2026-01-01T00:00:00Z" }],
    });
    machine.status = ProviderStatus(status.as_object().unwrap().clone());
    machine.provider_id = Some(format!("aws:///us-east-2a/{id}").into());
    // The other controller's instances may be older than the Machine.
    machine.created += SignedDuration::from_hours(1);

    let seen = field.present(&machine).await;
    assert_eq!((&*seen.id, seen.state), (id.as_str(), InstanceState::Running));
    let mut known = machine.status.clone();
    known.0.insert("account".to_owned(), json!("123456789012"));
    assert_eq!(seen.status, known, "nothing else to write");
    machine.status = known;
    assert_eq!(field.present(&machine).await.status, machine.status);
    let drift = seen.drift.as_deref().unwrap();
    assert_eq!(
        drift,
        "tags differ: machinist.dev/cluster, machinist.dev/machine-uid, machinist.dev/made-by"
    );
    let repaired = field.cloud.update(&machine).await.unwrap();
    assert_eq!(repaired.drift, None);
    assert_eq!(field.present(&machine).await.drift, None);
    assert_eq!(changes(&field), ["CreateTags"]);
    let made = field.made(&machine).await;
    assert_eq!(tags(made.tags())["theirs"], "stays");
    field.delete(&machine).await;
    assert_eq!(field.made(&machine).await.state().unwrap().name().unwrap().as_str(), "terminated");
}

#[tokio::test]
async fn a_machine_whose_launch_the_other_controller_could_not_store() {
    let field = Field::new().await;
    let machine = field.machine(&json!({}));
    let id = by_hand(&field, &machine).await;
    assert_eq!(*field.present(&machine).await.id, *id);

    // The same names, but the Machine is younger: the instance belongs to a namesake.
    let mut later = machine.clone();
    later.created += SignedDuration::from_hours(1);
    assert_eq!(end_of_look(&field, &later).await, ObservedInstance::Absent);
    // The same name in another cluster.
    let mut other = machine.clone();
    other.cluster = "another".into();
    assert_eq!(end_of_look(&field, &other).await, ObservedInstance::Absent);
    // Instances of machinist have the uid, so a name proves nothing.
    let mut ours = machine.clone();
    ours.status = field.cloud.prepare(&ours).await.unwrap();
    assert_eq!(end_of_look(&field, &ours).await, ObservedInstance::Absent);
    assert_eq!(changes(&field), [""; 0]);
}

/// Without another identity, the other controller uses the cluster name in the Machine's label.
#[tokio::test]
async fn a_cluster_that_the_other_controller_calls_by_another_name() {
    let field = Field::new().await;
    let mut machine = field.machine(&json!({}));
    let theirs = format!("label-of-{}", machine.cluster);
    let other = MachineRef { cluster: theirs.as_str().into(), ..machine.clone() };
    let id = by_hand(&field, &other).await;
    assert_eq!(end_of_look(&field, &machine).await, ObservedInstance::Absent, "it cannot know");
    machine.cluster_label = Some(theirs.as_str().into());
    assert_eq!(*field.present(&machine).await.id, *id);
    // The label's name counts as much as the identity.
    let mut vanished = field.machine(&json!({}));
    vanished.cluster_label.clone_from(&machine.cluster_label);
    vanished.status.0.insert("instanceId".to_owned(), json!("i-00000000000000000"));
    assert_eq!(end_of_look(&field, &vanished).await, ObservedInstance::Absent);
    assert_eq!(changes(&field), [""; 0]);
    field.delete(&machine).await;
    let left = field.moto.describe_instances().instance_ids(id).send().await.unwrap();
    let state = left.reservations()[0].instances()[0].state().unwrap();
    assert_eq!(state.name().unwrap().as_str(), "terminated");
}

#[tokio::test]
async fn foreign_instance_is_neither_described_nor_deleted() {
    let field = Field::new().await;
    let owner = field.created(&json!({})).await;
    let mut thief = field.machine(&json!({}));
    thief.provider_id.clone_from(&owner.provider_id);
    let id = owner.status.0["instanceId"].clone();
    thief.status.0.insert("instanceId".to_owned(), id);
    match field.observe(&thief).await {
        ObservedInstance::Unknown(failure) => assert!(failure.message.contains("does not belong")),
        other => panic!("{other:?}"),
    }
    field.delete(&thief).await;
    assert_eq!(field.present(&owner).await.state, InstanceState::Running);
    // A wildcard matches nothing.
    thief.provider_id = None;
    thief.status.0.insert("instanceId".to_owned(), json!("*"));
    assert_eq!(end_of_look(&field, &thief).await, ObservedInstance::Absent);
}

#[tokio::test]
async fn waits_for_an_instance_of_the_other_controller_to_be_listed() {
    let mut field = Field::new().await;
    // Longer than two calls take on a busy machine.
    field.restart_with(10 * WINDOW);
    let machine = field.machine(&json!({}));
    let ObservedInstance::Unknown(failure) = field.observe(&machine).await else {
        panic!("it is too early to tell");
    };
    assert!(matches!(failure.retry, Retry::Again(_)), "{failure:?}");
    assert!(matches!(field.cloud.delete(&machine).await, Ok(Deletion::UnderWay(_))));
    let id = by_hand(&field, &machine).await;
    assert_eq!(*field.present(&machine).await.id, *id);
    field.delete(&machine).await;
    let left = field.moto.describe_instances().instance_ids(id).send().await.unwrap();
    let state = left.reservations()[0].instances()[0].state().unwrap();
    assert_eq!(state.name().unwrap().as_str(), "terminated");
}

#[tokio::test]
async fn machine_restored_from_backup_does_not_leak_its_instance() {
    let field = Field::new().await;
    let former = field.created(&json!({})).await;
    let mut machine = former.clone();
    machine.uid = field.machine(&json!({})).uid;
    machine.status = ProviderStatus::default();
    let error = end_of_deletion(&field, &machine).await.unwrap_err();
    for words in [&*former.uid.0, former.status.0["instanceId"].as_str().unwrap()] {
        assert!(error.message.contains(words), "{error}");
    }
    assert_ne!(error.class, ErrorClass::InvalidConfiguration, "it is tried again");
    assert_eq!(field.present(&former).await.state, InstanceState::Running);
    // As the message says.
    let id = field.made(&former).await.instance_id.unwrap();
    let tag = Tag::builder().key(UID_TAG).value(&*machine.uid.0).build();
    field.moto.create_tags().resources(&id).tags(tag).send().await.unwrap();
    field.delete(&machine).await;
    assert_eq!(field.made(&machine).await.state().unwrap().name().unwrap().as_str(), "terminated");
}

#[tokio::test]
async fn owned_instance_gets_no_second_cluster_tag() {
    let field = Field::new().await;
    let mut machine = field.machine(&json!({}));
    let theirs = MachineRef { cluster: "their-name-of-it".into(), ..machine.clone() };
    let id = by_hand(&field, &theirs).await;
    machine.status.0.insert("instanceId".to_owned(), json!(id));
    assert_eq!(field.cloud.update(&machine).await.unwrap().drift, None);
    let made = tags(field.made(&machine).await.tags());
    let clusters: Vec<_> = made.keys().filter(|tag| tag.starts_with("kubernetes.io/")).collect();
    assert_eq!(clusters, ["kubernetes.io/cluster/their-name-of-it"]);
}
