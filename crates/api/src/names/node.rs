//! Names on Nodes and Pods: whose they are, what they are, and what draining looks at.

pub const LABEL_ARCH: &str = "kubernetes.io/arch";
pub const LABEL_ZONE: &str = "topology.kubernetes.io/zone";
pub const LABEL_REGION: &str = "topology.kubernetes.io/region";
pub const LABEL_INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// A Node with this label runs a part of the control plane, whatever the value.
pub const LABEL_CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
/// The same, in the words of older clusters. Either is enough.
pub const LABEL_MASTER: &str = "node-role.kubernetes.io/master";

/// On a Node: `<namespace>/<name>` of its Machine. cluster-autoscaler reads it too.
pub const ANNOTATION_MACHINE: &str = "machine.openshift.io/machine";
/// On a Node: what was set there from the Machine, so that it can be removed again. Versioned.
pub const ANNOTATION_NODE_METADATA: &str = "machinist.dev/node-metadata";
/// On a Node: when its drain began, and whether the cordon is ours. Versioned.
pub const ANNOTATION_DRAIN: &str = "machinist.dev/drain";
/// On a Node, read by cluster-autoscaler: `true` keeps it from removing the Node.
pub const ANNOTATION_SCALE_DOWN_DISABLED: &str =
    "cluster-autoscaler.kubernetes.io/scale-down-disabled";
/// On a Node: the controllers that keep [`ANNOTATION_SCALE_DOWN_DISABLED`] there, separated by spaces. Without it, the
/// annotation is another client's.
pub const ANNOTATION_SCALE_DOWN_DISABLED_BY: &str = "machinist.dev/scale-down-disabled-by";
/// On a Node: the MachineDeployment whose rollout has marked it, and whether the taint is ours. Versioned.
pub const ANNOTATION_ROLLOUT: &str = "machinist.dev/rollout";
/// The key of a taint, with the effect [`PREFER_NO_SCHEDULE`]: a rollout replaces the Machine of this Node.
pub const TAINT_REPLACED_NEXT: &str = "machinist.dev/prefer-no-schedule";
/// An effect of taints: new pods prefer other Nodes.
pub const PREFER_NO_SCHEDULE: &str = "PreferNoSchedule";
/// The key of a taint, with the effect [`NO_SCHEDULE`]: the failed Machine of this Node is kept for debugging.
pub const TAINT_PRESERVED: &str = "machinist.dev/preserved";
/// An effect of taints: no new pods.
pub const NO_SCHEDULE: &str = "NoSchedule";
/// On a Pod: it only mirrors a static pod of the kubelet and cannot be evicted.
pub const ANNOTATION_MIRROR_POD: &str = "kubernetes.io/config.mirror";

pub const NODE_CONDITION_READY: &str = "Ready";
/// The cloud is about to reclaim the instance. Read by OpenShift's health check of spot machines.
pub const NODE_CONDITION_TERMINATING: &str = "Terminating";
pub const REASON_TERMINATION_REQUESTED: &str = "TerminationRequested";
/// The instance is at a higher risk to be reclaimed. Ours.
pub const NODE_CONDITION_REBALANCE_RECOMMENDED: &str = "RebalanceRecommended";
pub const REASON_REBALANCE_RECOMMENDATION: &str = "RebalanceRecommendation";
