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
/// On a Node: which labels, annotations and taints were put there from the Machine, so that they can be taken off
/// again. Versioned.
pub const ANNOTATION_NODE_METADATA: &str = "machinist.dev/node-metadata";
/// On a Node: when its drain began, and whether the cordon is ours. Versioned.
pub const ANNOTATION_DRAIN: &str = "machinist.dev/drain";
/// On a Pod: it only mirrors a static pod of the kubelet and cannot be evicted.
pub const ANNOTATION_MIRROR_POD: &str = "kubernetes.io/config.mirror";

/// The condition of a Node that says whether its kubelet is well.
pub const NODE_CONDITION_READY: &str = "Ready";
/// The condition of a Node whose instance the cloud is about to take away. OpenShift's health check of spot machines
/// looks for it.
pub const NODE_CONDITION_TERMINATING: &str = "Terminating";
/// The reason of [`NODE_CONDITION_TERMINATING`].
pub const REASON_TERMINATION_REQUESTED: &str = "TerminationRequested";
/// The condition of a Node whose instance is at a higher risk to be taken away. Ours.
pub const NODE_CONDITION_REBALANCE_RECOMMENDED: &str = "RebalanceRecommended";
/// The reason of [`NODE_CONDITION_REBALANCE_RECOMMENDED`].
pub const REASON_REBALANCE_RECOMMENDATION: &str = "RebalanceRecommendation";
