//! Phases, conditions and reasons in the status of Machines and MachineSets.

pub const PHASE_PROVISIONING: &str = "Provisioning";
/// The instance exists, its Node does not.
pub const PHASE_PROVISIONED: &str = "Provisioned";
pub const PHASE_RUNNING: &str = "Running";

pub const CONDITION_INSTANCE_EXISTS: &str = "InstanceExists";
/// Whether the Node is drained, or needs no draining.
pub const CONDITION_DRAINED: &str = "Drained";
/// Whether no preDrain hook blocks the drain.
pub const CONDITION_DRAINABLE: &str = "Drainable";
/// Whether no preTerminate hook blocks the termination.
pub const CONDITION_TERMINABLE: &str = "Terminable";
/// Of a Machine: the state of its update in place. Absent without one.
pub const CONDITION_IN_PLACE_UPDATE: &str = "InPlaceUpdate";
pub const REASON_IN_PLACE_CANDIDATE: &str = "Candidate";
pub const REASON_IN_PLACE_SELECTED: &str = "Selected";
/// The Node is drained, and the agent may update it. Before that, the reasons are the steps of the drain.
pub const REASON_IN_PLACE_READY: &str = "ReadyForUpdate";
pub const REASON_IN_PLACE_TIMED_OUT: &str = "TimedOut";
pub const REASON_IN_PLACE_SUCCESSFUL: &str = "Successful";
pub const REASON_IN_PLACE_FAILED: &str = "Failed";
pub const CONDITION_PAUSED: &str = "Paused";
pub const CONDITION_READY: &str = "Ready";
/// Whether the Machine is kept for debugging, and until when. Absent if that was not requested.
pub const CONDITION_PRESERVED: &str = "Preserved";

/// Of a MachineSet: Machines cannot be created, deleted or counted. Absent otherwise.
pub const CONDITION_REPLICA_FAILURE: &str = "ReplicaFailure";
/// Of a MachineSet: whether its Machines are ready, and the most frequent reason if not.
pub const CONDITION_MACHINES_READY: &str = "MachinesReady";
/// Of a MachineSet: it has Machines that are preserved. Absent otherwise.
pub const CONDITION_MACHINES_PRESERVED: &str = "MachinesPreserved";

/// A freeze stops changes of the object; the reason is that of the freeze. Absent otherwise.
pub const CONDITION_FROZEN: &str = "Frozen";

/// Of a MachineDeployment: at least replicas − maxUnavailable Machines are available.
pub const CONDITION_AVAILABLE: &str = "Available";
/// Of a MachineDeployment: whether a rollout advances or is complete.
pub const CONDITION_PROGRESSING: &str = "Progressing";
pub const REASON_MINIMUM_AVAILABLE: &str = "MinimumReplicasAvailable";
pub const REASON_MINIMUM_UNAVAILABLE: &str = "MinimumReplicasUnavailable";
/// Of Progressing: the rollout is complete. The reasons are those of Deployments, with MachineSet for ReplicaSet.
pub const REASON_NEW_SET_AVAILABLE: &str = "NewMachineSetAvailable";
pub const REASON_NEW_SET_CREATED: &str = "NewMachineSetCreated";
pub const REASON_SET_UPDATED: &str = "MachineSetUpdated";
pub const REASON_DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";
/// Of Progressing: the first new Machines are observed before the others follow.
pub const REASON_CANARY_SOAKING: &str = "CanarySoaking";
/// Of Progressing: too many new Machines failed, and the rollout is stopped.
pub const REASON_ROLLOUT_ABORTED: &str = "RolloutAborted";
/// Of Progressing: a user changed the template of the MachineSet, so it is not that of the deployment.
pub const REASON_SET_CHANGED: &str = "MachineSetChanged";
pub const REASON_DEPLOYMENT_PAUSED: &str = "DeploymentPaused";
/// Of Available and Progressing: the deployment is being deleted.
pub const REASON_DELETING: &str = "Deleting";

pub const STATUS_TRUE: &str = "True";
pub const STATUS_FALSE: &str = "False";
pub const STATUS_UNKNOWN: &str = "Unknown";

pub const SEVERITY_ERROR: &str = "Error";
pub const SEVERITY_WARNING: &str = "Warning";
pub const SEVERITY_INFO: &str = "Info";

/// Of InstanceExists: the cloud API failed.
pub const REASON_ERROR_CHECKING_PROVIDER: &str = "ErrorCheckingProvider";
pub const REASON_INSTANCE_MISSING: &str = "InstanceMissing";
pub const REASON_INSTANCE_NOT_CREATED: &str = "InstanceNotCreated";
pub const REASON_HOOK_PRESENT: &str = "HookPresent";
pub const REASON_DRAIN_ERROR: &str = "DrainError";
pub const REASON_NOT_MACHINE_API: &str = "AuthoritativeAPINotMachineAPI";
pub const REASON_MACHINE_API: &str = "AuthoritativeAPIMachineAPI";

pub const ERROR_INVALID_CONFIGURATION: &str = "InvalidConfiguration";
pub const ERROR_CREATE: &str = "CreateError";
pub const ERROR_JOIN_CLUSTER_TIMEOUT: &str = "JoinClusterTimeoutError";

pub const AUTHORITY_MACHINE_API: &str = "MachineAPI";
pub const AUTHORITY_CLUSTER_API: &str = "ClusterAPI";
pub const AUTHORITY_MIGRATING: &str = "Migrating";

/// OpenShift's feature gate for the migration of machines to Cluster API.
pub const GATE_MIGRATION: &str = "MachineAPIMigration";

pub const DELETE_POLICY_RANDOM: &str = "Random";
pub const DELETE_POLICY_NEWEST: &str = "Newest";
pub const DELETE_POLICY_OLDEST: &str = "Oldest";
