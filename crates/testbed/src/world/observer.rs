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

#[derive(Debug, Default)]
struct History {
    /// With the resourceVersion.
    changes: Vec<(u64, Change)>,
    /// Machines that exist, as the watch has reported them.
    machines: BTreeSet<String>,
    broken: Option<String>,
}

#[derive(Debug, Clone)]
enum Change {
    Machine(String, Option<State>),
    Node(String, bool),
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
        let nodes =
            |node: &Node, exists: bool| Change::Node(node.name_any(), exists && is_ready(node));
        let watches = vec![
            follow(&history, world.machines(), machines).await?,
            follow(&history, world.nodes(), nodes).await?,
        ];
        Ok(Self { history, watches })
    }

    pub async fn stop(self, world: &World) -> Result<Extremes> {
        let check = || async {
            let machines = world.machines().list(&ListParams::default()).await?;
            let machines: BTreeSet<_> = machines.iter().map(ResourceExt::name_any).collect();
            let history = self.history.lock();
            if let Some(error) = &history.broken {
                bail!("{error}");
            }
            ensure!(history.machines == machines, "{:?}, not {machines:?}", history.machines);
            Ok(())
        };
        world.eventually("the watch has seen the Machines that are left", check).await?;
        let changes = std::mem::take(&mut self.history.lock().changes);
        Ok(replay(changes))
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.watches.iter().for_each(JoinHandle::abort);
    }
}

impl History {
    fn add(&mut self, version: u64, change: Change) {
        match &change {
            Change::Machine(name, Some(_)) => {
                self.machines.insert(name.clone());
            }
            Change::Machine(name, None) => {
                self.machines.remove(name);
            }
            Change::Node(..) => {}
        }
        self.changes.push((version, change));
    }
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
        history.lock().add(0, change(object, true));
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
            version = object.resource_version().context("a resourceVersion")?;
            history.lock().add(version.parse()?, change(&object, exists));
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
                Change::Node(name, true) => _ = ready_nodes.insert(name),
                Change::Node(name, false) => _ = ready_nodes.remove(&name),
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
        Change::Node(name.to_owned(), ready)
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
