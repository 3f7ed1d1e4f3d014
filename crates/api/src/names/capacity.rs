//! Capacity annotations for cluster-autoscaler (scale from zero).

/// The vCPUs of a Machine. Read by OpenShift's cluster-autoscaler-operator.
pub const ANNOTATION_VCPU: &str = "machine.openshift.io/vCPU";
/// The memory of a Machine. The name says Mb, the value is MiB.
pub const ANNOTATION_MEMORY: &str = "machine.openshift.io/memoryMb";
/// The GPUs of a Machine, "0" where there are none.
pub const ANNOTATION_GPU: &str = "machine.openshift.io/GPU";
/// Labels of a node, as `key=value` pairs joined by commas. Read by every cluster-autoscaler.
pub const ANNOTATION_CAPACITY_LABELS: &str = "capacity.cluster-autoscaler.kubernetes.io/labels";

/// Read by upstream's cluster-autoscaler, as are the next five.
pub const ANNOTATION_CAPACITY_CPU: &str = "capacity.cluster-autoscaler.kubernetes.io/cpu";
pub const ANNOTATION_CAPACITY_MEMORY: &str = "capacity.cluster-autoscaler.kubernetes.io/memory";
/// The GPUs of a Machine; absent where there are none.
pub const ANNOTATION_CAPACITY_GPU_COUNT: &str =
    "capacity.cluster-autoscaler.kubernetes.io/gpu-count";
pub const ANNOTATION_CAPACITY_GPU_TYPE: &str = "capacity.cluster-autoscaler.kubernetes.io/gpu-type";
/// The size of the root volume, as a quantity.
pub const ANNOTATION_CAPACITY_EPHEMERAL_DISK: &str =
    "capacity.cluster-autoscaler.kubernetes.io/ephemeral-disk";
/// The pods of a node; 110 by default.
pub const ANNOTATION_CAPACITY_MAX_PODS: &str = "capacity.cluster-autoscaler.kubernetes.io/maxPods";
/// What the annotator wrote last, to tell it from values of users: `v1:` and `key=value` pairs joined by commas.
pub const ANNOTATION_ANNOTATED: &str = "machinist.dev/annotated";
