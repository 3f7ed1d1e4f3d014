//! One MachineDeployment of a cluster: read, watched and patched.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use machinist_api::names::ANNOTATION_ROLLOUT_ABORTED;
use machinist_api::resource::MACHINE_SETS;
use machinist_controllers::kinds::{MachineDeployment, MachineDeployments, MachineSets, NoState};
use machinist_controllers::machine_deployment::revision::{Revision, revisions};
use machinist_domain::key::{ObjectKey, Uid};
use machinist_provider::provider::Providers;
use machinist_runtime::cache::registry::Caches;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::clock::{SharedClock, SystemClock};
use machinist_runtime::cluster::config::{self, ClusterFlags, Environment};
use machinist_runtime::cluster::{Cluster, Session};
use machinist_runtime::lease::Leadership;
use machinist_runtime::metrics::Metrics;
use machinist_runtime::tasks::Tasks;
use machinist_runtime::timings::Timings;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::{Gateway, Guard, Part, Writer};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::arguments::{DryRun, RolloutArguments};
use super::messages;
use crate::exit::Usage;

const PARTY: &str = "rollout";

/// Attempts to write: the controller writes the status, so conflicts are normal.
const ATTEMPTS: u32 = 5;

pub(super) struct Target {
    pub(super) key: ObjectKey,
    cluster: Cluster,
    session: Session,
    caches: Caches,
    metrics: Arc<Metrics>,
}

/// What a change does: the patch, and the text that reports it.
pub(super) struct Decision {
    /// `None` if there is nothing to write.
    pub(super) patch: Option<Value>,
    pub(super) text: String,
}

impl Target {
    /// Sends nothing.
    pub(super) async fn new(arguments: &RolloutArguments, name: &str) -> anyhow::Result<Self> {
        let environment = Environment::of_process();
        let flags = ClusterFlags {
            kubeconfig: arguments.kubeconfig.clone().map(Into::into),
            context: arguments.context.clone(),
            ..ClusterFlags::default()
        };
        let choice = config::resolve(&flags, &environment).await.context(Usage)?;
        let namespace = arguments.namespace.as_deref().unwrap_or(&choice.control.default_namespace);
        let key = ObjectKey::new(namespace, name);
        let timings = Timings::default();
        let cluster = Cluster::new(choice.control, &timings).context("cluster")?;
        let metrics = Arc::new(Metrics::default());
        let clock: SharedClock = Arc::new(SystemClock);
        Ok(Self {
            key,
            session: cluster.session(UserAgent::of(PARTY)),
            caches: Caches::new(clock, timings, Arc::clone(&metrics), Tasks::default()),
            cluster,
            metrics,
        })
    }

    fn gateway(&self, dry_run: DryRun) -> Gateway {
        let (limit, metrics) = (Timings::default().cloud_call, Arc::clone(&self.metrics));
        match dry_run {
            DryRun::None => Gateway::new(false, limit, metrics),
            DryRun::Client => Gateway::new(true, limit, metrics),
            DryRun::Server => Gateway::server_dry_run(limit, metrics),
        }
    }

    /// For live reads and writes: `list` and `watch` are rights that only [`Self::watch`] needs.
    fn cache(&self) -> Arc<Cache<MachineDeployments>> {
        self.caches.unwatched(&self.cluster, self.scope(), kind())
    }

    fn scope(&self) -> Scope {
        Scope::Object(self.key.clone())
    }

    /// The deployment, kept up to date; `Notify` reports changes.
    pub(super) async fn watch(&self) -> anyhow::Result<Watched> {
        let cache = self.caches.open(&self.cluster, self.scope(), kind());
        let changed = Arc::new(Notify::new());
        let ring = Arc::clone(&changed);
        cache.subscribe(move |_| ring.notify_one());
        if let Some(trouble) = cache.wait_synced_or_trouble().await {
            return Err(trouble).context(messages::cannot("watch", "MachineDeployments"));
        }
        Ok(Watched { cache, key: self.key.clone(), changed })
    }

    pub(super) async fn read(&self) -> anyhow::Result<Arc<MachineDeployment>> {
        let live = self.cache().read_live(&self.key).await;
        let live = live.context(messages::cannot("read", &messages::full_name(&self.key.name)))?;
        present(live, &self.key)
    }

    /// Fails for one that is being deleted.
    pub(super) async fn read_to_change(&self) -> anyhow::Result<Arc<MachineDeployment>> {
        let deployment = self.read().await?;
        if deployment.meta.deleting {
            bail!(messages::not_changed(&self.key.name));
        }
        Ok(deployment)
    }

    pub(super) async fn revisions(
        &self,
        deployment: &MachineDeployment,
    ) -> anyhow::Result<Vec<Revision>> {
        let namespace = Some(&*self.key.namespace);
        let sets = self.session.list_live(MACHINE_SETS, namespace, "").await;
        let sets = sets.context(messages::cannot("list", "MachineSets"))?;
        Ok(revisions(deployment, sets)?)
    }

    /// Writes the patch that `decide` returns, with a precondition on the version that it was given.
    pub(super) async fn change(
        &self,
        dry_run: DryRun,
        decide: impl AsyncFn(&MachineDeployment) -> anyhow::Result<Decision>,
    ) -> anyhow::Result<String> {
        let cache = self.cache();
        let gateway = Arc::new(self.gateway(dry_run));
        let writer = Writer::new(gateway, self.session.clone(), PARTY, Leadership::NotNeeded);
        for _ in 0..ATTEMPTS {
            let deployment = self.read_to_change().await?;
            let Decision { patch, text } = decide(&deployment).await?;
            let Some(patch) = patch else { return Ok(text) };
            let (part, guard) = (Part::Object, Guard::Version);
            let written = writer.patch(&cache, &deployment.meta, part, guard, patch, &text).await;
            match written {
                Ok(_) => return Ok(text),
                Err(error) if error.conflict() => {}
                Err(error) => {
                    let what = messages::full_name(&self.key.name);
                    return Err(error).context(messages::cannot("patch", &what));
                }
            }
        }
        let what = messages::full_name(&self.key.name);
        Err(anyhow::Error::msg(messages::CHANGED_MEANWHILE))
            .context(messages::cannot("patch", &what))
    }
}

impl Target {
    /// Removes what stops the rollout to the template of this MachineSet.
    pub(super) async fn resume(&self, set: &str) -> anyhow::Result<()> {
        let key = ObjectKey::new(Arc::clone(&self.key.namespace), set);
        let kind = MachineSets::<NoState>::new(Arc::new(Providers::default()));
        let cache = self.caches.open(&self.cluster, Scope::Object(key.clone()), kind);
        let what = format!("MachineSet {set}");
        let live = cache.read_live(&key).await.context(messages::cannot("read", &what))?;
        let Some(live) = live else { return Ok(()) };
        let gateway = Arc::new(self.gateway(DryRun::None));
        let writer = Writer::new(gateway, self.session.clone(), PARTY, Leadership::NotNeeded);
        let patch = json!({"metadata": {"annotations": {ANNOTATION_ROLLOUT_ABORTED: null}}});
        let text = messages::resumed(&self.key.name);
        let written =
            writer.patch(&cache, live.meta(), Part::Object, Guard::Uid, patch, &text).await;
        written.map(drop).context(messages::cannot("patch", &what))
    }
}

fn kind() -> MachineDeployments {
    // Provider specs are not read.
    MachineDeployments::new(Arc::new(Providers::default()))
}

pub(super) struct Watched {
    cache: Arc<Cache<MachineDeployments>>,
    key: ObjectKey,
    pub(super) changed: Arc<Notify>,
}

impl Watched {
    /// The deployment as it is now. `uid` is that of the first answer, and empty before it.
    pub(super) fn get(&self, uid: &mut Option<Uid>) -> anyhow::Result<Arc<MachineDeployment>> {
        same(self.cache.get(&self.key), &self.key, uid)
    }
}

/// Fails if it is another object of this name, or none.
pub(super) fn same(
    entry: Option<Entry<MachineDeployment>>,
    key: &ObjectKey,
    uid: &mut Option<Uid>,
) -> anyhow::Result<Arc<MachineDeployment>> {
    let current = entry.as_ref().map(|entry| entry.meta().uid.clone());
    if uid.is_some() && *uid != current {
        bail!(messages::deleted(&key.name));
    }
    *uid = current;
    present(entry, key)
}

fn present(
    entry: Option<Entry<MachineDeployment>>,
    key: &ObjectKey,
) -> anyhow::Result<Arc<MachineDeployment>> {
    match entry {
        Some(Entry::Known(deployment)) => Ok(deployment),
        Some(Entry::Undecodable(one)) => bail!(messages::undecodable(&key.name, &one.error)),
        None => bail!(messages::not_found(&key.name, &key.namespace)),
    }
}
