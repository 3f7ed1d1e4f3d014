use machinist_api::names::{
    CONDITION_AVAILABLE, CONDITION_FROZEN, CONDITION_PROGRESSING, CONDITION_REPLICA_FAILURE,
};
use machinist_api::resource::{MACHINE_DEPLOYMENTS, MACHINE_SETS, MACHINES, NODES};
use machinist_domain::report::EventReason;
use machinist_runtime::controller::declaration::{Declaration, Lease, Read, WATCH, Write};

pub const DECLARATION: Declaration = Declaration {
    summary: "Replaces the Machines of a MachineDeployment step by step when its template changes.",
    requires: &[MACHINE_DEPLOYMENTS, MACHINE_SETS, MACHINES],
    needs_nodes: true,
    lease: Lease::own(true),
    workers: 4,
    reads: &[
        Read::new(MACHINE_DEPLOYMENTS, WATCH),
        Read::new(MACHINE_SETS, WATCH),
        Read::new(MACHINES, WATCH),
        Read::new(NODES, WATCH),
        Read { subresource: "finalizers", ..Read::new(MACHINE_DEPLOYMENTS, &["update"]) }.because(
            "Never written. OpenShift's API server (OwnerReferencesPermissionEnforcement) requires it \
             for owner references with blockOwnerDeletion.",
        ),
    ],
    writes: WRITES,
    conditions: &[
        (
            MACHINE_DEPLOYMENTS,
            CONDITION_AVAILABLE,
            "Whether at least replicas − maxUnavailable Machines are available.",
        ),
        (
            MACHINE_DEPLOYMENTS,
            CONDITION_PROGRESSING,
            "The state of the rollout, what it changes, and what it waits for.",
        ),
        (
            MACHINE_DEPLOYMENTS,
            CONDITION_REPLICA_FAILURE,
            "MachineSets cannot be created, scaled or deleted, or one cannot create or delete \
             Machines, and why. Absent otherwise.",
        ),
        (
            MACHINE_DEPLOYMENTS,
            CONDITION_FROZEN,
            "Which freeze stops changes, and why. Absent otherwise.",
        ),
    ],
    events: &[
        EventReason::Adopted,
        EventReason::CanaryPassed,
        EventReason::Create,
        EventReason::Delete,
        EventReason::FailedCreate,
        EventReason::FailedDelete,
        EventReason::FailedUpdate,
        EventReason::FreezeEnded,
        EventReason::Frozen,
        EventReason::InvalidConfiguration,
        EventReason::ReconcileError,
        EventReason::Released,
        EventReason::RolloutAborted,
        EventReason::Scaled,
        EventReason::Update,
    ],
    ..Declaration::new("machinedeployment")
};

const WRITES: &[Write] = &[
    Write::patch(
        MACHINE_DEPLOYMENTS,
        &["metadata.annotations[machinedeployment.clusters.x-k8s.io/revision]"],
        "The revision of the template. Read by cluster-autoscaler. Replaced.",
    ),
    Write::status(
        MACHINE_DEPLOYMENTS,
        &[
            "status.replicas",
            "status.updatedReplicas",
            "status.readyReplicas",
            "status.availableReplicas",
            "status.unavailableReplicas",
            "status.preservedReplicas",
            "status.collisionCount",
            "status.observedGeneration",
            "status.labelSelector",
        ],
        "Read by the scale subresource and cluster-autoscaler. Replaced.",
    ),
    Write::status(
        MACHINE_DEPLOYMENTS,
        &[
            "status.conditions[Available]",
            "status.conditions[Progressing]",
            "status.conditions[ReplicaFailure]",
            "status.conditions[Frozen]",
        ],
        "Conditions of other types stay.",
    ),
    Write::new(
        "create",
        MACHINE_SETS,
        &["*"],
        "From the template, with 0 replicas. The name follows from the template.",
    ),
    Write::patch(
        MACHINE_SETS,
        &["spec.replicas"],
        "Of its own MachineSets. Precondition: resourceVersion. Values of others are replaced.",
    ),
    Write::patch(
        MACHINE_SETS,
        &[
            "spec.minReadySeconds",
            "spec.template.metadata.annotations",
            "spec.template.spec.metadata",
            "spec.template.spec.taints",
            "spec.template.spec.providerSpec.value",
        ],
        "Of the MachineSet of the current template: what can change without new Machines. Of the provider spec only \
         the fields that its provider declares as hot.",
    ),
    Write::patch(
        MACHINE_SETS,
        &["metadata.annotations[machinist.dev/hot-fields]"],
        "The fields of the provider spec that the hash of the template leaves out. Replaced, with the hash, if a \
         provider declares more.",
    ),
    Write::patch(
        MACHINE_SETS,
        &["metadata.annotations[machinist.dev/pending-changes]"],
        "The fields of the template that changed and that living Machines may not have yet. Replaced, and removed when \
         all Machines have them.",
    ),
    Write::patch(
        MACHINE_SETS,
        &[
            "metadata.annotations[machinedeployment.clusters.x-k8s.io/revision]",
            "metadata.annotations[kubernetes.io/change-cause]",
        ],
        "The revision of the template, and the change cause of the MachineDeployment if it has one. Replaced.",
    ),
    Write::patch(
        MACHINE_SETS,
        &[
            "metadata.annotations[machinist.dev/canary-passed]",
            "metadata.annotations[machinist.dev/failed-machines]",
            "metadata.annotations[machinist.dev/rollout-aborted]",
            "metadata.annotations[machinist.dev/rollout-started]",
        ],
        "Of the MachineSet of the current template: what a guarded rollout found, and when a template was put back. \
         Users remove `rollout-aborted` to resume a rollout.",
    ),
    Write::patch(
        MACHINE_SETS,
        &[
            "metadata.ownerReferences",
            "metadata.labels[machinist.dev/template-hash]",
            "metadata.labels[cluster.x-k8s.io/deployment-name]",
            "metadata.annotations[machinist.dev/hold]",
            "metadata.annotations[machinist.dev/rollout-aborted]",
        ],
        "A MachineSet with a controller owner is not touched; other owners stay. The owner and the deployment's name, \
         which cluster-autoscaler reads, are removed when the selector no longer matches. Both end a hold and an \
         abort.",
    ),
    Write::patch(
        MACHINE_SETS,
        &["metadata.annotations[machinist.dev/hold]"],
        "While a Machine that was updated in place is moved from one MachineSet to another. Replaced.",
    ),
    Write::new(
        "delete",
        MACHINE_SETS,
        &["*"],
        "Empty ones beyond revisionHistoryLimit. Precondition: resourceVersion.",
    ),
    Write::patch(
        MACHINES,
        &["metadata.annotations[machinist.dev/preserve]"],
        "`auto`, on failed Machines without it, up to spec.autoPreserveFailedMachineMax.",
    ),
    Write::patch(
        MACHINES,
        &["metadata.annotations[machine.openshift.io/delete-machine]"],
        "On unavailable Machines, directly before their MachineSet is scaled down, with the value \
         `machinist.dev/machinedeployment`. A mark with that value is removed from a Machine of the \
         current template that is available again and not to be deleted.",
    ),
    Write::patch(
        MACHINES,
        &[
            "metadata.annotations[machinist.dev/creation-timeout]",
            "metadata.annotations[machinist.dev/drain-timeout]",
            "metadata.annotations[machinist.dev/health-timeout]",
            "metadata.annotations[machinist.dev/preserve]",
            "metadata.annotations[machinist.dev/preserve-timeout]",
            "spec.metadata",
            "spec.taints",
            "spec.providerSpec.value",
        ],
        "When these change in the template of a MachineDeployment: the keys that changed. Of the provider spec only \
         the fields that its provider declares as hot.",
    ),
    Write::patch(
        NODES,
        &[
            "metadata.annotations[cluster-autoscaler.kubernetes.io/scale-down-disabled]",
            "metadata.annotations[machinist.dev/scale-down-disabled-by]",
        ],
        "`true` on the Nodes of a MachineDeployment during a rolling update, and that it is machinist's. Values of \
         others stay; what others remove is not set again. Removed when the rollout is complete, if machinist set it.",
    ),
    Write::patch(
        NODES,
        &["spec.taints"],
        "`machinist.dev/prefer-no-schedule:PreferNoSchedule` on the Nodes of old Machines during a rolling update; \
         other taints stay. Removed when the template is the current one again, if machinist set it.",
    ),
    Write::patch(
        NODES,
        &["metadata.annotations[machinist.dev/rollout]"],
        "The MachineDeployment that put the above on the Node, and whether the taint is machinist's. A value that \
         cannot be parsed stays. Removed with them.",
    ),
    Write::patch(
        MACHINES,
        &[
            "metadata.labels[machinist.dev/in-place-update]",
            "metadata.labels[machinist.dev/in-place-update-result]",
            "metadata.annotations[machinist.dev/in-place-update-target]",
        ],
        "With strategy InPlaceUpdate, on Machines of other templates. A user may set the label to `selected`.",
    ),
    Write::patch(
        MACHINES,
        &[
            "metadata.ownerReferences",
            "metadata.labels",
            "metadata.annotations",
            "spec.providerSpec.value",
        ],
        "When a Machine was updated in place: its MachineSet as owner, and what differs between the two templates. \
         Other owners stay.",
    ),
];
