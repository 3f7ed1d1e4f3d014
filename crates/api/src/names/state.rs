//! What the status of a Machine or MachineSet says: phases, conditions, reasons.

/// Nothing was created yet, or it is being created.
pub const PHASE_PROVISIONING: &str = "Provisioning";
/// The instance is there, its Node is not.
pub const PHASE_PROVISIONED: &str = "Provisioned";
/// Instance and Node are there.
pub const PHASE_RUNNING: &str = "Running";
/// On its way out.
pub const PHASE_DELETING: &str = "Deleting";
/// Failed for good: nothing but deletion follows.
pub const PHASE_FAILED: &str = "Failed";

/// Whether the instance exists.
pub const CONDITION_INSTANCE_EXISTS: &str = "InstanceExists";
/// Whether the Node is drained, or needs no draining.
pub const CONDITION_DRAINED: &str = "Drained";
/// Whether a drain may begin: no preDrain hook is in the way.
pub const CONDITION_DRAINABLE: &str = "Drainable";
/// Whether the instance may go: no preTerminate hook is in the way.
pub const CONDITION_TERMINABLE: &str = "Terminable";
/// Whether another machine API manages the object.
pub const CONDITION_PAUSED: &str = "Paused";
/// Whether all is as it should be, and if not, why.
pub const CONDITION_READY: &str = "Ready";

/// Of a MachineSet: machines cannot be created, deleted or counted, and why. Not there where they can.
pub const CONDITION_REPLICA_FAILURE: &str = "ReplicaFailure";

/// The status of a condition that holds.
pub const STATUS_TRUE: &str = "True";
/// The status of a condition that does not hold.
pub const STATUS_FALSE: &str = "False";
/// The status of a condition of which nothing can be said.
pub const STATUS_UNKNOWN: &str = "Unknown";

/// Severity of a condition: a person has to act.
pub const SEVERITY_ERROR: &str = "Error";
/// Severity of a condition: worth a look.
pub const SEVERITY_WARNING: &str = "Warning";
/// Severity of a condition: good to know.
pub const SEVERITY_INFO: &str = "Info";

/// Of InstanceExists: the cloud could not be asked.
pub const REASON_ERROR_CHECKING_PROVIDER: &str = "ErrorCheckingProvider";
/// Of InstanceExists: it was there and is no more.
pub const REASON_INSTANCE_MISSING: &str = "InstanceMissing";
/// Of InstanceExists: it was not created yet.
pub const REASON_INSTANCE_NOT_CREATED: &str = "InstanceNotCreated";
/// Of Drainable and Terminable: a lifecycle hook is in the way.
pub const REASON_HOOK_PRESENT: &str = "HookPresent";
/// Of Drained: the drain goes on, and the message says what is in its way.
pub const REASON_DRAIN_ERROR: &str = "DrainError";
/// Of Paused, where it is true.
pub const REASON_NOT_MACHINE_API: &str = "AuthoritativeAPINotMachineAPI";
/// Of Paused, where it is false.
pub const REASON_MACHINE_API: &str = "AuthoritativeAPIMachineAPI";
/// Of Ready: creation takes longer than it should, and goes on.
pub const REASON_CREATION_TIMED_OUT: &str = "CreationTimedOut";

/// `errorReason`: the cloud, or we, do not take this configuration.
pub const ERROR_INVALID_CONFIGURATION: &str = "InvalidConfiguration";
/// `errorReason`: the instance could not be created.
pub const ERROR_CREATE: &str = "CreateError";
/// `errorReason`: no Node appeared in time.
pub const ERROR_JOIN_CLUSTER_TIMEOUT: &str = "JoinClusterTimeoutError";

/// The authority that this API is one of.
pub const AUTHORITY_MACHINE_API: &str = "MachineAPI";
/// The authority that is Cluster API.
pub const AUTHORITY_CLUSTER_API: &str = "ClusterAPI";
/// The authority while it changes hands.
pub const AUTHORITY_MIGRATING: &str = "Migrating";

/// Delete policy: whichever; the default.
pub const DELETE_POLICY_RANDOM: &str = "Random";
/// Delete policy: the youngest first.
pub const DELETE_POLICY_NEWEST: &str = "Newest";
/// Delete policy: the oldest first.
pub const DELETE_POLICY_OLDEST: &str = "Oldest";
