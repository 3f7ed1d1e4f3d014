//! Counts Events as the controller does, with a spec from flags and a status in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use machinist_api::event_recycler::status::PastRecycle;
use machinist_api::event_recycler::{EventRecyclerSpec, EventRecyclerStatus};
use machinist_controllers::kinds::{EventRecycler, Events, Pods};
use machinist_controllers::recycler::detection::counting::Counting;
use machinist_controllers::recycler::detection::event_tracker::EventTracker;
use machinist_controllers::recycler::detection::group_membership::GroupMembership;
use machinist_controllers::recycler::detection::locator::Locator;
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
use super::super::messages;
use super::super::run::RecycleContext;
use crate::exit::Usage;

const GENERATION: i64 = 1;

/// Counts Events.
#[derive(Debug)]
pub(super) struct Detector {
    recycler: EventRecycler,
    events: Arc<Cache<Events>>,
    event_tracker: Arc<EventTracker>,
    locator: Locator,
    /// Notified after groups of instances are looked up.
    news: Arc<Notify>,
}

impl Detector {
    /// Lists and watches Events and Pods.
    pub(super) async fn new(
        context: &RecycleContext,
        region: Option<&str>,
        arguments: &WatchArguments,
    ) -> anyhow::Result<Self> {
        let scope = arguments.namespace.clone().map_or(Scope::All, Scope::Namespace);
        let events = context.caches.open(&context.cluster, scope.clone(), Events);
        let pods = context.caches.open(&context.cluster, scope, Pods);
        synced(&events).await?;
        synced(&pods).await?;
        let news = Arc::new(Notify::new());
        let ring = Arc::clone(&news);
        let group_membership = GroupMembership::new(
            Arc::clone(&context.groups),
            context.tasks.clone(),
            context.clock.clone(),
            context.timings,
            MachineTimings::default(),
            move || ring.notify_one(),
        );
        let event_tracker =
            Arc::new(EventTracker::new(context.clock.clone(), MachineTimings::default().gather));
        let tracker = Arc::clone(&event_tracker);
        events
            .attend(move |before, after, position| tracker.event_changed(before, after, position));
        // Earlier Events do not count.
        let mark = events.survey(|position, _| position);
        let recycler = recycler(spec(region, arguments)?, mark);
        event_tracker.track(&recycler, &*events);
        let known = event_tracker.occurrences(&recycler.meta.key, mark, mark);
        if let Some(Err(refusal)) = known.map(|known| known.settings) {
            return Err(anyhow::Error::from(refusal).context(Usage));
        }
        let locator = Locator {
            pods,
            nodes: Arc::clone(&context.nodes),
            cloud: Arc::clone(&context.groups),
            group_membership,
            region: Some(context.region.as_str().into()),
        };
        Ok(Self { recycler, events, event_tracker, locator, news })
    }

    /// Counts Events and decides what to recycle.
    pub(super) fn look(&mut self, now: Timestamp) -> Plan {
        let (recycler, key) = (&self.recycler, &self.recycler.meta.key);
        let counting = Counting::read(recycler.status.counting.as_ref());
        let position = self.events.survey(|position, _| position);
        let known = self.event_tracker.occurrences(key, counting.mark, position);
        let (mut news, mut reopened) = (Vec::new(), Vec::new());
        let settings = known.map(|known| {
            if let Ok(settings) = &known.settings {
                let locate = |one| self.locator.locate(one, settings);
                news = known.occurrences.into_iter().map(locate).collect();
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
            incomplete: false,
            reopened,
            others: Vec::new(),
            recycles: Vec::new(),
            unchecked: Vec::new(),
            groups: BTreeMap::new(),
            own_node: None,
            timings: RecyclerTimings::default(),
        };
        let content = Content::Read(Box::new(facts));
        let plan = decide(&Snapshot { meta: recycler.meta.clone(), content }, now);
        if let Some(counted) = &plan.counted {
            self.store(|status| status.counting = Some(counted.counting.write()));
        }
        plan
    }

    /// Notes the recycle of a group and drops its counts.
    pub(super) fn settle(&mut self, group: &GroupRef, entry: PastRecycle) {
        let mut counting = Counting::read(self.recycler.status.counting.as_ref());
        counting.forget(group);
        self.store(|status| {
            status.counting = Some(counting.write());
            status.recycle_history.get_or_insert_default().push(entry);
        });
    }

    /// Returns after groups of instances were looked up.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

    /// Changes the status. Counted occurrences are dropped.
    fn store(&mut self, change: impl FnOnce(&mut EventRecyclerStatus)) {
        change(Arc::make_mut(&mut self.recycler.status));
        self.event_tracker.track(&self.recycler, &*self.events);
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

/// The flags as a spec.
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
        Some(trouble) => bail!(messages::not_listed(K::RESOURCE.plural, trouble)),
    }
}
