use machinist_api::names::{
    CONDITION_FROZEN, CONDITION_MACHINES_PRESERVED, CONDITION_MACHINES_READY, CONDITION_PAUSED,
    CONDITION_REPLICA_FAILURE, LEASE_MACHINE_SET,
};
use machinist_api::resource::{FEATURE_GATES, MACHINE_SETS, MACHINES, NODES};
use machinist_domain::report::EventReason;
use machinist_runtime::controller::declaration::{Declaration, Lease, Read, WATCH, Write};

use super::metrics::MachineSetMetrics;
use crate::inventory::Inventory;

pub const DECLARATION: Declaration = Declaration {
    name: "machineset",
    summary: "Creates and deletes Machines until a MachineSet has spec.replicas of them.",
    requires: &[MACHINE_SETS, MACHINES],
    needs_nodes: true,
    needs_provider: false,
    lease: Lease::shared(LEASE_MACHINE_SET),
    workers: 8,
    max_workers: None,
    reads: &[
        Read::new(MACHINE_SETS, WATCH),
        Read::new(MACHINES, WATCH),
        Read::new(NODES, WATCH),
        Read::new(FEATURE_GATES, WATCH)
            .named(&["cluster"])
            .because("OpenShift: whether Cluster API may manage machines, too."),
        Read { subresource: "finalizers", ..Read::new(MACHINE_SETS, &["update"]) }.because(
            "Never written. OpenShift's API server (OwnerReferencesPermissionEnforcement) requires it \
             for owner references with blockOwnerDeletion.",
        ),
    ],
    role_reads: &[],
    writes: WRITES,
    conditions: &[
        (
            MACHINE_SETS,
            CONDITION_REPLICA_FAILURE,
            "Machines cannot be created, deleted or counted, and why. Absent otherwise.",
        ),
        (
            MACHINE_SETS,
            CONDITION_MACHINES_READY,
            "Whether all Machines are ready, and if not, how many, and the most frequent reason.",
        ),
        (
            MACHINE_SETS,
            CONDITION_MACHINES_PRESERVED,
            "Which Machines are kept for debugging, and until when. Absent otherwise.",
        ),
        (MACHINE_SETS, CONDITION_FROZEN, "Which freeze stops changes, and why. Absent otherwise."),
        (MACHINE_SETS, CONDITION_PAUSED, "Whether another machine API manages the object."),
    ],
    events: &[
        EventReason::Adopted,
        EventReason::FailedCreate,
        EventReason::FailedDelete,
        EventReason::FreezeEnded,
        EventReason::Frozen,
        EventReason::MachinesNotReady,
        EventReason::ReconcileError,
        EventReason::Released,
        EventReason::Scaled,
    ],
    metrics: |metrics| drop((metrics.of::<MachineSetMetrics>(), metrics.of::<Inventory>())),
};

const WRITES: &[Write] = &[
    Write::patch(
        MACHINE_SETS,
        &["metadata.annotations[machinist.dev/ordinals]"],
        "The ordinals whose Machines may be in creation. A value that cannot be parsed stops scaling, \
         with an Event. Without it, ordinals start above those of the existing Machines.",
    ),
    Write::status(
        MACHINE_SETS,
        &[
            "status.replicas",
            "status.fullyLabeledReplicas",
            "status.readyReplicas",
            "status.availableReplicas",
            "status.observedGeneration",
            "status.labelSelector",
        ],
        "Read by the scale subresource and cluster-autoscaler. Replaced.",
    ),
    Write::status(
        MACHINE_SETS,
        &["status.errorReason", "status.errorMessage"],
        "Removed when the set is valid.",
    ),
    Write::status(
        MACHINE_SETS,
        &["status.conditions[ReplicaFailure]"],
        "Conditions of other types stay. Removed when Machines can be created again.",
    ),
    Write::status(
        MACHINE_SETS,
        &["status.conditions[MachinesReady]"],
        "Replaced, together with the counts. Where the served CRD has no conditions, an Event instead.",
    ),
    Write::status(
        MACHINE_SETS,
        &["status.conditions[MachinesPreserved]"],
        "Removed when no Machine is preserved.",
    ),
    Write::status(MACHINE_SETS, &["status.conditions[Frozen]"], "Removed when the freeze ends."),
    Write::status(
        MACHINE_SETS,
        &["status.conditions[Paused]", "status.authoritativeAPI"],
        "Read by OpenShift's migration to Cluster API. authoritativeAPI is set only if it is empty. \
         Only with the feature gate MachineAPIMigration.",
    ),
    Write::new("create", MACHINES, &["*"], "From the template; a name that exists is skipped."),
    Write::patch(
        MACHINES,
        &["metadata.ownerReferences"],
        "A Machine with a controller owner is not touched; other owners stay. \
         Removed when the selector no longer matches.",
    ),
    Write::new("delete", MACHINES, &["*"], "Preconditions: uid, resourceVersion."),
];
