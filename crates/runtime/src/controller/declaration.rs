//! What a controller declares about itself. The ClusterRole, the Role for the Lease, the FlowSchemas and tables in
//! `docs/reference` are generated from it, and tests compare [`Write`]s with the API server's audit log.

use machinist_api::names::FREEZE_CONFIG_MAP;
use machinist_api::resource::{
    CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, EVENTS, LEASES, NAMESPACES, Resource,
};
use machinist_domain::report::EventReason;

use crate::lease::LeaseCustom;
use crate::metrics::Metrics;

#[derive(Debug, Clone, Copy)]
pub struct Declaration {
    /// The name in flags, metrics, leases and logs.
    pub name: &'static str,
    /// One sentence for the reference.
    pub summary: &'static str,
    /// Kinds that must be served before the controller starts.
    pub requires: &'static [Resource],
    /// Whether it cannot work without the cluster that has the Nodes.
    pub needs_nodes: bool,
    /// Whether it has nothing to do in a binary without a provider.
    pub needs_provider: bool,
    pub lease: Lease,
    /// How many objects are reconciled at once, unless `--workers` is set.
    pub workers: usize,
    /// The most workers with which its limits hold.
    pub max_workers: Option<usize>,
    /// Requests that write nothing.
    pub reads: &'static [Read],
    /// Reads of single objects, which Roles in their namespaces grant and not the ClusterRole.
    pub role_reads: &'static [Read],
    /// Every field that the controller writes, except its Lease and Events.
    pub writes: &'static [Write],
    /// Condition types that it maintains, and what they mean.
    pub conditions: &'static [(Resource, &'static str, &'static str)],
    pub events: &'static [EventReason],
    pub metrics: fn(&Metrics),
}

#[derive(Debug, Clone, Copy)]
pub struct Lease {
    /// Whether a lease is needed unless `--leader-elect` is set.
    pub required: bool,
    /// The name of the Lease; `None` means `machinist-<controller>`.
    pub name: Option<&'static str>,
    /// Namespace and duration, where they differ from the defaults.
    pub custom: LeaseCustom,
}

/// Access that writes nothing.
#[derive(Debug, Clone, Copy)]
pub struct Read {
    pub resource: Resource,
    /// A subresource, or "".
    pub subresource: &'static str,
    /// Verbs as RBAC names them.
    pub verbs: Names,
    /// The only objects that are read; empty for all of them.
    pub names: Names,
    /// Why, where it is not obvious. Becomes a comment in the ClusterRole.
    pub why: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub struct Write {
    pub resource: Resource,
    pub subresource: &'static str,
    /// `create`, `patch`, `delete` or `update`.
    pub verb: &'static str,
    /// Paths. Each stands for everything below it, `*` for the whole object.
    pub fields: Names,
    /// Who reads them, what happens to values of others, when they are removed.
    pub note: &'static str,
}

pub type Names = &'static [&'static str];

/// Informer access.
pub const WATCH: Names = &["get", "list", "watch"];

impl Lease {
    /// `machinist-<controller>`.
    pub const fn own(required: bool) -> Self {
        let custom = LeaseCustom { namespace: None, duration: None };
        Self { required, name: None, custom }
    }

    /// The Lease of another system's controller with the same purpose, so that the two never run at once.
    pub const fn shared(name: &'static str) -> Self {
        Self { name: Some(name), ..Self::own(true) }
    }
}

impl Read {
    pub const fn new(resource: Resource, verbs: Names) -> Self {
        Self { resource, subresource: "", verbs, names: &[], why: "" }
    }

    #[must_use]
    pub const fn named(self, names: Names) -> Self {
        Self { names, ..self }
    }

    #[must_use]
    pub const fn because(self, why: &'static str) -> Self {
        Self { why, ..self }
    }
}

impl Write {
    pub const fn new(
        verb: &'static str,
        resource: Resource,
        fields: Names,
        note: &'static str,
    ) -> Self {
        Self { resource, subresource: "", verb, fields, note }
    }

    pub const fn patch(resource: Resource, fields: Names, note: &'static str) -> Self {
        Self::new("patch", resource, fields, note)
    }

    pub const fn status(resource: Resource, fields: Names, note: &'static str) -> Self {
        Self::patch(resource, fields, note).below("status")
    }

    #[must_use]
    pub const fn below(self, subresource: &'static str) -> Self {
        Self { subresource, ..self }
    }
}

/// What the runtime writes for every controller: Events and the Lease.
pub const RUNTIME_WRITES: [Write; 3] = [
    Write::new(
        "create",
        EVENTS,
        &["*"],
        "In the namespace of the object, `default` for Nodes; one per distinct text.",
    ),
    Write::new("create", LEASES, LEASE_FIELDS, "Only with leader election."),
    Write::new(
        "update",
        LEASES,
        LEASE_FIELDS,
        "A holder is waited for until its lease expires, except with `--take-over`.",
    ),
];

const LEASE_FIELDS: Names = &["spec", "metadata.annotations[machinist.dev/holder]"];

/// What the runtime reads for every controller.
pub const RUNTIME_READS: [Read; 1] = [Read::new(CUSTOM_RESOURCE_DEFINITIONS, &["list", "watch"])
    .because("Metadata only: whether the required kinds are served.")];

/// As `role_reads`, for every controller.
pub const RUNTIME_ROLE_READS: [Read; 1] = [Read::new(LEASES, &["get", "watch"])
    .because("With leader election; by name, except for `create`. Granted by a Role.")];

const LIST_WATCH: Names = &["list", "watch"];

/// What the runtime reads for controllers that obey freezes.
pub const FREEZE_READS: [Read; 1] = [Read::new(NAMESPACES, LIST_WATCH)
    .because("Metadata only: the annotation machinist.dev/freeze.")];

/// As `role_reads`, for the same controllers.
pub const FREEZE_ROLE_READS: [Read; 1] =
    [Read::new(CONFIG_MAPS, LIST_WATCH).named(&[FREEZE_CONFIG_MAP]).because(
        "The switch that stops all changes, in the namespace of the Leases. Granted by their Role.",
    )];

impl Declaration {
    /// A controller that reads and writes nothing yet, with one worker and without leader election.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            summary: "",
            requires: &[],
            needs_nodes: false,
            needs_provider: false,
            lease: Lease::own(false),
            workers: 1,
            max_workers: None,
            reads: &[],
            role_reads: &[],
            writes: &[],
            conditions: &[],
            events: &[],
            metrics: |_| {},
        }
    }

    /// Whether freezes stop what it writes: it needs a Lease, as all do that create or delete anything.
    pub const fn obeys_freezes(&self) -> bool {
        self.lease.required
    }

    pub fn lease_name(&self) -> String {
        self.lease.name.map_or_else(|| format!("machinist-{}", self.name), ToOwned::to_owned)
    }
}
