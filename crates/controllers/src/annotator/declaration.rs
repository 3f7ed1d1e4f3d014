use machinist_api::names::LEASE_MACHINE;
use machinist_api::resource::{
    CONFIG_MAPS, FEATURE_GATES, INFRASTRUCTURES, LEASES, MACHINE_DEPLOYMENTS, MACHINE_SETS,
    Resource, SECRETS,
};
use machinist_domain::report::EventReason;
use machinist_runtime::controller::declaration::{Declaration, Lease, Read, WATCH, Write};

use super::metrics::AnnotatorMetrics;

pub const DECLARATION: Declaration = Declaration {
    name: "annotator",
    summary: "Annotates MachineSets and MachineDeployments with the capacity of a machine, for scale from zero.",
    requires: &[MACHINE_SETS],
    needs_nodes: false,
    needs_provider: false,
    lease: Lease::own(false),
    workers: 16,
    max_workers: None,
    reads: &[
        Read::new(MACHINE_SETS, WATCH),
        Read::new(MACHINE_DEPLOYMENTS, WATCH).because("Where the kind is served."),
        Read::new(INFRASTRUCTURES, WATCH).named(&["cluster"]).because(
            "OpenShift: custom endpoints of AWS. Not requested where the kind is not served.",
        ),
        Read::new(FEATURE_GATES, WATCH)
            .named(&["cluster"])
            .because("OpenShift: whether Cluster API may manage machines, too."),
    ],
    role_reads: &[
        Read::new(SECRETS, WATCH)
            .because("Credentials that MachineSets and MachineDeployments name. One Role per Secret, by name."),
        Read::new(CONFIG_MAPS, WATCH).named(&["kube-cloud-config"]).because(
            "OpenShift: CA certificates, in `openshift-config-managed`. Granted by a Role.",
        ),
        Read::new(LEASES, WATCH).named(&[LEASE_MACHINE]).because(
            "OpenShift: whether its own annotator runs, in `openshift-machine-api`. Granted by a Role.",
        ),
    ],
    writes: WRITES,
    conditions: &[],
    events: &[
        EventReason::Annotated,
        EventReason::ArchitectureReplaced,
        EventReason::CatalogueUsed,
        EventReason::FailedUpdate,
        EventReason::ReconcileError,
        EventReason::UserValueKept,
    ],
    metrics: |metrics| drop(metrics.of::<AnnotatorMetrics>()),
};

const WRITES: &[Write] = BOTH.as_flattened();

const BOTH: &[[Write; 8]; 2] = &[writes(MACHINE_SETS), writes(MACHINE_DEPLOYMENTS)];

const LABEL_INSTANCE_TYPE: &str = concat!(
    "metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/labels]",
    "[node.kubernetes.io/instance-type]",
);

const fn writes(resource: Resource) -> [Write; 8] {
    [
        Write::patch(
            resource,
            &[
                "metadata.annotations[machine.openshift.io/vCPU]",
                "metadata.annotations[machine.openshift.io/memoryMb]",
                "metadata.annotations[machine.openshift.io/GPU]",
            ],
            "Read by OpenShift's cluster-autoscaler-operator. Other values are replaced. \
             Removed with `--annotations=upstream` if machinist wrote them.",
        ),
        Write::patch(
            resource,
            &[
                "metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/cpu]",
                "metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/memory]",
            ],
            "Read by upstream's cluster-autoscaler. Values of others stay, Event `UserValueKept`. \
             Removed with `--annotations=openshift` if machinist wrote them; so are the next three.",
        ),
        Write::patch(
            resource,
            &[
                "metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/gpu-count]",
                "metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/gpu-type]",
            ],
            "As above. Removed when the instance type has no GPUs, if machinist wrote them.",
        ),
        Write::patch(
            resource,
            &["metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/ephemeral-disk]"],
            "As above. Removed when the spec has no size of the root volume, if machinist wrote it.",
        ),
        Write::patch(
            resource,
            &["metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/maxPods]"],
            "As above. Removed with `--max-pods=off`, if machinist wrote it.",
        ),
        Write::patch(
            resource,
            &[
                "metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/labels][kubernetes.io/arch]",
            ],
            "Read by both autoscalers. A wrong value is replaced, Event `ArchitectureReplaced`.",
        ),
        Write::patch(
            resource,
            &[
                "metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/labels][topology.kubernetes.io/zone]",
                "metadata.annotations[capacity.cluster-autoscaler.kubernetes.io/labels][topology.kubernetes.io/region]",
                LABEL_INSTANCE_TYPE,
            ],
            "Read by upstream's cluster-autoscaler. Values of others stay. \
             Removed when the spec no longer has them, if machinist wrote them.",
        ),
        Write::patch(
            resource,
            &["metadata.annotations[machinist.dev/annotated]"],
            "Read by machinist: the values that it wrote last. Replaced, unless a newer version wrote it. \
             Removed with `--annotations=openshift`.",
        ),
    ]
}
