//! Decisions of the annotator. The annotations themselves are tested in `domain::capacity_annotations`.

use std::sync::Arc;

use machinist_domain::capacity_annotations::{Families, Options};
use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::meta::Meta;
use machinist_domain::retry::Retry;
use machinist_domain::shape::Architecture;

use super::*;
use crate::kinds::{MachineSet, NoState, Scalable};

const CAPACITY: Capacity = Capacity {
    vcpus: 2,
    memory_mib: 8192,
    architecture: Architecture::Arm64,
    gpus: 0,
    gpu_vendor: None,
    interfaces: 0,
    addresses_per_interface: 0,
};

const LISTED: Capacity = Capacity { vcpus: 99, ..CAPACITY };

fn meta() -> Meta {
    Meta {
        key: ObjectKey::new("ns", "set"),
        uid: Uid("uid".into()),
        version: Version(1),
        deleting: false,
    }
}

fn scalable() -> Scalable {
    Scalable {
        provider: Some("aws"),
        shape: Ok(Arc::new(Shape {
            instance_type: "m6g.large".into(),
            region: Some("eu-west-1".into()),
            zone: None,
            root_disk_gib: None,
            credentials_secret: None,
        })),
        annotations: Arc::default(),
        managed_elsewhere: false,
        names_authority: false,
        of_deployment: false,
    }
}

fn of(scalable: Scalable) -> Arc<MachineSet<NoState>> {
    Arc::new(MachineSet { meta: meta(), scalable, state: NoState })
}

fn decoded() -> Decoded<MachineSet<NoState>> {
    Decoded { object: of(scalable()), cloud: CloudAnswer::NotUsed, catalogue: None }
}

fn snapshot(decoded: Decoded<MachineSet<NoState>>) -> Snapshot<MachineSet<NoState>> {
    Snapshot {
        meta: meta(),
        content: Ok(decoded),
        options: Options { families: Families::OpenShift, ..Options::default() },
        obey_migration: false,
    }
}

const UNKNOWN: &str = r#"no-op: Instance type "m6g.large" is unknown to provider aws"#;

fn decide_with(cloud: CloudAnswer, catalogue: Option<Capacity>) -> Plan {
    decide(&snapshot(Decoded { cloud, catalogue, ..decoded() }))
}

fn plan(cloud: CloudAnswer, catalogue: Option<Capacity>) -> String {
    decide_with(cloud, catalogue).to_string()
}

fn answered(answer: ObservedCapacity) -> CloudAnswer {
    CloudAnswer::Answered(answer)
}

fn unknown(category: Category) -> CloudAnswer {
    let retry = Retry::Backoff;
    answered(ObservedCapacity::Unknown(Failure { category, retry, message: "no luck".to_owned() }))
}

#[test]
fn the_cloud_takes_precedence_over_the_catalogue() {
    let plan = plan(answered(ObservedCapacity::Present(CAPACITY)), Some(LISTED));
    let expected = [
        r#"annotate: capacity.cluster-autoscaler.kubernetes.io/labels="kubernetes.io/arch=arm64""#,
        r#"machine.openshift.io/GPU="0""#,
        r#"machine.openshift.io/memoryMb="8192""#,
        r#"machine.openshift.io/vCPU="2""#,
    ];
    assert_eq!(plan, expected.join(" "));
}

#[test]
fn a_type_that_the_cloud_does_not_list_is_unknown_even_if_the_catalogue_has_it() {
    assert!(plan(answered(ObservedCapacity::Absent), Some(LISTED)).starts_with(UNKNOWN));
    assert!(plan(CloudAnswer::NotUsed, None).starts_with(UNKNOWN));
}

#[test]
fn the_catalogue_is_the_fallback_when_the_cloud_cannot_be_asked() {
    for category in [Category::Throttled, Category::Unauthorised, Category::Unavailable] {
        match decide_with(unknown(category), Some(LISTED)) {
            Plan::Annotate(Annotation { fallback: Some(failure), assessment, retry: None }) => {
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
    assert_eq!(bad, "no-op: Cannot read capacities from the cloud: no luck");
    let gone = plan(CloudAnswer::NoSecret(ObjectKey::new("ns", "aws")), Some(LISTED));
    assert_eq!(
        gone,
        "no-op: Secret ns/aws does not exist; create it, or correct its name in the provider spec"
    );
    let nowhere = plan(CloudAnswer::NoRegion, Some(LISTED));
    assert_eq!(nowhere, "no-op: Provider spec is invalid: placement.region: is required");
}

#[test]
fn unreadable_credentials_are_reported_and_retried() {
    let failure = Failure {
        category: Category::Unavailable,
        retry: Retry::Backoff,
        message: "secrets ns/aws cannot be looked at".to_owned(),
    };
    let cloud = CloudAnswer::NoAccess(failure);
    let alone = decide_with(cloud.clone(), None);
    assert_eq!(
        alone.to_string(),
        "no-op: Cannot read capacities from the cloud: secrets ns/aws cannot be looked at"
    );
    match decide_with(cloud, Some(LISTED)) {
        Plan::Annotate(Annotation { fallback: Some(_), retry: Some(Retry::Backoff), .. }) => {}
        other => panic!("{other}"),
    }
}

#[test]
fn waits_for_the_first_answer() {
    assert_eq!(
        plan(answered(ObservedCapacity::NotAsked), Some(LISTED)),
        "no-op: waiting for the cloud"
    );
    let none = plan(unknown(Category::Unavailable), None);
    assert_eq!(none, "no-op: Cannot read capacities from the cloud: no luck");
}

#[test]
fn ignores_a_set_that_is_being_deleted() {
    let mut deleting = snapshot(Decoded { catalogue: Some(LISTED), ..decoded() });
    deleting.meta.deleting = true;
    assert_eq!(decide(&deleting), Plan::NoOp(Reason::Deleting));
}

#[test]
fn ignores_sets_managed_elsewhere_only_with_the_feature_gate() {
    let object = of(Scalable { managed_elsewhere: true, ..scalable() });
    let mut moved = snapshot(Decoded { object, catalogue: Some(LISTED), ..decoded() });
    assert!(matches!(decide(&moved), Plan::Annotate(_)));
    moved.obey_migration = true;
    assert_eq!(decide(&moved), Plan::NoOp(Reason::ManagedElsewhere));
}

#[test]
fn ignores_a_set_of_a_deployment() {
    let object = of(Scalable { of_deployment: true, ..scalable() });
    let owned = snapshot(Decoded { object, catalogue: Some(LISTED), ..decoded() });
    assert_eq!(decide(&owned), Plan::NoOp(Reason::OfDeployment));
}

#[test]
fn refuses_bad_specs_and_undecodable_objects_with_the_reason() {
    let object = of(Scalable { shape: Err(SpecError::Missing.into()), ..scalable() });
    let cloud = CloudAnswer::NoRegion;
    let plan = decide(&snapshot(Decoded { object, cloud, ..decoded() }));
    assert_eq!(plan, Plan::Refuse(Refusal::BadSpec(SpecError::Missing)));

    let content = Err("expected a string".to_owned());
    let odd = Snapshot { content, ..snapshot(decoded()) };
    assert!(decide(&odd).to_string().contains("expected a string"));
}

#[test]
fn refuses_a_provider_without_capacities() {
    let plan = plan(CloudAnswer::NotSupported, None);
    assert_eq!(
        plan,
        "no-op: Provider aws reports no instance type capacities, so annotations are unchanged; set the \
         capacity.cluster-autoscaler.kubernetes.io/ annotations by hand"
    );
}
