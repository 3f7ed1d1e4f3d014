//! Names on Nodes and Pods: whose they are, what they are, and what draining looks at.

/// The label that says which processor architecture a node has.
pub const LABEL_ARCH: &str = "kubernetes.io/arch";
/// The label that says which zone a node is in.
pub const LABEL_ZONE: &str = "topology.kubernetes.io/zone";
/// The label that says which region a node is in.
pub const LABEL_REGION: &str = "topology.kubernetes.io/region";
/// The label that says which type of machine a node is.
pub const LABEL_INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// A Node with this label runs a part of the control plane, whatever the value.
pub const LABEL_CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
/// The same, in the words of older clusters. Either is enough.
pub const LABEL_MASTER: &str = "node-role.kubernetes.io/master";

/// On a Node: `<namespace>/<name>` of its Machine. cluster-autoscaler reads it too.
pub const ANNOTATION_MACHINE: &str = "machine.openshift.io/machine";
/// On a Node: which labels, annotations and taints were put there from the Machine, so that they can be taken off again. Versioned.
pub const ANNOTATION_NODE_METADATA: &str = "machinist.dev/node-metadata";
/// On a Node: when its drain began, and whether the cordon is ours. Versioned.
pub const ANNOTATION_DRAIN: &str = "machinist.dev/drain";
/// On a Pod: it only mirrors a static pod of the kubelet and cannot be evicted.
pub const ANNOTATION_MIRROR_POD: &str = "kubernetes.io/config.mirror";

/// The taint of a cordoned Node, put there by Kubernetes.
pub const TAINT_UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// The taint of a Node that is not ready.
pub const TAINT_NOT_READY: &str = "node.kubernetes.io/not-ready";
/// The taint of a Node from which nothing is heard.
pub const TAINT_UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// The taint that lets volumes be detached from a Node that is off.
pub const TAINT_OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
/// The taint that cluster-autoscaler puts on a Node before it takes it away.
pub const TAINT_TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

/// The condition of a Node that says whether its kubelet is well.
pub const NODE_CONDITION_READY: &str = "Ready";
