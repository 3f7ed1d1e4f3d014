//! Names on Machines and MachineSets: finalizer, labels, annotations. And the tags of cloud resources.

/// The finalizer of a Machine: set before the creation, removed after the termination of the instance.
pub const FINALIZER_MACHINE: &str = "machine.machine.openshift.io";

/// Which cluster a Machine belongs to; a Machine without it is not created.
pub const LABEL_CLUSTER: &str = "machine.openshift.io/cluster-api-cluster";
/// The former name; read if the other is missing.
pub const LABEL_CLUSTER_LEGACY: &str = "sigs.k8s.io/cluster-api-cluster";
/// The MachineSet of a Machine; a convention of OpenShift's installer, which uses it in selectors.
pub const LABEL_MACHINE_SET: &str = "machine.openshift.io/cluster-api-machineset";
pub const LABEL_MACHINE_REGION: &str = "machine.openshift.io/region";
pub const LABEL_MACHINE_ZONE: &str = "machine.openshift.io/zone";
pub const LABEL_MACHINE_INSTANCE_TYPE: &str = "machine.openshift.io/instance-type";
/// A spot instance. The value is empty.
pub const LABEL_INTERRUPTIBLE: &str = "machine.openshift.io/interruptible-instance";

/// The state of the instance as its cloud names it. A wide column of `kubectl get machines`.
pub const ANNOTATION_INSTANCE_STATE: &str = "machine.openshift.io/instance-state";
/// The value of [`ANNOTATION_INSTANCE_STATE`] once a Machine has failed.
pub const INSTANCE_STATE_UNKNOWN: &str = "Unknown";
/// The Node is not drained. Any value.
pub const ANNOTATION_EXCLUDE_DRAINING: &str = "machine.openshift.io/exclude-node-draining";
/// This Machine is deleted first on scale down. Any non-empty value; cluster-autoscaler writes a time.
pub const ANNOTATION_DELETE_MACHINE: &str = "machine.openshift.io/delete-machine";
pub const ANNOTATION_DELETE_MACHINE_LEGACY: &str =
    "machine.openshift.io/cluster-api-delete-machine";
/// The value of such a mark if a MachineDeployment has set it.
pub const MARKED_BY_DEPLOYMENT: &str = "machinist.dev/machinedeployment";

/// On a MachineSet: the ordinals of Machines in creation, as `from..next`. Only grows.
pub const ANNOTATION_ORDINALS: &str = "machinist.dev/ordinals";
/// After this time a Machine in creation fails. Without it, it never does.
pub const ANNOTATION_CREATION_TIMEOUT: &str = "machinist.dev/creation-timeout";
/// How long a drain may take before it is forced: a duration, `never` or `0`. It wins over `--drain-timeout`.
pub const ANNOTATION_DRAIN_TIMEOUT: &str = "machinist.dev/drain-timeout";
/// How long a Machine may be unhealthy before [`ANNOTATION_PRESERVE`] `when-failed` applies. Copied to Machines.
pub const ANNOTATION_HEALTH_TIMEOUT: &str = "machinist.dev/health-timeout";
/// Keeps a Machine for debugging: `now`, `when-failed` or `false`. On a Machine or its Node; the Node's wins.
pub const ANNOTATION_PRESERVE: &str = "machinist.dev/preserve";
/// The value of [`ANNOTATION_PRESERVE`] if a MachineDeployment has set it: as `when-failed`.
pub const PRESERVE_AUTO: &str = "auto";
/// How long a Machine is preserved, a duration. Read when the preservation begins.
pub const ANNOTATION_PRESERVE_TIMEOUT: &str = "machinist.dev/preserve-timeout";
/// On a Machine that is preserved, or was: when the preservation ends. Written once, when it begins.
pub const ANNOTATION_PRESERVED_UNTIL: &str = "machinist.dev/preserved-until";
/// The instance is terminated without a drain. Any value.
pub const ANNOTATION_FORCE_DELETION: &str = "machinist.dev/force-deletion";

/// On a Machine: the state of its update in place, one of the two below. On its Node: one of the next two.
pub const LABEL_IN_PLACE: &str = "machinist.dev/in-place-update";
/// Its MachineDeployment has another template.
pub const IN_PLACE_CANDIDATE: &str = "candidate";
/// It is to be updated. Set by the MachineDeployment or, with `orchestrationType: Manual`, by a user.
pub const IN_PLACE_SELECTED: &str = "selected";
/// The Node is drained for an update.
pub const IN_PLACE_DRAINING: &str = "draining";
/// The agent may update the Node.
pub const IN_PLACE_READY: &str = "ready-for-update";
/// On a Node, by the agent that updates it, and then on its Machine: one of the two below.
pub const LABEL_IN_PLACE_RESULT: &str = "machinist.dev/in-place-update-result";
pub const IN_PLACE_SUCCESSFUL: &str = "successful";
pub const IN_PLACE_FAILED: &str = "failed";
/// On a Machine and its Node: the MachineSet with the template to which it is updated.
pub const ANNOTATION_IN_PLACE_TARGET: &str = "machinist.dev/in-place-update-target";
/// On a Machine: how long its update may take before it is reported as late. A duration.
pub const ANNOTATION_IN_PLACE_TIMEOUT: &str = "machinist.dev/in-place-update-timeout";
/// On a MachineSet: it neither creates nor deletes Machines while a Machine is moved out of it or into it.
pub const ANNOTATION_HOLD: &str = "machinist.dev/hold";
/// Of an object or its Namespace: machinist changes nothing of it. The value is the reason, in the words of its writer.
pub const ANNOTATION_FREEZE: &str = "machinist.dev/freeze";
/// The ConfigMap that stops all changes while it exists, in the namespace of the Leases. Its key `reason` says why.
pub const FREEZE_CONFIG_MAP: &str = "machinist-freeze";

/// On a MachineSet of a MachineDeployment and on its Machines: the hash of the template.
pub const LABEL_TEMPLATE_HASH: &str = "machinist.dev/template-hash";
/// On a MachineSet of a MachineDeployment: the fields of the provider spec that its hash leaves out, separated by
/// commas, because the provider changes them on living instances.
pub const ANNOTATION_HOT_FIELDS: &str = "machinist.dev/hot-fields";
/// On a MachineSet of a MachineDeployment: fields of its template that changed and that Machines may not have yet.
pub const ANNOTATION_PENDING_CHANGES: &str = "machinist.dev/pending-changes";
/// On a MachineSet of a MachineDeployment: its canaries have been available for long enough, or all its Machines have
/// been. `v1` and the time.
pub const ANNOTATION_CANARY_PASSED: &str = "machinist.dev/canary-passed";
/// On a MachineSet of a MachineDeployment: its Machines that failed or were not ready in time during a rollout, also
/// those that are gone: `v1 name=Failed,name=NotReady`. Only grows.
pub const ANNOTATION_FAILED_MACHINES: &str = "machinist.dev/failed-machines";
/// On a MachineSet of a MachineDeployment: its rollout is stopped, and it creates no Machines. `v1` and the time;
/// without it, the rollout goes on.
pub const ANNOTATION_ROLLOUT_ABORTED: &str = "machinist.dev/rollout-aborted";
/// On a MachineSet of a MachineDeployment whose template was put back: `v1` and the time. Machines that it had before
/// are not new.
pub const ANNOTATION_ROLLOUT_STARTED: &str = "machinist.dev/rollout-started";
/// On a MachineSet: its MachineDeployment. cluster-autoscaler reads it.
pub const LABEL_DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
/// On a MachineDeployment and its MachineSets: the revision of the template, from 1. cluster-autoscaler reads it.
pub const ANNOTATION_REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";

/// On a MachineDeployment, by users, and copied to its MachineSet: why the template was changed. kubectl's name.
pub const ANNOTATION_CHANGE_CAUSE: &str = "kubernetes.io/change-cause";
/// In the template of a MachineDeployment: when `machinist rollout restart` was run. A new value rolls.
pub const ANNOTATION_RESTARTED_AT: &str = "machinist.dev/restarted-at";

pub const TAG_MACHINE_UID: &str = "machinist.dev/machine-uid";
/// Tag value, and field manager in Kubernetes.
pub const MANAGED_BY_MACHINIST: &str = "machinist";
