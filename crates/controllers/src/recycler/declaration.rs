use std::time::Duration;

use machinist_api::names::{
    CONDITION_FROZEN, CONDITION_READY, CONDITION_RECYCLING, LEASE_RECYCLER,
};
use machinist_api::resource::{
    CONFIG_MAPS, CORE_EVENTS, DAEMON_SETS, EVENT_RECYCLERS, INFRASTRUCTURES, NODES,
    PERSISTENT_VOLUME_CLAIMS, PODS, VOLUME_ATTACHMENTS,
};
use machinist_domain::report::EventReason;
use machinist_runtime::controller::declaration::{Declaration, Lease, Read, WATCH, Write};
use machinist_runtime::lease::LeaseCustom;

use super::metrics::RecyclerMetrics;

pub const DECLARATION: Declaration = Declaration {
    name: "recycler",
    summary: "Counts Events per node group and recycles a group that reaches its threshold.",
    requires: &[EVENT_RECYCLERS],
    needs_nodes: true,
    needs_provider: true,
    // As kaws-operator has it.
    lease: Lease {
        custom: LeaseCustom {
            namespace: Some("kube-system"),
            duration: Some(Duration::from_secs(15)),
        },
        ..Lease::shared(LEASE_RECYCLER)
    },
    workers: 4,
    max_workers: None,
    reads: &[
        Read::new(EVENT_RECYCLERS, WATCH),
        Read::new(CORE_EVENTS, WATCH),
        Read::new(PODS, WATCH).because("The Node that an Event about a Pod leads to."),
        Read::new(NODES, WATCH),
        Read::new(DAEMON_SETS, &["list"]).because("Pods of DaemonSets are not evicted."),
        Read::new(PERSISTENT_VOLUME_CLAIMS, &["list"])
            .because("Volumes of pods that stay are not waited for."),
        Read::new(VOLUME_ATTACHMENTS, &["list"]),
        Read::new(INFRASTRUCTURES, WATCH).named(&["cluster"]).because(
            "OpenShift: custom endpoints of AWS. Not requested where the kind is not served.",
        ),
    ],
    role_reads: &[Read::new(CONFIG_MAPS, WATCH)
        .named(&["kube-cloud-config"])
        .because("OpenShift: CA certificates, in `openshift-config-managed`. Granted by a Role.")],
    writes: &[
        Write::patch(
            EVENT_RECYCLERS,
            &["metadata.finalizers"],
            "`machinist.dev/recycler` while a recycle is in progress; other finalizers stay.",
        ),
        Write::status(
            EVENT_RECYCLERS,
            &["status"],
            "Read by the next leader. Replaced; conditions of other types stay. History is kept for 20 \
             entries (up to 100 during a cool-down), counts for the window.",
        ),
        Write::patch(
            NODES,
            &["spec.unschedulable", "metadata.annotations[machinist.dev/drain]"],
            "Set by a drain and removed if the recycle is cancelled; a cordon of others stays.",
        ),
        Write::new(
            "create",
            PODS,
            &["*"],
            "Evictions; precondition: uid. PodDisruptionBudgets apply; pods are never deleted.",
        )
        .below("eviction"),
    ],
    conditions: &[
        (EVENT_RECYCLERS, CONDITION_READY, "Whether the spec is valid."),
        (
            EVENT_RECYCLERS,
            CONDITION_FROZEN,
            "Which freeze stops changes, and why. Absent otherwise.",
        ),
        (
            EVENT_RECYCLERS,
            CONDITION_RECYCLING,
            "Whether a recycle is in progress, and if not, what prevents one.",
        ),
    ],
    events: &[
        EventReason::FailedValidate,
        EventReason::FreezeEnded,
        EventReason::Frozen,
        EventReason::ReconcileError,
        EventReason::RecycleBegins,
        EventReason::RecycleFailed,
        EventReason::RecycleProceeds,
        EventReason::RecycleRefused,
        EventReason::Recycled,
        EventReason::WouldRecycle,
    ],
    metrics: |metrics| drop(metrics.of::<RecyclerMetrics>()),
};
