//! The controller of `docs/internals/add-a-controller.md`, compiled and run. The page has the code below word for word.

// === begin ===
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::resource::{CONFIG_MAPS, Resource};
use machinist_api::wire::MetadataOnly;
use machinist_domain::annotations::AnnotationChange;
use machinist_domain::key::ObjectKey;
use machinist_domain::meta::Meta;
use machinist_domain::report::{EventNote, EventReason, ReconcileResult, Report};
use machinist_domain::retry::{Classified, Retry};
use machinist_runtime::cache::kind::{Kind, Stored};
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{AnyCache, Cache};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::Controller;
use machinist_runtime::controller::declaration::{Declaration, Lease, Read, WATCH, Write};
use machinist_runtime::controller::start::{Registration, Shared};
use machinist_runtime::events::Regarding;
use machinist_runtime::queue::Queue;
use machinist_runtime::writer::Writer;

const COUNT: &str = "example.com/label-count";

/// declaration.rs: everything that manifests, docs and the command line need.
const DECLARATION: Declaration = Declaration {
    summary: "Annotates every ConfigMap with the number of its labels.",
    lease: Lease::own(true),
    workers: 2,
    reads: &[Read::new(CONFIG_MAPS, WATCH)],
    writes: &[Write::patch(
        CONFIG_MAPS,
        &["metadata.annotations[example.com/label-count]"],
        "Replaced.",
    )],
    events: &[EventReason::Annotated],
    ..Declaration::new("labelcount")
};

/// kinds/: what the cache stores of a ConfigMap.
struct Labelled {
    meta: Meta,
    labels: usize,
    annotation: Option<String>,
}

impl Stored for Labelled {
    fn meta(&self) -> &Meta {
        &self.meta
    }
}

struct ConfigMaps;

impl Kind for ConfigMaps {
    type Wire = MetadataOnly;
    type Stored = Labelled;
    const RESOURCE: Resource = CONFIG_MAPS;
    const METADATA_ONLY: bool = true;

    fn project(&self, wire: MetadataOnly) -> Labelled {
        Labelled {
            meta: Meta::of(&wire.metadata),
            labels: wire.metadata.labels.len(),
            annotation: wire.metadata.annotations.get(COUNT).map(ToString::to_string),
        }
    }
}

/// plan.rs: what to do, as data.
enum Plan {
    NoOp,
    Annotate(AnnotationChange),
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoOp => "no-op",
            Self::Annotate(_) => "annotate",
        })
    }
}

/// decide.rs: pure.
fn decide(snapshot: &Labelled) -> Plan {
    let mut change = AnnotationChange::default();
    change.want(COUNT, snapshot.annotation.as_deref(), &snapshot.labels.to_string());
    if change.is_empty() { Plan::NoOp } else { Plan::Annotate(change) }
}

/// report.rs: pure.
fn report(snapshot: &Labelled, plan: &Plan, failed: Option<Retry>) -> Report {
    match (plan, failed) {
        (_, Some(retry)) => Report { retry: Some(retry), ..Report::quiet(ReconcileResult::Failed) },
        (Plan::NoOp, None) => Report::quiet(ReconcileResult::Settled),
        (Plan::Annotate(_), None) => {
            let text = messages::annotated(snapshot.labels);
            let event = EventNote::normal(EventReason::Annotated, "Annotate", text);
            Report { events: vec![event], ..Report::quiet(ReconcileResult::Changed) }
        }
    }
}

/// messages.rs: every text that users meet, with a snapshot test.
mod messages {
    pub(super) fn annotated(labels: usize) -> String {
        format!("Set example.com/label-count to {labels}")
    }
}

/// mod.rs: the stages, tied together.
struct LabelCount {
    config_maps: Arc<Cache<ConfigMaps>>,
}

impl Controller for LabelCount {
    type Snapshot = Arc<Labelled>;
    type Plan = Plan;
    type Outcome = Option<Retry>;

    const DECLARATION: Declaration = DECLARATION;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.config_maps.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        let queue = queue.clone();
        self.config_maps.subscribe(move |change| queue.add_changed(change.key, change));
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Arc<Labelled>>, ApiError> {
        Ok(match self.config_maps.get_certain(key).await? {
            Some(Entry::Known(object)) => Some(object),
            _ => None,
        })
    }

    fn decide(&self, snapshot: &Arc<Labelled>, _: Timestamp) -> Plan {
        decide(snapshot)
    }

    async fn act(&self, snapshot: &Arc<Labelled>, plan: &Plan, writer: &Writer) -> Option<Retry> {
        let Plan::Annotate(change) = plan else { return None };
        let written = writer.annotate(&self.config_maps, &snapshot.meta, change, plan).await;
        written.err().map(|error| error.retry())
    }

    fn report(
        &self,
        snapshot: &Arc<Labelled>,
        plan: &Plan,
        outcome: &Option<Retry>,
        _: Timestamp,
    ) -> Report {
        report(snapshot, plan, *outcome)
    }

    fn regarding<'a>(&self, snapshot: &'a Arc<Labelled>) -> Regarding<'a> {
        Regarding { resource: CONFIG_MAPS, meta: &snapshot.meta }
    }
}

/// The line in `crates/machinist/src/registry.rs`.
fn registration() -> Registration {
    Registration::new(|shared: &Arc<Shared>| LabelCount {
        config_maps: shared.caches.open(&shared.control, shared.scope.clone(), ConfigMaps),
    })
}
// === end ===

use anyhow::ensure;
use kube::api::PostParams;
use machinist_testbed::poll::eventually;
use serde_json::json;

use crate::world::{PATIENCE, ToyWorld};

const PAGE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/add-a-controller.md"));

#[tokio::test(flavor = "multi_thread")]
async fn the_controller_of_the_walkthrough_annotates_config_maps() {
    let world = ToyWorld::new("walkthrough").await;
    let map = json!({"metadata": {"name": "map", "labels": {"a": "1", "b": "2"}}});
    let map = serde_json::from_value(map).unwrap();
    world.config_maps().create(&PostParams::default(), &map).await.unwrap();
    let _running = world.run(world.options(), vec![registration()]);
    let annotated = eventually(PATIENCE, "the ConfigMap to be annotated", || async {
        let map = world.config_maps().get("map").await?;
        let count = map.metadata.annotations.unwrap_or_default().get(COUNT).cloned();
        ensure!(count.as_deref() == Some("2"), "{count:?}");
        Ok(())
    });
    annotated.await.unwrap();
}

#[test]
fn the_page_has_the_code_of_this_file() {
    let source = include_str!("walkthrough.rs");
    let code = source.split("// === begin ===\n").nth(1).unwrap();
    let code = code.split("// === end ===").next().unwrap().trim();
    assert!(PAGE.contains(code), "copy the code between the markers into the page");
}
