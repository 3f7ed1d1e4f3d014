//! Names on MachineHealthChecks and of what they do.

/// On a MachineHealthCheck: it does nothing. Any value.
pub const ANNOTATION_PAUSED: &str = "cluster.x-k8s.io/paused";
/// On a MachineHealthCheck: who remediates. [`STRATEGY_EXTERNAL_BAREMETAL`] is the only value.
pub const ANNOTATION_REMEDIATION_STRATEGY: &str = "machine.openshift.io/remediation-strategy";
pub const STRATEGY_EXTERNAL_BAREMETAL: &str = "external-baremetal";
/// On a Machine: Metal3 remediates it. Any value.
pub const ANNOTATION_EXTERNAL_REMEDIATION: &str = "host.metal3.io/external-remediation";
/// On a MachineHealthCheck: `false` keeps it from remediating Machines of the control plane.
pub const ANNOTATION_REMEDIATE_CONTROL_PLANE: &str = "machinist.dev/remediate-control-plane";

/// The role of a Machine; a convention of OpenShift's installer.
pub const LABEL_MACHINE_ROLE: &str = "machine.openshift.io/cluster-api-machine-role";
pub const ROLE_MASTER: &str = "master";
pub const ROLE_CONTROL_PLANE: &str = "control-plane";

/// Whether no more Machines than `spec.maxUnhealthy` are unhealthy.
pub const CONDITION_REMEDIATION_ALLOWED: &str = "RemediationAllowed";
pub const REASON_TOO_MANY_UNHEALTHY: &str = "TooManyUnhealthy";
/// Ours: the Machines that are not healthy, why, and when they are remediated.
pub const CONDITION_MACHINES_HEALTHY: &str = "MachinesHealthy";
pub const REASON_UNHEALTHY_MACHINES: &str = "UnhealthyMachines";
pub const REASON_PAUSED: &str = "Paused";

/// Whether the template in `spec.remediationTemplate` can be used.
pub const CONDITION_TEMPLATE_AVAILABLE: &str = "ExternalRemediationTemplateAvailable";
pub const REASON_TEMPLATE_NOT_FOUND: &str = "ExternalRemediationTemplateNotFound";
/// Whether objects can be created from it.
pub const CONDITION_REQUEST_AVAILABLE: &str = "ExternalRemediationRequestAvailable";
pub const REASON_REQUEST_CREATION_FAILED: &str = "ExternalRemediationRequestCreationFailed";
/// On a remediation object: the template that it was created from.
pub const ANNOTATION_CLONED_FROM_NAME: &str = "machine.openshift.io/cloned-from-name";
pub const ANNOTATION_CLONED_FROM_GROUP_KIND: &str = "machine.openshift.io/cloned-from-groupkind";
/// On a remediation object: the health check that created it, and deletes it.
pub const ANNOTATION_HEALTH_CHECK: &str = "machinist.dev/health-check";

/// On a MachineHealthCheck: how many of its Machines may be in replacement at a time, a number or a percentage.
pub const ANNOTATION_MAX_IN_FLIGHT: &str = "machinist.dev/max-in-flight";
/// On a MachineHealthCheck: how many Machines are replaced in the same place before that stops.
pub const ANNOTATION_MAX_RETRIES: &str = "machinist.dev/max-retries";
/// On a MachineHealthCheck: a Machine that was healthy for that long is not counted as a retry.
pub const ANNOTATION_MIN_HEALTHY_PERIOD: &str = "machinist.dev/min-healthy-period";
/// On a MachineHealthCheck, written by its controller: the Machines that it deleted, which their successors inherit.
pub const ANNOTATION_REMEDIATIONS: &str = "machinist.dev/remediations";
