//! Counts Events as the controller does, for an EventRecycler that is in no cluster: its spec comes from flags, its status is in memory.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use machinist_api::event_recycler::status::PastRecycle;
use machinist_api::event_recycler::{EventRecyclerSpec, EventRecyclerStatus};
use machinist_controllers::kinds::{EventRecycler, Events, Pods};
use machinist_controllers::recycler::detection::belongings::Belongings;
use machinist_controllers::recycler::detection::counting::Counting;
use machinist_controllers::recycler::detection::place::Places;
use machinist_controllers::recycler::detection::watchers::Watchers;
use machinist_controllers::recycler::snapshot::{Content, Facts, Snapshot};
use machinist_controllers::recycler::{Plan, RecyclerTimings, decide};
use machinist_domain::key::{ObjectKey, Uid, Version};
use machinist_domain::machine_timings::MachineTimings;
use machinist_domain::meta::Meta;
use machinist_provider::node_groups::GroupRef;
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::cache::{Cache, Scope};
use serde_json::json;
use tokio::sync::Notify;

use super::super::arguments::WatchArguments;
use super::super::run::Bench;
use crate::exit::Usage;

const GENERATION: i64 = 1;

/// Counts Events.
#[derive(Debug)]
pub(super) struct Lookout {
    recycler: EventRecycler,
    events: Arc<Cache<Events>>,
    watchers: Arc<Watchers>,
    places: Places,
    /// Rung when it is known where something leads.
    news: Arc<Notify>,
}

impl Lookout {
    /// Reads Events and Pods once and follows them from then on.
    pub(super) async fn new(
        bench: &Bench,
        region: Option<&str>,
        arguments: &WatchArguments,
    ) -> anyhow::Result<Self> {
        let scope = arguments.namespace.clone().map_or(Scope::All, Scope::Namespace);
        let events = bench.caches.open(&bench.cluster, scope.clone(), Events::default());
        let pods = bench.caches.open(&bench.cluster, scope, Pods::default());
        synced(&events).await?;
        synced(&pods).await?;
        let news = Arc::new(Notify::new());
        let ring = Arc::clone(&news);
        let belongings = Belongings::new(
            Arc::clone(&bench.groups),
            bench.tasks.clone(),
            bench.clock.clone(),
            bench.timings,
            MachineTimings::default(),
            move || ring.notify_one(),
        );
        let watchers =
            Arc::new(Watchers::new(bench.clock.clone(), MachineTimings::default().gather));
        let told = Arc::clone(&watchers);
        events.attend(move |before, after, position| told.told(before, after, position));
        // What happened before does not count.
        let mark = events.survey(|position, _| position);
        let recycler = recycler(spec(region, arguments)?, mark);
        watchers.follow(&recycler, &*events);
        let known = watchers.known(&recycler.meta.key, mark, mark);
        if let Some(Err(refusal)) = known.map(|known| known.settings) {
            return Err(anyhow::Error::from(refusal).context(Usage));
        }
        let places = Places {
            pods,
            nodes: Arc::clone(&bench.nodes),
            belongings,
            region: Some(bench.region.as_str().into()),
        };
        Ok(Self { recycler, events, watchers, places, news })
    }

    /// Counts what has happened, and decides what is to be done about it.
    pub(super) fn look(&mut self, now: Timestamp) -> Plan {
        let (recycler, key) = (&self.recycler, &self.recycler.meta.key);
        let counting = Counting::read(recycler.status.counting.as_ref());
        let position = self.events.survey(|position, _| position);
        let known = self.watchers.known(key, counting.mark, position);
        let (mut news, mut reopened) = (Vec::new(), Vec::new());
        let settings = known.map(|known| {
            if let Ok(settings) = &known.settings {
                let locate = |one| self.places.locate(one, settings);
                news = known.noted.into_iter().map(locate).collect();
                reopened = counting.open.iter().cloned().map(locate).collect();
            }
            known.settings
        });
        let refused = machinist_controllers::recycler::error::Refusal::NothingToLookFor;
        let facts = Facts {
            generation: GENERATION,
            finalizers: Box::default(),
            settings: settings.unwrap_or(Err(refused)),
            status: Arc::clone(&recycler.status),
            counting,
            position,
            news,
            ahead: false,
            reopened,
            elsewhere: Vec::new(),
            recycles: Vec::new(),
            unseen: Vec::new(),
            timings: RecyclerTimings::default(),
        };
        let content = Content::Read(Box::new(facts));
        let plan = decide(&Snapshot { meta: recycler.meta.clone(), content }, now);
        if let Some(counted) = &plan.counted {
            self.store(|status| status.counting = Some(counted.counting.write()));
        }
        plan
    }

    /// A group was recycled, or would have been: what was counted for it is used up.
    pub(super) fn settle(&mut self, group: &GroupRef, entry: PastRecycle) {
        let mut counting = Counting::read(self.recycler.status.counting.as_ref());
        counting.forget(group);
        self.store(|status| {
            status.counting = Some(counting.write());
            status.recycle_history.get_or_insert_default().push(entry);
        });
    }

    /// Returns when it has become known where something leads.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// Changes the status; what is counted is not noted any more.
    fn store(&mut self, change: impl FnOnce(&mut EventRecyclerStatus)) {
        change(Arc::make_mut(&mut self.recycler.status));
        self.watchers.follow(&self.recycler, &*self.events);
    }
}

fn recycler(spec: EventRecyclerSpec, mark: Version) -> EventRecycler {
    let counting = Counting { mark, ..Counting::default() };
    EventRecycler {
        meta: Meta {
            key: ObjectKey::new("", "watch"),
            uid: Uid("watch".into()),
            version: Version::default(),
            deleting: false,
        },
        generation: GENERATION,
        finalizers: Box::default(),
        spec: Some(Arc::new(spec)),
        status: Arc::new(EventRecyclerStatus {
            observed_generation: Some(GENERATION),
            counting: Some(counting.write()),
            ..EventRecyclerStatus::default()
        }),
    }
}

/// The flags, as an EventRecycler would say them.
fn spec(region: Option<&str>, arguments: &WatchArguments) -> anyhow::Result<EventRecyclerSpec> {
    let time = |time: std::time::Duration| format!("{}ms", time.as_millis());
    let spec = json!({
        "searchTerms": arguments.search,
        "threshold": arguments.threshold,
        "window": time(arguments.window),
        "watchInterval": time(arguments.watch_interval),
        "coolDown": time(arguments.cool_down),
        "dryRun": arguments.dry_run,
        "awsRegion": region,
    });
    serde_json::from_value(spec).context("flags").context(Usage)
}

async fn synced<K: Kind>(cache: &Cache<K>) -> anyhow::Result<()> {
    match cache.wait_synced_or_trouble().await {
        None => Ok(()),
        Some(trouble) => bail!("{} cannot be read: {trouble}", K::RESOURCE.plural),
    }
}
