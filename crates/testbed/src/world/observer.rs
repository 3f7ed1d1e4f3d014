//! Records every state of Machines and Nodes by watches of its own, and replays them in the order of their
//! resourceVersions, which is the order in which the API server stored them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use super::World;
use super::reading::{is_alive, node_of};

/// The longest watch that the API server accepts is 295 s.
const WATCH_SECONDS: u32 = 290;

/// Watches until it is stopped or dropped.
#[derive(Debug)]
pub struct Observer {
    history: Arc<Mutex<History>>,
    watches: Vec<JoinHandle<()>>,
}

/// What the Machines of a namespace were at the most and at the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extremes {
    /// Those being deleted included.
    pub most: usize,
    /// With a Node that is ready, and not being deleted.
    pub fewest_ready: usize,
    /// The MachineSets that had Machines at the same time.
    pub most_sets: usize,
}

/// The objects that exist, as a watch has reported them, with their resourceVersions.
type Seen = BTreeMap<String, u64>;

#[derive(Debug, Default)]
struct History {
    /// With the resourceVersion.
    changes: Vec<(u64, Change)>,
    machines: Seen,
    nodes: Seen,
    broken: Option<String>,
}

#[derive(Debug, Clone)]
enum Change {
    Machine(String, Option<State>),
    /// Whether it is ready.
    Node(String, Option<bool>),
}

#[derive(Debug, Clone)]
struct State {
    alive: bool,
    node: String,
    /// The uid of its owner.
    owner: Option<String>,
}

impl Observer {
    pub async fn start(world: &World) -> Result<Self> {
        let history = Arc::<Mutex<History>>::default();
        let machines = |machine: &DynamicObject, exists: bool| {
            let owner = machine.owner_references().first().map(|owner| owner.uid.clone());
            let node = node_of(machine).to_owned();
            let state = State { alive: is_alive(machine), node, owner };
            Change::Machine(machine.name_any(), exists.then_some(state))
        };
        let nodes = |node: &Node, exists: bool| {
            Change::Node(node.name_any(), exists.then(|| is_ready(node)))
        };
        let watches = vec![
            follow(&history, world.machines(), machines).await?,
            follow(&history, world.nodes(), nodes).await?,
        ];
        Ok(Self { history, watches })
    }

    pub async fn stop(self, world: &World) -> Result<Extremes> {
        let check = || async {
            let machines = Live::list(&world.machines()).await?;
            let nodes = Live::list(&world.nodes()).await?;
            let history = self.history.lock();
            if let Some(error) = &history.broken {
                bail!("{error}");
            }
            machines.ensure_seen(&history.machines)?;
            // The watch of Nodes may be behind that of Machines: their Nodes would count as not ready.
            nodes.ensure_seen(&history.nodes)
        };
        world.eventually("the watches to have seen what is left", check).await?;
        let changes = std::mem::take(&mut self.history.lock().changes);
        Ok(replay(changes))
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.watches.iter().for_each(JoinHandle::abort);
    }
}

/// What a list has, with resourceVersions.
struct Live {
    objects: Seen,
    version: u64,
}

impl Live {
    async fn list<K>(api: &Api<K>) -> Result<Self>
    where
        K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let list = api.list(&ListParams::default()).await?;
        let version = list.metadata.resource_version.as_deref().context("the version of a list")?;
        let objects = list.items.iter().map(|one| Ok((one.name_any(), version_of(one)?)));
        Ok(Self { version: version.parse()?, objects: objects.collect::<Result<_>>()? })
    }

    /// Later changes may have been seen, too: other tests have Nodes on the same API server.
    fn ensure_seen(&self, seen: &Seen) -> Result<()> {
        for (name, version) in &self.objects {
            ensure!(seen.get(name) >= Some(version), "{name}: {:?}, not {version}", seen.get(name));
        }
        for (name, version) in seen {
            let exists = self.objects.contains_key(name) || *version > self.version;
            ensure!(exists, "the deletion of {name} has not been seen");
        }
        Ok(())
    }
}

impl History {
    /// `order` is 0 for what was there at the start, else the version.
    fn add(&mut self, order: u64, version: u64, change: Change) {
        let (seen, name, exists) = match &change {
            Change::Machine(name, state) => (&mut self.machines, name, state.is_some()),
            Change::Node(name, ready) => (&mut self.nodes, name, ready.is_some()),
        };
        if exists {
            seen.insert(name.clone(), version);
        } else {
            seen.remove(name);
        }
        self.changes.push((order, change));
    }
}

fn version_of(object: &impl Resource) -> Result<u64> {
    let version = object.meta().resource_version.as_deref();
    Ok(version.context("a resourceVersion")?.parse()?)
}

async fn follow<K>(
    history: &Arc<Mutex<History>>,
    api: Api<K>,
    change: impl Fn(&K, bool) -> Change + Send + 'static,
) -> Result<JoinHandle<()>>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let list = api.list(&ListParams::default()).await?;
    let from = list.metadata.resource_version.clone().context("the version of a list")?;
    for object in &list.items {
        history.lock().add(0, version_of(object)?, change(object, true));
    }
    let history = Arc::clone(history);
    Ok(tokio::spawn(async move {
        if let Err(error) = watch(&history, &api, from, change).await {
            history.lock().broken = Some(format!("the watch of the test broke: {error:#}"));
        }
    }))
}

async fn watch<K>(
    history: &Mutex<History>,
    api: &Api<K>,
    mut version: String,
    change: impl Fn(&K, bool) -> Change,
) -> Result<()>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let params = WatchParams::default().timeout(WATCH_SECONDS);
    // A watch that ends continues at the version where it ended, so no state is missed.
    loop {
        let events = api.watch(&params, &version).await?;
        pin_mut!(events);
        while let Some(event) = events.next().await {
            let (object, exists) = match event? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, true),
                WatchEvent::Deleted(object) => (object, false),
                WatchEvent::Bookmark(bookmark) => {
                    version = bookmark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(status) => bail!("{status}"),
            };
            let at = version_of(&object)?;
            version = at.to_string();
            history.lock().add(at, at, change(&object, exists));
        }
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}

fn replay(mut changes: Vec<(u64, Change)>) -> Extremes {
    changes.sort_by_key(|(version, _)| *version);
    let mut extremes = Extremes { most: 0, fewest_ready: usize::MAX, most_sets: 0 };
    let (mut machines, mut ready_nodes) = (BTreeMap::new(), BTreeSet::new());
    for step in changes.chunk_by(|one, other| one.0 == other.0) {
        for (_, change) in step {
            match change.clone() {
                Change::Machine(name, Some(state)) => _ = machines.insert(name, state),
                Change::Machine(name, None) => _ = machines.remove(&name),
                Change::Node(name, Some(true)) => _ = ready_nodes.insert(name),
                Change::Node(name, _) => _ = ready_nodes.remove(&name),
            }
        }
        let owners: BTreeSet<_> =
            machines.values().filter_map(|one: &State| one.owner.as_ref()).collect();
        extremes.most_sets = extremes.most_sets.max(owners.len());
        let ready = |state: &&State| state.alive && ready_nodes.contains(&state.node);
        extremes.most = extremes.most.max(machines.len());
        extremes.fewest_ready = extremes.fewest_ready.min(machines.values().filter(ready).count());
    }
    extremes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str, alive: bool) -> Change {
        let (node, owner) = (name.to_owned(), Some(format!("set of {name}")));
        Change::Machine(name.to_owned(), Some(State { alive, node, owner }))
    }

    fn node(name: &str, ready: bool) -> Change {
        Change::Node(name.to_owned(), Some(ready))
    }

    #[test]
    fn a_watch_that_is_behind_is_waited_for() {
        let live = Live { objects: Seen::from([("a".to_owned(), 5)]), version: 7 };
        let mut history = History::default();
        let mut seen = |version, change| {
            history.add(version, version, change);
            live.ensure_seen(&history.nodes).is_ok()
        };
        assert!(!seen(4, node("a", false)), "it has become ready since");
        assert!(seen(5, node("a", true)));
        assert!(!seen(6, node("b", true)), "it is gone since");
        assert!(seen(7, Change::Node("b".to_owned(), None)));
        assert!(seen(8, node("c", true)), "it is newer than the list");
    }

    #[test]
    fn states_are_replayed_in_the_order_in_which_they_were_stored() {
        // The watch of Nodes is later than that of Machines.
        let good = vec![
            (0, machine("a", true)),
            (7, machine("b", true)),
            (9, machine("a", false)),
            (10, Change::Machine("a".to_owned(), None)),
            (0, node("a", true)),
            (8, node("b", true)),
        ];
        assert_eq!(replay(good.clone()), Extremes { most: 2, fewest_ready: 1, most_sets: 2 });
        let mut early = good;
        early[5].0 = 11;
        assert_eq!(replay(early), Extremes { most: 2, fewest_ready: 0, most_sets: 2 });
    }
}
