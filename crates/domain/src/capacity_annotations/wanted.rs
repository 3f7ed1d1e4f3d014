//! The annotations that a Machine should have, regardless of existing ones.

use std::borrow::Cow;

use super::keys::{Key, Label};
use super::{MaxPods, Options};
use crate::shape::{Capacity, Shape};

/// A Machine and the options.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) shape: &'a Shape,
    pub(super) capacity: &'a Capacity,
    pub(super) options: Options,
}

impl<'a> Wanted<'a> {
    /// The value of a key; `None` if it does not apply or is unknown.
    pub(super) fn value(&self, key: Key) -> Option<Cow<'static, str>> {
        let families = self.options.families;
        if !(if key.is_always_ours() { families.openshift() } else { families.upstream() }) {
            return None;
        }
        let Capacity { vcpus, memory_mib, gpus, gpu_vendor, .. } = *self.capacity;
        let gpu_resource =
            gpu_vendor.filter(|_| gpus > 0).map(|vendor| Cow::from(vendor.resource_name()));
        match key {
            Key::OpenShiftCpu => Some(vcpus.to_string().into()),
            Key::OpenShiftMemory => Some(memory_mib.to_string().into()),
            Key::OpenShiftGpu => Some(gpus.to_string().into()),
            // cluster-autoscaler would trust a node without CPU or memory.
            Key::Cpu => (vcpus > 0).then(|| vcpus.to_string().into()),
            Key::Memory => (memory_mib > 0).then(|| format!("{memory_mib}Mi").into()),
            Key::GpuCount => gpu_resource.map(|_| gpus.to_string().into()),
            Key::GpuType => gpu_resource,
            Key::EphemeralDisk => {
                let size = self.shape.root_disk_gib.filter(|size| *size > 0);
                size.map(|size| format!("{size}Gi").into())
            }
            Key::MaxPods => self.max_pods().map(|pods| pods.to_string().into()),
        }
    }

    /// The value of a label pair; `None` if it does not apply or is not a valid label value.
    pub(super) fn pair(&self, label: Label) -> Option<&'a str> {
        if label == Label::Architecture {
            return Some(self.capacity.architecture.as_str());
        }
        if self.options.arch_only_labels || !self.options.families.upstream() {
            return None;
        }
        let value = match label {
            Label::Architecture => None,
            Label::Zone => self.shape.zone.as_deref(),
            Label::Region => self.shape.region.as_deref(),
            Label::InstanceType => Some(&*self.shape.instance_type),
        };
        value.filter(|value| is_label_value(value))
    }

    /// One address per interface is the interface's own; two pods use the host network.
    fn max_pods(&self) -> Option<u64> {
        match self.options.max_pods {
            MaxPods::Off => None,
            MaxPods::Number(pods) => Some(pods.into()),
            MaxPods::Eni => {
                let interfaces = u64::from(self.capacity.interfaces);
                let addresses = u64::from(self.capacity.addresses_per_interface);
                let known = interfaces > 0 && addresses > 0;
                known.then(|| interfaces * addresses.saturating_sub(1) + 2)
            }
        }
    }
}

/// Kubernetes' rule. Provider specs hold any string, and a comma must not start another pair.
fn is_label_value(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && outer(bytes.first())
        && outer(bytes.last())
        && bytes.iter().copied().all(inner)
}
