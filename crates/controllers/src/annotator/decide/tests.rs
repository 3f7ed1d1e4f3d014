//! Decisions of the annotator, one by one and as properties.

use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::meta::Meta;
use machinist_domain::shape::{Architecture, Shape};
use machinist_provider::spec::SpecError;
use proptest::prelude::*;

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

fn meta() -> Meta {
    Meta {
        key: ObjectKey::new("ns", "set"),
        uid: Uid("uid".into()),
        version: Version(1),
        deleting: false,
    }
}

fn snapshot(annotations: CapacityAnnotations, answer: Option<Capacity>) -> Snapshot {
    let shape = Ok(Shape {
        instance_type: "m6g.large".into(),
        region: Some("eu-west-1".into()),
        zone: None,
        root_disk_gib: None,
        credentials_secret: None,
    });
    let set = Arc::new(MachineSet { meta: meta(), shape, annotations });
    Snapshot { meta: meta(), content: Content::Read { set, capacity: answer } }
}

fn known(annotations: CapacityAnnotations) -> Snapshot {
    snapshot(annotations, Some(CAPACITY))
}

fn right() -> CapacityAnnotations {
    CapacityAnnotations {
        vcpu: Some("2".into()),
        memory: Some("8192".into()),
        gpu: Some("0".into()),
        labels: Some("kubernetes.io/arch=arm64".into()),
    }
}

#[test]
fn a_bare_set_gets_all_four() {
    let plan = decide(&known(CapacityAnnotations::default()));
    insta::assert_snapshot!(plan.to_string(), @r#"annotate: capacity.cluster-autoscaler.kubernetes.io/labels="kubernetes.io/arch=arm64" machine.openshift.io/GPU="0" machine.openshift.io/memoryMb="8192" machine.openshift.io/vCPU="2""#);
}

#[test]
fn what_is_right_is_left_alone() {
    assert_eq!(decide(&known(right())), Plan::Settled);
}

#[test]
fn only_what_differs_is_written_and_users_labels_stay() {
    let annotations = CapacityAnnotations {
        vcpu: Some("4".into()),
        labels: Some("team=a,kubernetes.io/arch=amd64".into()),
        ..right()
    };
    let plan = decide(&known(annotations));
    insta::assert_snapshot!(plan.to_string(), @r#"annotate: capacity.cluster-autoscaler.kubernetes.io/labels="kubernetes.io/arch=arm64,team=a" machine.openshift.io/vCPU="2""#);
}

#[test]
fn a_set_that_is_being_deleted_is_left_alone_whatever_it_says() {
    let mut dying = known(CapacityAnnotations::default());
    dying.meta.deleting = true;
    assert_eq!(decide(&dying), Plan::Deleting);
}

#[test]
fn an_unknown_type_is_refused_and_keeps_its_annotations() {
    let plan = decide(&snapshot(right(), None));
    assert!(
        matches!(plan, Plan::Refuse(Refusal::UnknownType { instance_type }) if instance_type == "m6g.large")
    );
}

#[test]
fn a_bad_spec_and_an_undecodable_object_are_refused_with_their_reason() {
    let set = MachineSet { meta: meta(), shape: Err(SpecError::Missing), annotations: right() };
    let bad = Content::Read { set: Arc::new(set), capacity: None };
    let plan = decide(&Snapshot { meta: meta(), content: bad });
    assert_eq!(plan, Plan::Refuse(Refusal::BadSpec(SpecError::Missing)));

    let odd = Content::Undecodable("expected a string".to_owned());
    let plan = decide(&Snapshot { meta: meta(), content: odd });
    assert!(plan.to_string().contains("expected a string"));
}

/// What the annotations are after a plan was carried out.
fn after(mut annotations: CapacityAnnotations, plan: &Plan) -> CapacityAnnotations {
    if let Plan::Annotate(change) = plan {
        for (key, value) in change.iter() {
            let value = value.map(Into::into);
            match key {
                names::ANNOTATION_VCPU => annotations.vcpu = value,
                names::ANNOTATION_MEMORY => annotations.memory = value,
                names::ANNOTATION_GPU => annotations.gpu = value,
                names::ANNOTATION_CAPACITY_LABELS => annotations.labels = value,
                other => panic!("the annotator has no business with {other}"),
            }
        }
    }
    annotations
}

proptest! {
    /// Whatever stood there before, one write is enough, and nothing that a user labelled is lost.
    #[test]
    fn one_write_settles_any_set(
        vcpu in proptest::option::of(".{0,5}"),
        labels in proptest::option::of("[a-z=,/. ]{0,40}"),
    ) {
        let before = CapacityAnnotations {
            vcpu: vcpu.map(Into::into),
            labels: labels.map(Into::into),
            ..CapacityAnnotations::default()
        };
        let plan = decide(&known(before.clone()));
        let written = after(before.clone(), &plan);
        prop_assert_eq!(decide(&known(written.clone())), Plan::Settled);

        let (old, new) = (before.labels.unwrap_or_default(), written.labels.unwrap_or_default());
        let new = machinist_domain::labels::parse(&new);
        for (key, value) in machinist_domain::labels::parse(&old) {
            if key != names::LABEL_ARCH {
                prop_assert_eq!(new.get(key), Some(&value));
            }
        }
    }
}
