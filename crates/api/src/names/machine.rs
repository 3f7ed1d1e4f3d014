//! Names on Machines and MachineSets: finalizer, labels, annotations. And the tags of what machinist makes in a cloud.

/// The finalizer of a Machine: it stays until the instance is gone. On the object before anything is created.
pub const FINALIZER_MACHINE: &str = "machine.machine.openshift.io";

/// Which cluster a Machine belongs to; a Machine without it is not created.
pub const LABEL_CLUSTER: &str = "machine.openshift.io/cluster-api-cluster";
/// The same, in the words of the first releases; read where the other is missing.
pub const LABEL_CLUSTER_LEGACY: &str = "sigs.k8s.io/cluster-api-cluster";
/// Which set a Machine was made by; a convention of OpenShift's installer, which uses it in selectors.
pub const LABEL_MACHINE_SET: &str = "machine.openshift.io/cluster-api-machineset";
/// The region that the instance is in. A column of `kubectl get machines`.
pub const LABEL_MACHINE_REGION: &str = "machine.openshift.io/region";
/// The zone that the instance is in. A column of `kubectl get machines`.
pub const LABEL_MACHINE_ZONE: &str = "machine.openshift.io/zone";
/// The instance type. A column of `kubectl get machines`.
pub const LABEL_MACHINE_INSTANCE_TYPE: &str = "machine.openshift.io/instance-type";
/// The cloud may take this instance back at any time (a spot instance). The value is empty.
pub const LABEL_INTERRUPTIBLE: &str = "machine.openshift.io/interruptible-instance";

/// The state of the instance in the words of its cloud. A wide column of `kubectl get machines`.
pub const ANNOTATION_INSTANCE_STATE: &str = "machine.openshift.io/instance-state";
/// The value of [`ANNOTATION_INSTANCE_STATE`] once a Machine has failed.
pub const INSTANCE_STATE_UNKNOWN: &str = "Unknown";
/// The Node is not drained before the instance goes. That it is there counts, not its value.
pub const ANNOTATION_EXCLUDE_DRAINING: &str = "machine.openshift.io/exclude-node-draining";
/// This Machine goes first when its set shrinks. Any value but an empty one; cluster-autoscaler writes a time.
pub const ANNOTATION_DELETE_MACHINE: &str = "machine.openshift.io/delete-machine";
/// The same, in the words of older releases. Still honoured.
pub const ANNOTATION_DELETE_MACHINE_LEGACY: &str =
    "machine.openshift.io/cluster-api-delete-machine";

/// On a MachineSet: which ordinals may be in the making, as `from..next`. Only grows.
pub const ANNOTATION_ORDINALS: &str = "machinist.dev/ordinals";
/// How long a creation may take before the Machine is given up. Without it, a Machine is never given up for that.
pub const ANNOTATION_CREATION_TIMEOUT: &str = "machinist.dev/creation-timeout";
/// The instance goes without waiting for a drain. That it is there counts, not its value.
pub const ANNOTATION_FORCE_DELETION: &str = "machinist.dev/force-deletion";

/// In a cloud: the uid of the Machine that a resource was made for.
pub const TAG_MACHINE_UID: &str = "machinist.dev/machine-uid";
/// In a cloud, and as the field manager in Kubernetes: who made it.
pub const MANAGED_BY_MACHINIST: &str = "machinist";
