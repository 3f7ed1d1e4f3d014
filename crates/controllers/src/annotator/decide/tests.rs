//! Decisions of the annotator. What exactly is written is tested in `domain`, where it is worked out.

use std::sync::Arc;

use machinist_domain::capacity_annotations::{Families, Options};
use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::meta::Meta;
use machinist_domain::retry::Retry;
use machinist_domain::shape::{Architecture, Shape};

use super::*;
use crate::kinds::MachineSet;

const CAPACITY: Capacity = Capacity {
    vcpus: 2,
    memory_mib: 8192,
    architecture: Architecture::Arm64,
    gpus: 0,
    gpu_vendor: None,
    interfaces: 0,
    addresses_per_interface: 0,
};

/// What the catalogue says is different, so that one can tell who answered.
const LISTED: Capacity = Capacity { vcpus: 99, ..CAPACITY };

fn meta() -> Meta {
    Meta {
        key: ObjectKey::new("ns", "set"),
        uid: Uid("uid".into()),
        version: Version(1),
        deleting: false,
    }
}

fn machine_set() -> MachineSet {
    MachineSet {
        meta: meta(),
        shape: Ok(Arc::new(Shape {
            instance_type: "m6g.large".into(),
            region: Some("eu-west-1".into()),
            zone: None,
            root_disk_gib: None,
            credentials_secret: None,
        })),
        annotations: Arc::default(),
        authority: Authority::Here,
        children: None,
    }
}

fn snapshot(set: MachineSet, cloud: Cloud, catalogue: Option<Capacity>) -> Snapshot {
    Snapshot {
        meta: meta(),
        content: Content::Read { set: Arc::new(set), cloud, catalogue },
        options: Options { families: Families::OpenShift, ..Options::default() },
        obey_migration: false,
    }
}

fn plan(cloud: Cloud, catalogue: Option<Capacity>) -> String {
    decide(&snapshot(machine_set(), cloud, catalogue)).to_string()
}

fn said(answer: Answer) -> Cloud {
    Cloud::Said(answer)
}

fn unknown(category: Category) -> Cloud {
    let retry = Retry::Backoff;
    said(Answer::Unknown(Failure { category, retry, message: "no luck".to_owned() }))
}

#[test]
fn the_cloud_is_believed_before_the_catalogue() {
    let plan = plan(said(Answer::Present(CAPACITY)), Some(LISTED));
    insta::assert_snapshot!(plan, @r#"annotate: capacity.cluster-autoscaler.kubernetes.io/labels="kubernetes.io/arch=arm64" machine.openshift.io/GPU="0" machine.openshift.io/memoryMb="8192" machine.openshift.io/vCPU="2""#);
}

#[test]
fn a_type_that_the_cloud_does_not_list_is_unknown_also_if_the_catalogue_has_it() {
    insta::assert_snapshot!(plan(said(Answer::Absent), Some(LISTED)), @r#"leave it: instance type "m6g.large" is unknown, annotations are left as they are"#);
    insta::assert_snapshot!(plan(Cloud::Off, None), @r#"leave it: instance type "m6g.large" is unknown, annotations are left as they are"#);
}

#[test]
fn the_catalogue_stands_in_where_the_cloud_could_not_be_asked() {
    for category in [Category::Throttled, Category::Unauthorised, Category::Unavailable] {
        let plan = decide(&snapshot(machine_set(), unknown(category), Some(LISTED)));
        match plan {
            Plan::Tell(Truth { fallback: Some(failure), assessment, retry: None }) => {
                assert_eq!(failure.category, category);
                let vcpu = machinist_api::names::ANNOTATION_VCPU;
                assert!(assessment.change.iter().any(|pair| pair == (vcpu, Some("99"))));
            }
            other => panic!("{category:?}: {other}"),
        }
    }
}

#[test]
fn bad_credentials_and_bad_specs_never_fall_back() {
    let bad = plan(unknown(Category::InvalidConfiguration), Some(LISTED));
    insta::assert_snapshot!(bad, @"leave it: the cloud could not be asked: no luck");
    let gone = plan(Cloud::NoSecret(ObjectKey::new("ns", "aws")), Some(LISTED));
    insta::assert_snapshot!(gone, @"leave it: secret ns/aws does not exist");
    let nowhere = plan(Cloud::NoRegion, Some(LISTED));
    insta::assert_snapshot!(nowhere, @"leave it: provider spec is not valid: placement.region is missing");
}

#[test]
fn what_may_not_be_read_is_said_and_looked_at_again() {
    let failure = Failure {
        category: Category::Unavailable,
        retry: Retry::Backoff,
        message: "secrets ns/aws cannot be looked at".to_owned(),
    };
    let cloud = Cloud::NotFoundOut(failure);
    let alone = decide(&snapshot(machine_set(), cloud.clone(), None));
    insta::assert_snapshot!(alone, @"leave it: the cloud could not be asked: secrets ns/aws cannot be looked at");
    match decide(&snapshot(machine_set(), cloud, Some(LISTED))) {
        Plan::Tell(Truth { fallback: Some(_), retry: Some(Retry::Backoff), .. }) => {}
        other => panic!("{other}"),
    }
}

#[test]
fn without_an_answer_yet_it_waits() {
    insta::assert_snapshot!(plan(said(Answer::NotAsked), Some(LISTED)), @"leave it: the cloud is being asked");
    let none = plan(unknown(Category::Unavailable), None);
    insta::assert_snapshot!(none, @"leave it: the cloud could not be asked: no luck");
}

#[test]
fn a_set_that_is_being_deleted_is_left_alone_whatever_it_says() {
    let mut dying = snapshot(machine_set(), Cloud::Off, Some(LISTED));
    dying.meta.deleting = true;
    assert_eq!(decide(&dying), Plan::Deleting);
}

#[test]
fn another_machine_api_in_charge_is_obeyed_only_if_asked_to() {
    let set = MachineSet { authority: Authority::Elsewhere, ..machine_set() };
    let mut moved = snapshot(set, Cloud::Off, Some(LISTED));
    assert!(matches!(decide(&moved), Plan::Tell(_)));
    moved.obey_migration = true;
    assert_eq!(decide(&moved), Plan::Elsewhere);
}

#[test]
fn a_bad_spec_and_an_undecodable_object_are_refused_with_their_reason() {
    let set = MachineSet { shape: Err(SpecError::Missing.into()), ..machine_set() };
    let plan = decide(&snapshot(set, Cloud::NoRegion, None));
    assert_eq!(plan, Plan::Refuse(Refusal::BadSpec(SpecError::Missing)));

    let content = Content::Undecodable("expected a string".to_owned());
    let odd = Snapshot { content, ..snapshot(machine_set(), Cloud::Off, None) };
    assert!(decide(&odd).to_string().contains("expected a string"));
}
