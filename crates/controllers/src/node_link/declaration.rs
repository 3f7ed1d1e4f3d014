use machinist_api::names::LEASE_NODE_LINK;
use machinist_api::resource::{MACHINES, NODES};
use machinist_domain::report::EventReason;
use machinist_runtime::controller::declaration::{Declaration, Lease, Read, WATCH, Write};

pub const DECLARATION: Declaration = Declaration {
    name: "nodelink",
    summary: "Links Machines and Nodes, and syncs labels, annotations and taints from the Machine to its Node.",
    requires: &[MACHINES],
    needs_nodes: true,
    needs_provider: false,
    lease: Lease::shared(LEASE_NODE_LINK),
    workers: 16,
    max_workers: None,
    reads: &[Read::new(MACHINES, WATCH), Read::new(NODES, WATCH)],
    role_reads: &[],
    writes: WRITES,
    conditions: &[],
    events: &[EventReason::NodeNotLinked, EventReason::ReconcileError],
    metrics: |_| {},
};

const WRITES: &[Write] = &[
    Write::status(
        MACHINES,
        &["status.nodeRef"],
        "Read by MachineHealthCheck and the machine controller. Replaced; follows the uid of the Node.",
    ),
    Write::status(
        MACHINES,
        &["status.lastUpdated"],
        "Replaced. The machine controller writes it too.",
    ),
    Write::patch(NODES, &["metadata.annotations[machine.openshift.io/machine]"], "Replaced."),
    Write::patch(
        NODES,
        &["metadata.annotations[machinist.dev/node-metadata]"],
        "What machinist put on the Node. A value that cannot be parsed stays. \
         Removed when nothing of machinist's is left on the Node.",
    ),
    Write::patch(
        NODES,
        &["metadata.labels", "metadata.annotations"],
        "Only those of the Machine's spec.metadata. Replaced; one that already has the value stays its \
         writer's. Removed with the Machine's, if machinist set it.",
    ),
    Write::patch(
        NODES,
        &["spec.taints"],
        "Only those of the Machine's spec; other taints stay. Removed with the Machine's, if machinist set it.",
    ),
];
