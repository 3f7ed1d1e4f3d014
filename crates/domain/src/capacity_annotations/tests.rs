use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::shape::{Architecture, GpuVendor};

type Annotations = BTreeMap<String, String>;

const PLAIN: Capacity = Capacity {
    vcpus: 4,
    memory_mib: 16384,
    architecture: Architecture::Amd64,
    gpus: 0,
    gpu_vendor: None,
    interfaces: 4,
    addresses_per_interface: 15,
};

const WITH_GPU: Capacity = Capacity { gpus: 1, gpu_vendor: Some(GpuVendor::Amd), ..PLAIN };

const OPENSHIFT: Options = Options {
    families: Families::OpenShift,
    max_pods: MaxPods::Off,
    overwrite: false,
    arch_only_labels: false,
};

fn both() -> Options {
    Options { families: Families::Both, ..OPENSHIFT }
}

fn upstream() -> Options {
    Options { families: Families::Upstream, ..OPENSHIFT }
}

fn shape(instance_type: &str) -> Shape {
    Shape {
        instance_type: instance_type.into(),
        region: Some("eu-west-1".into()),
        zone: Some("eu-west-1a".into()),
        root_disk_gib: Some(120),
        credentials_secret: None,
    }
}

fn read(annotations: &Annotations) -> Current {
    Current::read(|name| annotations.get(name).map(String::as_str))
}

fn apply(annotations: &mut Annotations, change: &AnnotationChange) {
    for (key, value) in change.iter() {
        match value {
            Some(value) => annotations.insert(key.to_owned(), value.to_owned()),
            None => annotations.remove(key),
        };
    }
}

fn annotate(
    annotations: &mut Annotations,
    shape: &Shape,
    capacity: &Capacity,
    options: Options,
) -> Assessment {
    let assessment = assess(&read(annotations), shape, capacity, options);
    apply(annotations, &assessment.change);
    assessment
}

fn given(pairs: &[(&str, &str)]) -> Annotations {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn openshift_alone_is_exactly_the_four_keys() {
    let mut annotations = Annotations::new();
    annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, OPENSHIFT);
    let expected = given(&[
        (names::ANNOTATION_VCPU, "4"),
        (names::ANNOTATION_MEMORY, "16384"),
        (names::ANNOTATION_GPU, "0"),
        (names::ANNOTATION_CAPACITY_LABELS, "kubernetes.io/arch=amd64"),
    ]);
    assert_eq!(annotations, expected);
}

#[test]
fn both_families_say_everything_that_is_read() {
    let mut annotations = Annotations::new();
    let options = Options { max_pods: MaxPods::Eni, ..both() };
    annotate(&mut annotations, &shape("g4ad.xlarge"), &WITH_GPU, options);
    let expected = given(&[
        (names::ANNOTATION_VCPU, "4"),
        (names::ANNOTATION_MEMORY, "16384"),
        (names::ANNOTATION_GPU, "1"),
        (names::ANNOTATION_CAPACITY_CPU, "4"),
        (names::ANNOTATION_CAPACITY_MEMORY, "16384Mi"),
        (names::ANNOTATION_CAPACITY_GPU_COUNT, "1"),
        (names::ANNOTATION_CAPACITY_GPU_TYPE, "amd.com/gpu"),
        (names::ANNOTATION_CAPACITY_EPHEMERAL_DISK, "120Gi"),
        (names::ANNOTATION_CAPACITY_MAX_PODS, "58"),
        (
            names::ANNOTATION_CAPACITY_LABELS,
            "kubernetes.io/arch=amd64,node.kubernetes.io/instance-type=g4ad.xlarge,\
             topology.kubernetes.io/region=eu-west-1,topology.kubernetes.io/zone=eu-west-1a",
        ),
        (
            names::ANNOTATION_ANNOTATED,
            "v1:vCPU=4,memoryMb=16384,GPU=1,cpu=4,memory=16384Mi,gpu-count=1,gpu-type=amd.com/gpu,\
             ephemeral-disk=120Gi,maxPods=58,arch=amd64,zone=eu-west-1a,region=eu-west-1,\
             instance-type=g4ad.xlarge",
        ),
    ]);
    assert_eq!(annotations, expected);
}

#[test]
fn what_is_not_known_is_left_out() {
    let bare = Shape { region: None, zone: None, root_disk_gib: None, ..shape("x") };
    let unknown = Capacity { gpus: 2, gpu_vendor: None, interfaces: 0, ..PLAIN };
    let mut annotations = Annotations::new();
    let options = Options { max_pods: MaxPods::Eni, ..upstream() };
    annotate(&mut annotations, &bare, &unknown, options);
    let expected = given(&[
        (names::ANNOTATION_CAPACITY_CPU, "4"),
        (names::ANNOTATION_CAPACITY_MEMORY, "16384Mi"),
        (
            names::ANNOTATION_CAPACITY_LABELS,
            "kubernetes.io/arch=amd64,node.kubernetes.io/instance-type=x",
        ),
        (names::ANNOTATION_ANNOTATED, "v1:cpu=4,memory=16384Mi,arch=amd64,instance-type=x"),
    ]);
    assert_eq!(annotations, expected);
}

#[test]
fn a_zone_that_is_no_label_value_is_left_out() {
    let hostile = Shape { zone: Some("a,kubernetes.io/os=x".into()), ..shape("m6i.xlarge") };
    let mut annotations = Annotations::new();
    annotate(&mut annotations, &hostile, &PLAIN, both());
    let written = &annotations[names::ANNOTATION_CAPACITY_LABELS];
    assert!(!written.contains("os") && !written.contains("zone"), "{written}");
}

#[test]
fn keeps_and_reports_keys_of_users_unless_overwritten() {
    let by_hand =
        [(names::ANNOTATION_CAPACITY_CPU, "3500m"), (names::ANNOTATION_CAPACITY_MEMORY, "16384Mi")];
    let mut annotations = given(&by_hand);
    let assessment = annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, both());
    assert_eq!(annotations[names::ANNOTATION_CAPACITY_CPU], "3500m");
    assert_eq!(
        assessment.kept,
        [names::ANNOTATION_CAPACITY_CPU],
        "the memory is what we would say"
    );

    assert_eq!(assessment.newly_kept, assessment.kept);

    let assessment = annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, both());
    assert_eq!((assessment.kept.len(), assessment.newly_kept.len()), (1, 0));
    assert!(assessment.change.is_empty(), "{assessment:?}");

    // Neither is ours, not even the one that was right.
    let larger = Capacity { vcpus: 8, memory_mib: 32768, ..PLAIN };
    let assessment = annotate(&mut annotations, &shape("m6i.2xlarge"), &larger, both());
    assert_eq!(
        assessment.kept,
        [names::ANNOTATION_CAPACITY_CPU, names::ANNOTATION_CAPACITY_MEMORY]
    );
    assert_eq!(assessment.newly_kept, [names::ANNOTATION_CAPACITY_MEMORY]);

    let options = Options { overwrite: true, ..both() };
    let assessment = annotate(&mut annotations, &shape("m6i.2xlarge"), &larger, options);
    assert_eq!(assessment.kept, [""; 0]);
    assert_eq!(annotations[names::ANNOTATION_CAPACITY_CPU], "8");

    annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, both());
    assert_eq!(annotations[names::ANNOTATION_CAPACITY_CPU], "4");

    annotations.insert(names::ANNOTATION_CAPACITY_CPU.to_owned(), "3".to_owned());
    let assessment = annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, both());
    assert_eq!(assessment.newly_kept, [names::ANNOTATION_CAPACITY_CPU]);
}

#[test]
fn a_changed_type_leaves_nothing_stale() {
    let mut annotations = Annotations::new();
    annotate(&mut annotations, &shape("g4ad.xlarge"), &WITH_GPU, both());
    annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, both());
    let mut fresh = Annotations::new();
    annotate(&mut fresh, &shape("m6i.xlarge"), &PLAIN, both());
    assert_eq!(annotations, fresh);
}

#[test]
fn a_family_that_is_switched_off_goes_and_a_users_keys_stay() {
    let mut annotations = given(&[(names::ANNOTATION_CAPACITY_MAX_PODS, "250")]);
    annotate(&mut annotations, &shape("g4ad.xlarge"), &WITH_GPU, both());
    annotate(&mut annotations, &shape("g4ad.xlarge"), &WITH_GPU, OPENSHIFT);
    let mut expected = given(&[(names::ANNOTATION_CAPACITY_MAX_PODS, "250")]);
    annotate(&mut expected, &shape("g4ad.xlarge"), &WITH_GPU, OPENSHIFT);
    assert_eq!(annotations, expected);

    let mut annotations = Annotations::new();
    annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, both());
    annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, upstream());
    assert!(!annotations.contains_key(names::ANNOTATION_VCPU));
    // Another annotator may write them again.
    annotations.insert(names::ANNOTATION_VCPU.to_owned(), "4".to_owned());
    let assessment = annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, upstream());
    assert!(assessment.change.is_empty());
}

#[test]
fn corrects_and_reports_a_wrong_architecture() {
    let labels = (names::ANNOTATION_CAPACITY_LABELS, "kubernetes.io/arch=arm64,team=a");
    let mut annotations = given(&[labels]);
    let assessment = annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, both());
    assert_eq!(assessment.contradicted_architecture.as_deref(), Some("arm64"));

    // Our own old value is no contradiction.
    let arm = Capacity { architecture: Architecture::Arm64, ..PLAIN };
    let assessment = annotate(&mut annotations, &shape("m6g.xlarge"), &arm, both());
    assert_eq!(assessment.contradicted_architecture, None);
    let list = labels::parse(&annotations[names::ANNOTATION_CAPACITY_LABELS]);
    assert_eq!((list[names::LABEL_ARCH], list["team"]), ("arm64", "a"));
    assert_eq!(list[names::LABEL_INSTANCE_TYPE], "m6g.xlarge");
}

#[test]
fn a_users_zone_region_and_type_win() {
    let by_hand = "topology.kubernetes.io/zone=z,topology.kubernetes.io/region=r";
    let mut annotations = given(&[(names::ANNOTATION_CAPACITY_LABELS, by_hand)]);
    annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, Options { overwrite: true, ..both() });
    let list = labels::parse(&annotations[names::ANNOTATION_CAPACITY_LABELS]);
    assert_eq!((list[names::LABEL_ZONE], list[names::LABEL_REGION]), ("z", "r"));
    assert_eq!(list[names::LABEL_INSTANCE_TYPE], "m6i.xlarge");
}

#[test]
fn beside_a_reordering_annotator_only_the_architecture_is_written() {
    let mut annotations = given(&[(names::ANNOTATION_CAPACITY_LABELS, "z=1,a=2")]);
    annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, both());
    let alone = Options { arch_only_labels: true, ..both() };
    annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, alone);
    let written = &annotations[names::ANNOTATION_CAPACITY_LABELS];
    assert_eq!(written, "a=2,kubernetes.io/arch=amd64,z=1");

    let shuffled = "z=1,kubernetes.io/arch=amd64,a=2".to_owned();
    annotations.insert(names::ANNOTATION_CAPACITY_LABELS.to_owned(), shuffled);
    let assessment = annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, alone);
    assert!(assessment.change.is_empty(), "{assessment:?}");
}

#[test]
fn keeps_what_a_newer_version_wrote() {
    let newer =
        [(names::ANNOTATION_ANNOTATED, "v2:{cpu: 9}"), (names::ANNOTATION_CAPACITY_CPU, "9")];
    let mut annotations = given(&newer);
    let assessment = annotate(&mut annotations, &shape("m6i.xlarge"), &PLAIN, both());
    assert_eq!(annotations[names::ANNOTATION_ANNOTATED], "v2:{cpu: 9}");
    assert_eq!(annotations[names::ANNOTATION_CAPACITY_CPU], "9");
    assert_eq!(assessment.kept, [""; 0], "it is not a user's value");
}

fn options() -> impl Strategy<Value = Options> {
    let families =
        prop_oneof![Just(Families::OpenShift), Just(Families::Upstream), Just(Families::Both)];
    let max_pods =
        prop_oneof![Just(MaxPods::Off), Just(MaxPods::Eni), any::<u32>().prop_map(MaxPods::Number)];
    (families, max_pods, any::<bool>(), any::<bool>()).prop_map(
        |(families, max_pods, overwrite, arch_only_labels)| Options {
            families,
            max_pods,
            overwrite,
            arch_only_labels,
        },
    )
}

fn machine() -> impl Strategy<Value = (Shape, Capacity)> {
    let text = || proptest::option::of(prop_oneof!["[a-z0-9.-]{0,8}", ".{0,8}"]);
    let vendor =
        proptest::option::of(prop_oneof![Just(GpuVendor::Nvidia), Just(GpuVendor::Habana)]);
    let numbers = (any::<u32>(), any::<u64>(), 0..3_u32, any::<u32>(), any::<u32>());
    let shape = (".{0,8}", text(), text(), proptest::option::of(any::<u32>()));
    (shape, numbers, vendor, any::<bool>()).prop_map(|(shape, numbers, gpu_vendor, arm)| {
        let (instance_type, region, zone, root_disk_gib) = shape;
        let (vcpus, memory_mib, gpus, interfaces, addresses_per_interface) = numbers;
        let shape = Shape {
            instance_type: instance_type.into(),
            region: region.map(Into::into),
            zone: zone.map(Into::into),
            root_disk_gib,
            credentials_secret: None,
        };
        let architecture = if arm { Architecture::Arm64 } else { Architecture::Amd64 };
        let capacity = Capacity {
            vcpus,
            memory_mib,
            architecture,
            gpus,
            gpu_vendor,
            interfaces,
            addresses_per_interface,
        };
        (shape, capacity)
    })
}

/// Anything, and values that look meaningful.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        "[a-z=,/. ]{0,40}",
        "(kubernetes.io/arch|topology.kubernetes.io/zone|team)=[a-c]{0,2}(,x=[a-c, ]{0,3}){0,2}",
        "v[0-9]:(cpu|zone|maxPods|arch)=[0-9a-c]{0,2}(,memory=[0-9]{1,2})?(,kept=[a-z/-]{0,9})?",
        "[0-9]{1,2}",
    ]
}

fn existing() -> impl Strategy<Value = Annotations> {
    let names = proptest::sample::select(current::NAMES.to_vec());
    proptest::collection::btree_map(names.prop_map(str::to_owned), value(), 0..8)
}

proptest! {
    #[test]
    fn one_write_settles_anything(
        before in existing(),
        first in machine(),
        second in machine(),
        earlier in options(),
        later in options(),
    ) {
        let mut annotations = before.clone();
        for ((shape, capacity), options) in [(&first, earlier), (&second, later)] {
            annotate(&mut annotations, shape, capacity, options);
            let again = assess(&read(&annotations), shape, capacity, options);
            prop_assert!(again.change.is_empty(), "{again:?} after {annotations:?}");
            prop_assert_eq!(&again.contradicted_architecture, &None);
            prop_assert!(again.newly_kept.is_empty(), "{again:?} after {annotations:?}");
        }
        let list = |annotations: &Annotations| {
            annotations.get(names::ANNOTATION_CAPACITY_LABELS).cloned().unwrap_or_default()
        };
        let (old, new) = (list(&before), list(&annotations));
        let new = labels::parse(&new);
        for (key, value) in labels::parse(&old) {
            let ours = wanted::labels(&second.0, &second.1, later);
            if ours.iter().all(|(name, _)| *name != key) {
                prop_assert_eq!(new.get(key), Some(&value));
            }
        }
    }

    #[test]
    fn history_leaves_no_trace(
        first in machine(),
        second in machine(),
        later in options(),
    ) {
        let mut through = Annotations::new();
        annotate(&mut through, &first.0, &first.1, both());
        annotate(&mut through, &second.0, &second.1, later);
        let mut straight = Annotations::new();
        annotate(&mut straight, &second.0, &second.1, later);
        prop_assert_eq!(through, straight);
    }
}
