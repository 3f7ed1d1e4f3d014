//! Names that people and other programs know: annotations, labels, leases.
//!
//! A name that machinist invents lives under `machinist.dev/`; all others are somebody else's contract and must not change.

/// How many vCPUs a machine of this set has. Read by OpenShift's cluster-autoscaler-operator.
pub const ANNOTATION_VCPU: &str = "machine.openshift.io/vCPU";
/// How much memory a machine of this set has. The name says Mb, the value is MiB.
pub const ANNOTATION_MEMORY: &str = "machine.openshift.io/memoryMb";
/// How many GPUs a machine of this set has, "0" where there are none.
pub const ANNOTATION_GPU: &str = "machine.openshift.io/GPU";
/// Labels that a node of this set will carry, as `key=value` pairs joined by commas. Read by every cluster-autoscaler.
pub const ANNOTATION_CAPACITY_LABELS: &str = "capacity.cluster-autoscaler.kubernetes.io/labels";

/// The label that says which processor architecture a node has.
pub const LABEL_ARCH: &str = "kubernetes.io/arch";
