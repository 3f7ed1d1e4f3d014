use machinist_api::names::{
    CONDITION_FROZEN, CONDITION_MACHINES_HEALTHY, CONDITION_REMEDIATION_ALLOWED,
    CONDITION_REQUEST_AVAILABLE, CONDITION_TEMPLATE_AVAILABLE, LEASE_HEALTH_CHECK,
};
use machinist_api::resource::{
    MACHINE_DEPLOYMENTS, MACHINE_HEALTH_CHECKS, MACHINE_SETS, MACHINES, NODES,
};
use machinist_domain::report::EventReason;
use machinist_runtime::controller::declaration::{Declaration, Lease, Read, WATCH, Write};

use super::metrics::HealthCheckMetrics;

pub const DECLARATION: Declaration = Declaration {
    summary: "Deletes Machines whose Nodes are unhealthy, so that their MachineSets replace them.",
    requires: &[MACHINE_HEALTH_CHECKS, MACHINE_SETS, MACHINES],
    needs_nodes: true,
    lease: Lease::shared(LEASE_HEALTH_CHECK),
    // One, because health checks that select the same Machines, MachineDeployment or control plane share limits.
    workers: 1,
    max_workers: Some(1),
    reads: &[
        Read::new(MACHINE_HEALTH_CHECKS, WATCH),
        Read::new(MACHINES, WATCH),
        Read::new(MACHINE_SETS, WATCH),
        Read::new(MACHINE_DEPLOYMENTS, WATCH)
            .because("Where this kind is served: `spec.remediation.maxInFlight`."),
        Read::new(NODES, WATCH),
    ],
    writes: WRITES,
    conditions: &[
        (
            MACHINE_HEALTH_CHECKS,
            CONDITION_REMEDIATION_ALLOWED,
            "Whether at most spec.maxUnhealthy Machines are not healthy. With more, none is remediated.",
        ),
        (
            MACHINE_HEALTH_CHECKS,
            CONDITION_MACHINES_HEALTHY,
            "The unhealthy Machines, why, and when they are remediated or why not.",
        ),
        (
            MACHINE_HEALTH_CHECKS,
            CONDITION_TEMPLATE_AVAILABLE,
            "Whether spec.remediationTemplate can be used. Absent without one.",
        ),
        (
            MACHINE_HEALTH_CHECKS,
            CONDITION_REQUEST_AVAILABLE,
            "Whether remediation objects can be created. Absent without a template.",
        ),
        (
            MACHINE_HEALTH_CHECKS,
            CONDITION_FROZEN,
            "Which freeze stops changes, and why. Absent otherwise.",
        ),
    ],
    events: &[
        EventReason::DetectedUnhealthy,
        EventReason::ExternalAnnotationAdded,
        EventReason::ExternalAnnotationFailed,
        EventReason::FreezeEnded,
        EventReason::Frozen,
        EventReason::HealthChecksOverlap,
        EventReason::InvalidConfiguration,
        EventReason::MachineDeleted,
        EventReason::MachineDeletionFailed,
        EventReason::ReconcileError,
        EventReason::RemediationEnded,
        EventReason::RemediationHeld,
        EventReason::RemediationRequestFailed,
        EventReason::RemediationRequested,
        EventReason::RemediationRestricted,
        EventReason::RemediationUnavailable,
        EventReason::RetryLimitReached,
        EventReason::SkippedNoController,
    ],
    metrics: |metrics| drop(metrics.of::<HealthCheckMetrics>()),
    ..Declaration::new("healthcheck")
};

const WRITES: &[Write] = &[
    Write::status(
        MACHINE_HEALTH_CHECKS,
        &["status.expectedMachines", "status.currentHealthy", "status.remediationsAllowed"],
        "Replaced.",
    ),
    Write::status(
        MACHINE_HEALTH_CHECKS,
        &[
            "status.conditions[RemediationAllowed]",
            "status.conditions[MachinesHealthy]",
            "status.conditions[ExternalRemediationTemplateAvailable]",
            "status.conditions[ExternalRemediationRequestAvailable]",
            "status.conditions[Frozen]",
        ],
        "Conditions of other types stay.",
    ),
    Write::patch(
        MACHINE_HEALTH_CHECKS,
        &["metadata.annotations[machinist.dev/remediations]"],
        "With `machinist.dev/max-retries`, before each deletion: the Machines that were deleted. Read after a restart.",
    ),
    Write::patch(
        MACHINES,
        &["metadata.annotations[host.metal3.io/external-remediation]"],
        "Set on unhealthy ones, with the strategy external-baremetal; Metal3 removes it.",
    ),
    Write::new(
        "delete",
        MACHINES,
        &["*"],
        "Unhealthy ones, after a live read of their Node. Precondition: resourceVersion.",
    ),
];
