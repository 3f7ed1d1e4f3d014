//! Orphans: listed by the tags of their cluster, with all pages, and deleted one by one.

use aws_sdk_ec2::types::Tag;
use machinist_domain::key::Uid;
use machinist_provider::cloud::ownership::TAG_MADE_BY;
use machinist_provider::cloud::{Deletion, ErrorClass, MachineRef, Owned, Reach};
use machinist_testbed::aws::Behaviour;
use serde_json::json;

use super::field::{Field, UID_TAG, tags};

fn within(field: &Field, machine: &MachineRef) -> Reach {
    Reach { access: field.access(), cluster: machine.cluster.clone() }
}

/// A machine of the same cluster, with an instance.
async fn sibling(field: &Field, machine: &MachineRef) -> MachineRef {
    let mut other = field.machine(&json!({}));
    other.cluster = machine.cluster.clone();
    field.prepare(&mut other).await.unwrap();
    field.cloud.create(&other).await.unwrap();
    other
}

fn of<'a>(listed: &'a [Owned], machine: &MachineRef) -> &'a Owned {
    listed.iter().find(|one| one.machine_uid == machine.uid).unwrap()
}

async fn exists(field: &Field, machine: &MachineRef) -> bool {
    let made = field.made(machine).await;
    let state = made.state().and_then(|state| state.name()).unwrap().as_str().to_owned();
    state != "terminated" && state != "shutting-down"
}

#[tokio::test]
async fn list_has_the_instances_with_the_tags_of_the_cluster_from_all_pages() {
    let field = Field::new().await;
    field.front().behave(Behaviour { page_size: Some(2), ..Behaviour::default() });
    let first = field.created(&json!({})).await;
    let mut wanted = vec![first.uid.clone()];
    for _ in 0..6 {
        wanted.push(sibling(&field, &first).await.uid);
    }
    let elsewhere = field.created(&json!({})).await;
    let stripped = sibling(&field, &first).await;
    let id = field.made(&stripped).await.instance_id.unwrap();
    let tag = Tag::builder().key(TAG_MADE_BY).build();
    field.moto.delete_tags().resources(id).tags(tag).send().await.unwrap();

    let before = field.front().calls_of("DescribeInstances").len();
    let listed = field.cloud.list(&within(&field, &first)).await.unwrap();
    let calls = field.front().calls_of("DescribeInstances").len() - before;
    assert!(calls >= 2, "{calls} pages");
    let mut found: Vec<Uid> = listed.iter().map(|one| one.machine_uid.clone()).collect();
    for uids in [&mut found, &mut wanted] {
        uids.sort_by(|a, b| a.0.cmp(&b.0));
    }
    assert_eq!(found, wanted, "not {} and not {}", elsewhere.uid, stripped.uid);
    let (one, made) = (of(&listed, &first), field.made(&first).await);
    assert_eq!((one.attempt, &one.tags), (Some(1), &tags(made.tags())));
    let launched = made.launch_time().unwrap().secs();
    assert_eq!(one.created.map(jiff::Timestamp::as_second), Some(launched));
    assert_eq!(Some(&one.instance.provider_id), first.provider_id.as_ref());
}

#[tokio::test]
async fn orphan_is_terminated_alone_unless_its_tags_have_changed() {
    let field = Field::new().await;
    let orphan = field.created(&json!({})).await;
    let other = sibling(&field, &orphan).await;
    let within = within(&field, &orphan);
    let listed = field.cloud.list(&within).await.unwrap();
    let listed = of(&listed, &orphan);
    let id = &*listed.instance.id;

    let retag = async |uid: &str| {
        let tag = Tag::builder().key(UID_TAG).value(uid).build();
        field.moto.create_tags().resources(id).tags(tag).send().await.unwrap();
    };
    retag("another").await;
    let error = field.cloud.delete_orphan(&within, listed).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Conflict, "{error}");
    assert!(error.message.contains(id), "{error}");
    retag(&orphan.uid.0).await;
    let foreign = Reach { cluster: "another".into(), ..within.clone() };
    let error = field.cloud.delete_orphan(&foreign, listed).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Conflict, "{error}");
    let mut wildcard = listed.clone();
    wildcard.instance.id = "i-*".into();
    field.cloud.delete_orphan(&within, &wildcard).await.unwrap_err();
    assert!(exists(&field, &orphan).await && exists(&field, &other).await);
    assert_eq!(field.front().calls_of("TerminateInstances").len(), 0);

    loop {
        match field.cloud.delete_orphan(&within, listed).await.unwrap() {
            Deletion::Gone => break,
            Deletion::UnderWay(_) => tokio::task::yield_now().await,
        }
    }
    assert!(!exists(&field, &orphan).await && exists(&field, &other).await);
    assert_eq!(field.front().calls_of("TerminateInstances").len(), 1);
    field.delete(&other).await;
}
