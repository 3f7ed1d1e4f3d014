use machinist_api::names::{
    CONDITION_DRAINABLE, CONDITION_DRAINED, CONDITION_IN_PLACE_UPDATE, CONDITION_INSTANCE_EXISTS,
    CONDITION_PAUSED, CONDITION_PRESERVED, CONDITION_READY, CONDITION_TERMINABLE, LEASE_MACHINE,
};
use machinist_api::resource::{
    CONFIG_MAPS, DAEMON_SETS, FEATURE_GATES, INFRASTRUCTURES, MACHINES, NAMESPACES, NODES,
    PERSISTENT_VOLUME_CLAIMS, PODS, SECRETS, VOLUME_ATTACHMENTS,
};
use machinist_domain::report::EventReason;
use machinist_runtime::controller::declaration::{Declaration, Lease, Read, WATCH, Write};

use super::metrics::MachineMetrics;
use crate::inventory::Inventory;
use crate::platform::metrics::PlatformMetrics;

pub const DECLARATION: Declaration = Declaration {
    name: "machine",
    summary: "Creates, updates and deletes the instance of every Machine; drains and deletes its Node.",
    requires: &[MACHINES],
    needs_nodes: true,
    needs_provider: true,
    lease: Lease::shared(LEASE_MACHINE),
    workers: 32,
    max_workers: None,
    reads: &[
        Read::new(MACHINES, WATCH),
        Read::new(NODES, WATCH),
        Read::new(PODS, &["list"])
            .because("The pods of a Node that is drained. Pods are not watched."),
        Read::new(DAEMON_SETS, &["list"]).because("Pods of DaemonSets are not evicted."),
        Read::new(PERSISTENT_VOLUME_CLAIMS, &["list"])
            .because("Volumes of pods that stay are not waited for."),
        Read::new(VOLUME_ATTACHMENTS, &["list"]),
        Read::new(INFRASTRUCTURES, WATCH)
            .named(&["cluster"])
            .because("OpenShift: platform, tags, endpoints and the infrastructure name."),
        Read::new(FEATURE_GATES, WATCH)
            .named(&["cluster"])
            .because("OpenShift: whether Cluster API may manage machines, too."),
        Read::new(NAMESPACES, &["get"])
            .named(&["kube-system"])
            .because("Its uid identifies the cluster where there is no infrastructure name."),
    ],
    role_reads: &[
        Read::new(SECRETS, WATCH).because(
            "Credentials and user data (only get) that Machines name. One Role per Secret, by name.",
        ),
        Read::new(CONFIG_MAPS, WATCH).named(&["kube-cloud-config"]).because(
            "OpenShift: CA certificates, in `openshift-config-managed`. Granted by a Role.",
        ),
    ],
    writes: WRITES,
    conditions: &[
        (MACHINES, CONDITION_READY, "Whether instance and Node are up, and if not, why."),
        (MACHINES, CONDITION_INSTANCE_EXISTS, "Whether the instance exists."),
        (MACHINES, CONDITION_DRAINABLE, "Whether no preDrain hook blocks the drain."),
        (MACHINES, CONDITION_DRAINED, "Whether the Node is drained, or needs no drain."),
        (MACHINES, CONDITION_TERMINABLE, "Whether no preTerminate hook blocks the termination."),
        (
            MACHINES,
            CONDITION_IN_PLACE_UPDATE,
            "The state of an update in place: Candidate, Selected, the steps of the drain, ReadyForUpdate, TimedOut, \
             Failed, Successful. Absent without one.",
        ),
        (MACHINES, CONDITION_PAUSED, "Whether another machine API manages the object."),
        (
            MACHINES,
            CONDITION_PRESERVED,
            "Whether the Machine is kept for debugging, and until when. Absent if that is not requested.",
        ),
    ],
    events: &[
        EventReason::Create,
        EventReason::CreationTimedOut,
        EventReason::Delete,
        EventReason::DrainBlocked,
        EventReason::DrainForced,
        EventReason::DrainProceeds,
        EventReason::DrainRequeued,
        EventReason::DrainSkipped,
        EventReason::DrainSucceeded,
        EventReason::FailedCreate,
        EventReason::FailedDelete,
        EventReason::FailedUpdate,
        EventReason::FailedValidate,
        EventReason::MachineFailed,
        EventReason::NodeMissing,
        EventReason::PreservationEnded,
        EventReason::Preserved,
        EventReason::ReconcileError,
        EventReason::Update,
    ],
    metrics: |metrics| {
        drop((metrics.of::<MachineMetrics>(), metrics.of::<PlatformMetrics>()));
        drop(metrics.of::<Inventory>());
    },
};

const WRITES: &[Write] = &[
    Write::patch(
        MACHINES,
        &["metadata.finalizers"],
        "Adds and removes `machine.machine.openshift.io`; other finalizers stay. \
         Removed when the instance and its Node are gone.",
    ),
    Write::patch(
        MACHINES,
        &["spec.providerID"],
        "Read by nodelink and cluster-autoscaler. Replaced by the id that the cloud returns.",
    ),
    Write::patch(
        MACHINES,
        &[
            "metadata.labels[machine.openshift.io/region]",
            "metadata.labels[machine.openshift.io/zone]",
            "metadata.labels[machine.openshift.io/instance-type]",
            "metadata.annotations[machine.openshift.io/instance-state]",
        ],
        "For `kubectl get`. Replaced. Spot instances also get the label \
         machine.openshift.io/interruptible-instance, in spec.metadata.labels too.",
    ),
    Write::patch(
        MACHINES,
        &["metadata.annotations[machinist.dev/preserved-until]"],
        "Set once when a preservation begins; users may change it. Removed when the request ends.",
    ),
    Write::status(
        MACHINES,
        &["status.phase", "status.lastUpdated"],
        "Read by MachineHealthCheck. Replaced.",
    ),
    Write::status(
        MACHINES,
        &[
            "status.conditions[InstanceExists]",
            "status.conditions[Ready]",
            "status.conditions[Drainable]",
            "status.conditions[Terminable]",
        ],
        "Replaced; conditions of other types stay.",
    ),
    Write::status(
        MACHINES,
        &["status.conditions[Drained]"],
        "Set during deletion. Read by machinist after a restart.",
    ),
    Write::status(
        MACHINES,
        &["status.conditions[Preserved]"],
        "Read by machinist after a restart. Removed when no preservation is requested.",
    ),
    Write::status(
        MACHINES,
        &["status.conditions[InPlaceUpdate]"],
        "Set during an update in place, and removed after it. Read by machinist after a restart.",
    ),
    Write::patch(
        MACHINES,
        &["metadata.labels[machinist.dev/in-place-update-result]"],
        "What the agent has reported on the Node.",
    ),
    Write::status(
        MACHINES,
        &["status.conditions[Paused]", "status.authoritativeAPI"],
        "Read by OpenShift's migration to Cluster API. authoritativeAPI is set only if it is empty. \
         Only with the feature gate MachineAPIMigration.",
    ),
    Write::status(
        MACHINES,
        &["status.providerStatus"],
        "Read by machinist after a restart. Fields that the provider knows are replaced.",
    ),
    Write::status(
        MACHINES,
        &["status.addresses"],
        "Read by nodelink and OpenShift's machine-approver. Replaced.",
    ),
    Write::status(
        MACHINES,
        &[
            "status.errorReason",
            "status.errorMessage",
            "status.failureReason",
            "status.failureMessage",
        ],
        "Read by MachineHealthCheck, the last two by cluster-autoscaler. \
         Removed unless the Machine failed permanently.",
    ),
    Write::patch(
        NODES,
        &["spec.unschedulable"],
        "Set by a drain. An existing cordon stays, and is recorded as not machinist's. Removed after an update in \
         place, only if that drain has set it.",
    ),
    Write::patch(
        NODES,
        &[
            "metadata.labels[machinist.dev/in-place-update]",
            "metadata.labels[machinist.dev/in-place-update-result]",
            "metadata.annotations[machinist.dev/in-place-update-target]",
        ],
        "During an update in place, for the agent on the Node, which sets the result. Removed after it.",
    ),
    Write::patch(
        NODES,
        &["metadata.annotations[machinist.dev/drain]"],
        "Read by machinist after a restart. Replaced.",
    ),
    Write::patch(
        NODES,
        &[
            "metadata.annotations[cluster-autoscaler.kubernetes.io/scale-down-disabled]",
            "metadata.annotations[machinist.dev/scale-down-disabled-by]",
        ],
        "While a Machine is preserved. A value of others stays, and is not recorded as machinist's.",
    ),
    Write::patch(
        NODES,
        &["spec.taints"],
        "Only `machinist.dev/preserved:NoSchedule`, while a Machine that has failed is preserved; other taints stay.",
    ),
    Write::new("delete", NODES, &["*"], "After the instance is gone; precondition: uid."),
    Write::new("create", PODS, &["*"], "Evictions; precondition: uid. PodDisruptionBudgets apply.")
        .below("eviction"),
    Write::new(
        "delete",
        PODS,
        &["*"],
        "Only if the drain is forced, by machinist.dev/force-deletion or by its timeout; precondition: uid.",
    ),
];
