//! What a recycle from the command line needs: the cloud, the Nodes of the cluster, the writer, and the owner.

use std::sync::Arc;

use anyhow::bail;
use machinist_controllers::kinds::Nodes;
use machinist_controllers::recycler::recycling::{Recycling, Settings};
use machinist_domain::machine_timings::MachineTimings;
use machinist_provider::node_groups::NodeGroups;
use machinist_provider::provider::Providers;
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::cache::registry::Caches;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::clock::{SharedClock, SystemClock};
use machinist_runtime::cluster::Cluster;
use machinist_runtime::lease::Leadership;
use machinist_runtime::metrics::Metrics;
use machinist_runtime::tasks::Tasks;
use machinist_runtime::timings::Timings;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::{Gateway, Writer};
use tokio_util::sync::CancellationToken;

use super::super::arguments::{How, RecycleArguments};
use super::super::{environment, messages};
use crate::recycler;

const PARTY: &str = "recycle";

/// The prefix of owners in marks of this verb.
pub(super) const BY_HAND: &str = "by-hand/";

#[derive(Debug)]
pub(in super::super) struct RecycleContext {
    pub(in super::super) recycling: Recycling,
    pub(in super::super) writer: Writer,
    pub(in super::super) settings: Settings,
    pub(in super::super) region: String,
    pub(in super::super) clock: SharedClock,
    /// The owner in marks: user and host.
    pub(in super::super) owner: Arc<str>,
    pub(in super::super) stop: CancellationToken,
    pub(in super::super) groups: Arc<dyn NodeGroups>,
    pub(in super::super) nodes: Arc<Cache<Nodes>>,
    pub(in super::super) cluster: Cluster,
    pub(in super::super) tasks: Tasks,
    pub(in super::super) timings: Timings,
    /// Keeps the caches open.
    pub(in super::super) caches: Caches,
}

impl RecycleContext {
    pub(in super::super) async fn new(
        common: &RecycleArguments,
        providers: &Providers,
        how: How,
        stop: CancellationToken,
    ) -> anyhow::Result<Self> {
        let cluster = environment::cluster(common, &Timings::default()).await?;
        let context = Self::with(common, providers, how, stop, cluster, Tasks::default())?;
        synced(&context.nodes).await?;
        if !context.region.is_empty() {
            return Ok(context);
        }
        let ids = provider_ids(&context.nodes);
        let region = environment::region_of_nodes(ids.iter().map(|id| &**id))?;
        Ok(Self { region, ..context })
    }

    /// Without Nodes: their cache stays empty, and no request is sent to a cluster.
    pub(super) async fn without_cluster(
        common: &RecycleArguments,
        providers: &Providers,
        how: How,
        stop: CancellationToken,
    ) -> anyhow::Result<Self> {
        let region = environment::required_region(common.region.as_deref())?;
        let tasks = Tasks::default();
        tasks.stop().await;
        let cluster = Cluster::absent(&Timings::default())?;
        let how = How { no_drain: true, ..how };
        let context = Self::with(common, providers, how, stop, cluster, tasks)?;
        let settings = Settings { needs_nodes: false, ..context.settings };
        Ok(Self { settings, region, ..context })
    }

    fn with(
        common: &RecycleArguments,
        providers: &Providers,
        how: How,
        stop: CancellationToken,
        cluster: Cluster,
        tasks: Tasks,
    ) -> anyhow::Result<Self> {
        let timings = Timings::default();
        let groups = environment::node_groups(providers)?;
        let clock: SharedClock = Arc::new(SystemClock);
        let metrics = Arc::new(Metrics::default());
        let caches = Caches::new(clock.clone(), timings, Arc::clone(&metrics), tasks.clone());
        let nodes = caches.open(&cluster, Scope::All, Nodes);
        let session = cluster.session(UserAgent::of("recycle"));
        let gateway = Gateway::new(false, timings.cloud_call, metrics);
        let writer = Writer::new(Arc::new(gateway), session.clone(), PARTY, Leadership::NotNeeded);
        let recycling = Recycling::new(
            Arc::clone(&groups),
            Arc::clone(&nodes),
            session,
            clock.clone(),
            timings.cloud_call,
            MachineTimings::default(),
            recycler::own_node(),
        );
        let settings = Settings {
            poll: how.poll_interval,
            timeout: how.timeout,
            drain: !how.no_drain,
            drain_timeout: how.drain_timeout.unwrap_or(how.timeout),
            max_unavailable: how.max_unavailable,
            ..Settings::default()
        };
        Ok(Self {
            recycling,
            writer,
            settings,
            region: environment::region(common.region.as_deref()).unwrap_or_default(),
            clock,
            owner: owner().into(),
            stop,
            groups,
            nodes,
            cluster,
            tasks,
            timings,
            caches,
        })
    }
}

pub(in super::super) async fn synced<K: Kind>(cache: &Cache<K>) -> anyhow::Result<()> {
    match cache.wait_synced_or_trouble().await {
        None => Ok(()),
        Some(trouble) => bail!(messages::not_listed(K::RESOURCE.plural, trouble)),
    }
}

fn provider_ids(nodes: &Cache<Nodes>) -> Vec<Arc<str>> {
    let provider_id = |key| nodes.get(key)?.known()?.provider_id.clone();
    nodes.keys().iter().filter_map(provider_id).collect()
}

/// User and host, in characters that are allowed in tags.
fn owner() -> String {
    let user = std::env::var("USER").unwrap_or_default();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || ".-_".contains(*c)).take(60).collect()
    };
    format!("{BY_HAND}{}@{}", plain(&user), plain(&host))
}
