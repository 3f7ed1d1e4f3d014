//! Annotations that say what one machine of a set gives: for cluster-autoscaler, which must know before there is one.

/// How many vCPUs a machine of this set has. Read by OpenShift's cluster-autoscaler-operator.
pub const ANNOTATION_VCPU: &str = "machine.openshift.io/vCPU";
/// How much memory a machine of this set has. The name says Mb, the value is MiB.
pub const ANNOTATION_MEMORY: &str = "machine.openshift.io/memoryMb";
/// How many GPUs a machine of this set has, "0" where there are none.
pub const ANNOTATION_GPU: &str = "machine.openshift.io/GPU";
/// Labels that a node of this set will carry, as `key=value` pairs joined by commas. Read by every cluster-autoscaler.
pub const ANNOTATION_CAPACITY_LABELS: &str = "capacity.cluster-autoscaler.kubernetes.io/labels";

/// How many vCPUs a machine of this set has, as a quantity. Read by upstream's cluster-autoscaler, as are the next
/// five.
pub const ANNOTATION_CAPACITY_CPU: &str = "capacity.cluster-autoscaler.kubernetes.io/cpu";
/// How much memory a machine of this set has, as a quantity.
pub const ANNOTATION_CAPACITY_MEMORY: &str = "capacity.cluster-autoscaler.kubernetes.io/memory";
/// How many GPUs a machine of this set has; absent where there are none.
pub const ANNOTATION_CAPACITY_GPU_COUNT: &str =
    "capacity.cluster-autoscaler.kubernetes.io/gpu-count";
/// As which resource the GPUs are asked for.
pub const ANNOTATION_CAPACITY_GPU_TYPE: &str = "capacity.cluster-autoscaler.kubernetes.io/gpu-type";
/// How large the root volume is, as a quantity.
pub const ANNOTATION_CAPACITY_EPHEMERAL_DISK: &str =
    "capacity.cluster-autoscaler.kubernetes.io/ephemeral-disk";
/// How many pods a node of this set takes; 110 where nothing is said.
pub const ANNOTATION_CAPACITY_MAX_PODS: &str = "capacity.cluster-autoscaler.kubernetes.io/maxPods";
/// What the annotator last wrote, so that it can tell its own values from a user's: `v1:` and `key=value` pairs joined
/// by commas.
pub const ANNOTATION_ANNOTATED: &str = "machinist.dev/annotated";
