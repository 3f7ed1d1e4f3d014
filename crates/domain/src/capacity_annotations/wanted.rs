//! The annotations that a MachineSet should have, regardless of existing ones.

use std::borrow::Cow;

use machinist_api::names;

use super::{MaxPods, Options};
use crate::labels::is_label_value;
use crate::shape::{Capacity, Shape};

/// OpenShift's contract reserves these for an annotator.
const OPENSHIFT: [&str; 3] =
    [names::ANNOTATION_VCPU, names::ANNOTATION_MEMORY, names::ANNOTATION_GPU];

pub(super) fn is_always_ours(key: &str) -> bool {
    OPENSHIFT.contains(&key)
}

/// Every key with its value; `None` if it does not apply or is unknown. The marker has the same order.
pub(super) fn keys(
    shape: &Shape,
    capacity: &Capacity,
    options: Options,
) -> [(&'static str, Option<Cow<'static, str>>); 9] {
    let Capacity { vcpus, memory_mib, gpus, gpu_vendor, .. } = *capacity;
    let gpu_resource = gpu_vendor.filter(|_| gpus > 0).map(|vendor| vendor.resource_name().into());
    let disk = shape.root_disk_gib.filter(|size| *size > 0);
    let keys = [
        (names::ANNOTATION_VCPU, Some(vcpus.to_string().into())),
        (names::ANNOTATION_MEMORY, Some(memory_mib.to_string().into())),
        (names::ANNOTATION_GPU, Some(gpus.to_string().into())),
        // cluster-autoscaler would trust a node without CPU or memory.
        (names::ANNOTATION_CAPACITY_CPU, (vcpus > 0).then(|| vcpus.to_string().into())),
        (
            names::ANNOTATION_CAPACITY_MEMORY,
            (memory_mib > 0).then(|| format!("{memory_mib}Mi").into()),
        ),
        (
            names::ANNOTATION_CAPACITY_GPU_COUNT,
            gpu_resource.as_ref().map(|_| gpus.to_string().into()),
        ),
        (names::ANNOTATION_CAPACITY_GPU_TYPE, gpu_resource),
        (names::ANNOTATION_CAPACITY_EPHEMERAL_DISK, disk.map(|size| format!("{size}Gi").into())),
        (
            names::ANNOTATION_CAPACITY_MAX_PODS,
            max_pods(capacity, options.max_pods).map(|pods| pods.to_string().into()),
        ),
    ];
    let families = options.families;
    keys.map(|(name, value)| {
        let applies = if is_always_ours(name) { families.openshift() } else { families.upstream() };
        (name, value.filter(|_| applies))
    })
}

/// Every label pair with its value; `None` if it does not apply or is not a valid label value.
pub(super) fn labels<'a>(
    shape: &'a Shape,
    capacity: &Capacity,
    options: Options,
) -> [(&'static str, Option<&'a str>); 4] {
    let all = options.families.upstream() && !options.arch_only_labels;
    // Provider specs hold any string, and a comma must not start another pair.
    let valid = |value: Option<&'a str>| value.filter(|value| all && is_label_value(value));
    [
        (names::LABEL_ARCH, Some(capacity.architecture.as_str())),
        (names::LABEL_ZONE, valid(shape.zone.as_deref())),
        (names::LABEL_REGION, valid(shape.region.as_deref())),
        (names::LABEL_INSTANCE_TYPE, valid(Some(&shape.instance_type))),
    ]
}

/// One address per interface is the interface's own; two pods use the host network.
fn max_pods(capacity: &Capacity, option: MaxPods) -> Option<u64> {
    match option {
        MaxPods::Off => None,
        MaxPods::Number(pods) => Some(pods.into()),
        MaxPods::Eni => {
            let interfaces = u64::from(capacity.interfaces);
            let addresses = u64::from(capacity.addresses_per_interface);
            let known = interfaces > 0 && addresses > 0;
            known.then(|| interfaces * addresses.saturating_sub(1) + 2)
        }
    }
}
