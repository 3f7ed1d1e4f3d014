//! Phases, conditions and reasons in the status of Machines and MachineSets.

/// The instance is created.
pub const PHASE_PROVISIONING: &str = "Provisioning";
/// The instance exists, its Node does not.
pub const PHASE_PROVISIONED: &str = "Provisioned";
/// Instance and Node exist.
pub const PHASE_RUNNING: &str = "Running";
/// The Machine is deleted.
pub const PHASE_DELETING: &str = "Deleting";
/// A permanent failure: only deletion helps.
pub const PHASE_FAILED: &str = "Failed";

/// Whether the instance exists.
pub const CONDITION_INSTANCE_EXISTS: &str = "InstanceExists";
/// Whether the Node is drained, or needs no draining.
pub const CONDITION_DRAINED: &str = "Drained";
/// Whether no preDrain hook blocks the drain.
pub const CONDITION_DRAINABLE: &str = "Drainable";
/// Whether no preTerminate hook blocks the termination.
pub const CONDITION_TERMINABLE: &str = "Terminable";
/// Whether another machine API manages the object.
pub const CONDITION_PAUSED: &str = "Paused";
/// Whether the object is ready.
pub const CONDITION_READY: &str = "Ready";

/// Of a MachineSet: Machines cannot be created, deleted or counted. Absent otherwise.
pub const CONDITION_REPLICA_FAILURE: &str = "ReplicaFailure";

/// Status of a true condition.
pub const STATUS_TRUE: &str = "True";
/// Status of a false condition.
pub const STATUS_FALSE: &str = "False";
/// Status of an unknown condition.
pub const STATUS_UNKNOWN: &str = "Unknown";

/// Severity of a condition: a person has to act.
pub const SEVERITY_ERROR: &str = "Error";
/// Severity of a condition: worth attention.
pub const SEVERITY_WARNING: &str = "Warning";
/// Severity of a condition: information.
pub const SEVERITY_INFO: &str = "Info";

/// Of InstanceExists: the cloud API failed.
pub const REASON_ERROR_CHECKING_PROVIDER: &str = "ErrorCheckingProvider";
/// Of InstanceExists: it is gone.
pub const REASON_INSTANCE_MISSING: &str = "InstanceMissing";
/// Of InstanceExists: it was not created yet.
pub const REASON_INSTANCE_NOT_CREATED: &str = "InstanceNotCreated";
/// Of Drainable and Terminable: a lifecycle hook exists.
pub const REASON_HOOK_PRESENT: &str = "HookPresent";
/// Of Drained: the drain is blocked.
pub const REASON_DRAIN_ERROR: &str = "DrainError";
/// Of Paused=True.
pub const REASON_NOT_MACHINE_API: &str = "AuthoritativeAPINotMachineAPI";
/// Of Paused=False.
pub const REASON_MACHINE_API: &str = "AuthoritativeAPIMachineAPI";
/// Of Ready: the creation timeout has passed.
pub const REASON_CREATION_TIMED_OUT: &str = "CreationTimedOut";

/// `errorReason`: invalid configuration.
pub const ERROR_INVALID_CONFIGURATION: &str = "InvalidConfiguration";
/// `errorReason`: the instance could not be created.
pub const ERROR_CREATE: &str = "CreateError";
/// `errorReason`: no Node appeared in time.
pub const ERROR_JOIN_CLUSTER_TIMEOUT: &str = "JoinClusterTimeoutError";

/// Machine API.
pub const AUTHORITY_MACHINE_API: &str = "MachineAPI";
/// Cluster API.
pub const AUTHORITY_CLUSTER_API: &str = "ClusterAPI";
/// A migration is in progress.
pub const AUTHORITY_MIGRATING: &str = "Migrating";

/// Delete policy: any; the default.
pub const DELETE_POLICY_RANDOM: &str = "Random";
/// Delete policy: the newest first.
pub const DELETE_POLICY_NEWEST: &str = "Newest";
/// Delete policy: the oldest first.
pub const DELETE_POLICY_OLDEST: &str = "Oldest";
