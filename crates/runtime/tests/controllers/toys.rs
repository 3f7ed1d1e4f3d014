//! Minimal controllers: each marks every object of its kind with an annotation.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::Timestamp;
use machinist_api::resource::{MACHINE_SETS, Resource};
use machinist_api::wire::MetadataOnly;
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::report::{ReconcileResult, Report};
use machinist_domain::retry::{Classified, Retry};
use machinist_runtime::cache::kind::{Kind, Stored};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{AnyCache, Cache};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::Controller;
use machinist_runtime::controller::declaration::{Declaration, Lease};
use machinist_runtime::controller::start::{Registration, Shared};
use machinist_runtime::events::Regarding;
use machinist_runtime::queue::Queue;
use machinist_runtime::writer::Writer;

/// The annotation of the toys.
pub(crate) const MARK: &str = "machinist.dev/toy";
const CONFIG_MAPS: Resource =
    Resource { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap" };

/// An object and whether it is marked.
pub(crate) struct Marked {
    meta: Meta,
    marked: bool,
}

impl Stored for Marked {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

fn project(wire: &MetadataOnly) -> Marked {
    Marked { meta: Meta::of(&wire.metadata), marked: wire.metadata.annotations.contains_key(MARK) }
}

pub(crate) struct ConfigMaps;

impl Kind for ConfigMaps {
    type Wire = MetadataOnly;
    type Stored = Marked;
    const RESOURCE: Resource = CONFIG_MAPS;

    fn project(&self, wire: MetadataOnly) -> Marked {
        project(&wire)
    }
}

pub(crate) struct MachineSets;

impl Kind for MachineSets {
    type Wire = MetadataOnly;
    type Stored = Marked;
    const RESOURCE: Resource = MACHINE_SETS;

    fn project(&self, wire: MetadataOnly) -> Marked {
        project(&wire)
    }
}

const fn toy_declaration(name: &'static str) -> Declaration {
    Declaration { workers: 2, ..Declaration::new(name) }
}

/// The name of a toy and the kinds that it requires.
pub(crate) trait Role: Send + Sync + 'static {
    type Kind: Kind<Wire = MetadataOnly, Stored = Marked>;
    const DECLARATION: Declaration;
    fn kind() -> Self::Kind;
}

pub(crate) struct MarkConfigMaps;

impl Role for MarkConfigMaps {
    type Kind = ConfigMaps;
    const DECLARATION: Declaration = toy_declaration("config-maps");
    fn kind() -> ConfigMaps {
        ConfigMaps
    }
}

/// The same kind under another name: the two share one watch.
pub(crate) struct WatchConfigMaps;

impl Role for WatchConfigMaps {
    type Kind = ConfigMaps;
    const DECLARATION: Declaration = toy_declaration("config-maps-too");
    fn kind() -> ConfigMaps {
        ConfigMaps
    }
}

/// The lease of [`ShareLease`].
pub(crate) const SHARED_LEASE: &str = "other-leader";

/// A controller whose Lease another system holds, too.
pub(crate) struct ShareLease;

impl Role for ShareLease {
    type Kind = ConfigMaps;
    const DECLARATION: Declaration = Declaration {
        lease: Lease { required: false, ..Lease::shared(SHARED_LEASE) },
        ..toy_declaration("share-lease")
    };
    fn kind() -> ConfigMaps {
        ConfigMaps
    }
}

pub(crate) struct MarkMachineSets;

impl Role for MarkMachineSets {
    type Kind = MachineSets;
    const DECLARATION: Declaration =
        Declaration { requires: &[MACHINE_SETS], ..toy_declaration("machine-sets") };
    fn kind() -> MachineSets {
        MachineSets
    }
}

/// Concurrent reconciles, now and at most.
#[derive(Debug, Default)]
pub(crate) struct Acting {
    now: AtomicUsize,
    pub(crate) most: AtomicUsize,
    panics: AtomicUsize,
}

/// How often a toy panics on objects named `boom…`: more often than it has workers.
const PANICS: usize = 3;

pub(crate) struct Toy<R: Role> {
    cache: Arc<Cache<R::Kind>>,
    acting: Arc<Acting>,
}

/// A toy, ready to be run.
pub(crate) fn toy<R: Role>(acting: &Arc<Acting>) -> Registration {
    let acting = acting.clone();
    Registration::new(move |shared: &Arc<Shared>| Toy::<R> {
        cache: shared.caches.open(&shared.control, shared.scope.clone(), R::kind()),
        acting,
    })
}

pub(crate) struct Plan(AnnotationChange);

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mark it")
    }
}

impl<R: Role> Controller for Toy<R> {
    type Snapshot = Arc<Marked>;
    type Plan = Plan;
    type Outcome = Option<Retry>;

    const DECLARATION: Declaration = R::DECLARATION;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.cache.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        let queue = queue.clone();
        self.cache.subscribe(move |change| {
            assert!(&*change.key.name != "bang", "a bug in a subscriber");
            queue.add_changed(change.key, change);
        });
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Arc<Marked>>, ApiError> {
        Ok(match self.cache.get_certain(key).await? {
            Some(Entry::Known(object)) => Some(object),
            _ => None,
        })
    }

    fn decide(&self, snapshot: &Arc<Marked>, _now: Timestamp) -> Plan {
        if snapshot.meta.key.name.starts_with("boom") {
            let panics = self.acting.panics.fetch_add(1, Ordering::SeqCst);
            assert!(panics >= PANICS, "a bug that the object brings out");
        }
        let mut change = AnnotationChange::default();
        change.want(MARK, snapshot.marked.then_some("seen"), "seen");
        Plan(change)
    }

    async fn act(&self, snapshot: &Arc<Marked>, plan: &Plan, writer: &Writer) -> Option<Retry> {
        let now = self.acting.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.acting.most.fetch_max(now, Ordering::SeqCst);
        let result = writer.annotate(&self.cache, &snapshot.meta, &plan.0, plan).await;
        self.acting.now.fetch_sub(1, Ordering::SeqCst);
        result.err().map(|error| error.retry())
    }

    fn report(
        &self,
        _: &Arc<Marked>,
        _: &Plan,
        outcome: &Option<Retry>,
        _now: Timestamp,
    ) -> Report {
        Report { retry: *outcome, ..Report::quiet(ReconcileResult::Settled) }
    }

    fn regarding<'a>(&self, snapshot: &'a Arc<Marked>) -> Regarding<'a> {
        Regarding { resource: R::Kind::RESOURCE, meta: &snapshot.meta }
    }
}
