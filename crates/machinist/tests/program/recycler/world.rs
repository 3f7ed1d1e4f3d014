//! Where a test takes place: an API server, an estate in AWS whose instances register Nodes, and the user who creates
//! EventRecyclers.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use machinist_api::event_recycler::status::PastRecycle;
use machinist_api::event_recycler::{EventRecycler, EventRecyclerStatus};
use machinist_control_plane::ControlPlane;
use machinist_testbed::World;
use machinist_testbed::aws::estate::GroupFacts;
use machinist_testbed::aws::{AwsBed, Call, Estate, Kubelets};
use machinist_testbed::cluster;
use machinist_testbed::ownership;
use machinist_testbed::poll;
use machinist_testbed::process::Process;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::process;

const REGION: &str = "eu-central-1";
/// A recycle is some polls long, and the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(150);
/// Its holder leads.
pub(crate) const LEASE: &str = "kaws-operator-lock";
pub(crate) const LEASE_NAMESPACE: &str = "kube-system";
/// What is stored on a group.
pub(crate) const TAG: &str = "machinist.dev/recycle";
/// The actions that change something.
const CHANGES: [&str; 6] = [
    "CancelInstanceRefresh",
    "CreateOrUpdateTags",
    "DeleteTags",
    "StartInstanceRefresh",
    "TerminateInstanceInAutoScalingGroup",
    "UpdateAutoScalingGroup",
];

/// Everything that tests share lives on one runtime: what it spawns outlives the test that came first.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Runtime::new().unwrap_or_else(|error| panic!("no runtime: {error}")));
static SHARED: OnceCell<(RecyclerWorld, Process)> = OnceCell::const_new();

/// A world on a cluster of its own, with an estate.
pub(crate) struct RecyclerWorld {
    world: World,
    pub(crate) control_plane: ControlPlane,
    pub(crate) cloud: AwsBed,
    pub(crate) estate: Arc<Estate>,
    _kubelets: Kubelets,
}

/// Runs a test in the world that it shares with others, in which a recycler runs.
pub(crate) fn shared(test: impl AsyncFnOnce(&RecyclerWorld) -> Result<()>) -> Result<()> {
    RUNTIME.block_on(async {
        let begin = async || {
            let world = RecyclerWorld::new().await?;
            let process = world.recycler(&[])?;
            anyhow::Ok((world, process))
        };
        let (world, _) = SHARED.get_or_try_init(begin).await?;
        test(world).await
    })
}

/// Runs a test in a world of its own, in which nothing runs yet.
pub(crate) fn alone(test: impl AsyncFnOnce(&RecyclerWorld) -> Result<()>) -> Result<()> {
    RUNTIME.block_on(async { test(&RecyclerWorld::new().await?).await })
}

/// The same, with the bodies of writes in the audit log.
pub(crate) fn audited(test: impl AsyncFnOnce(&RecyclerWorld) -> Result<()>) -> Result<()> {
    RUNTIME.block_on(async {
        let world = RecyclerWorld::on(ownership::control_plane()).await?;
        cluster::install_crds(&world.control_plane).await?;
        test(&world).await
    })
}

/// The same, where the API server does not even know our kinds.
pub(crate) fn bare(test: impl AsyncFnOnce(&RecyclerWorld) -> Result<()>) -> Result<()> {
    RUNTIME.block_on(async { test(&RecyclerWorld::bare().await?).await })
}

impl Deref for RecyclerWorld {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl RecyclerWorld {
    async fn new() -> Result<Self> {
        let world = Self::bare().await?;
        cluster::install_crds(&world.control_plane).await?;
        Ok(world)
    }

    async fn bare() -> Result<Self> {
        Self::on(ControlPlane::start()).await
    }

    async fn on(control_plane: impl Future<Output = Result<ControlPlane>>) -> Result<Self> {
        let (control_plane, cloud) = tokio::join!(control_plane, AwsBed::start());
        let (control_plane, cloud) = (control_plane?, cloud?);
        let estate = Arc::new(Estate::found(cloud.moto(), REGION, "recycled").await?);
        let boot = Duration::from_millis(200);
        let kubelets = Kubelets::start(&estate, &control_plane.kube_config(), boot)?;
        let world = World::new(&control_plane.kube_config(), "recycler").await?;
        Ok(Self { world, control_plane, cloud, estate, _kubelets: kubelets })
    }

    /// Starts a recycler. Its own timings are shorter than in production; those of EventRecyclers are not.
    pub(crate) fn recycler(&self, flags: &[&str]) -> Result<Process> {
        let flags = [&["--time-scale=0.2"], flags].concat();
        self.recycler_in_real_time(&flags)
    }

    /// Starts a recycler as it is in life.
    pub(crate) fn recycler_in_real_time(&self, flags: &[&str]) -> Result<Process> {
        process::start(self.control_plane.kubeconfig_path(), &self.cloud, REGION, flags)
    }

    /// Starts a recycler that runs on this node and shows its metrics.
    pub(crate) fn recycler_on(&self, node: &str) -> Result<Process> {
        let kubeconfig = self.control_plane.kubeconfig_path();
        let flags = ["--time-scale=0.2", "--metrics-bind-address=127.0.0.1:0"];
        let variables = [("NODE_NAME", node)];
        process::start_with(kubeconfig, &self.cloud, REGION, &flags, &variables)
    }

    /// A group whose instances have Nodes. Returns their ids.
    pub(crate) async fn group(&self, name: &str, sizes: [u32; 3]) -> Result<Vec<String>> {
        self.group_with(name, sizes, &[]).await
    }

    /// The same, with tags.
    pub(crate) async fn group_with(
        &self,
        name: &str,
        sizes: [u32; 3],
        tags: &[(&str, &str)],
    ) -> Result<Vec<String>> {
        let ids = self.estate.create_group(name, sizes, tags).await?;
        for id in &ids {
            self.until_node(id).await?;
        }
        Ok(ids)
    }

    /// Has the group make instances from now on that belong to no cluster, and register nowhere.
    pub(crate) async fn silence(&self, name: &str) -> Result<()> {
        let tag = self.estate.cluster_tag();
        let tag = [
            ("Tags.member.1.ResourceId", name),
            ("Tags.member.1.ResourceType", "auto-scaling-group"),
            ("Tags.member.1.Key", &*tag),
            ("Tags.member.1.PropagateAtLaunch", "true"),
        ];
        self.estate.change_group("DeleteTags", &tag).await
    }

    fn recyclers(&self) -> Api<EventRecycler> {
        Api::all(self.client.clone())
    }

    /// Creates an EventRecycler that looks for its own name in messages and counts every occurrence.
    pub(crate) async fn create(&self, name: &str, extra: Value) -> Result<()> {
        let mut spec = json!({
            "searchTerms": [term(name)],
            "pollInterval": "250ms",
            "watchInterval": "500ms",
            "nodeGroups": {"names": [name]},
            "countBy": "Events",
        });
        for (field, value) in extra.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        // Without a value, a field has its default.
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        let object = serde_json::from_value(json!({
            "apiVersion": "kaws.pischarti.dev/v1beta1", "kind": "EventRecycler",
            "metadata": {"name": name}, "spec": spec,
        }))?;
        self.recyclers().create(&PostParams::default(), &object).await?;
        Ok(())
    }

    /// Five Events about a node, as an EventRecycler of this name counts them.
    pub(crate) async fn complain(&self, name: &str, node: &str) -> Result<()> {
        for _ in 0..5 {
            self.complain_once(name, node).await?;
        }
        Ok(())
    }

    /// One Event about a node.
    pub(crate) async fn complain_once(&self, name: &str, node: &str) -> Result<()> {
        let node = self.until_node(node).await?.metadata;
        let now = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second())?.to_string();
        let event: Event = serde_json::from_value(json!({
            "metadata": {"generateName": "bad-", "namespace": "default"},
            "involvedObject": {"kind": "Node", "apiVersion": "v1", "name": node.name, "uid": node.uid},
            "message": format!("{}: rpc error", term(name)), "reason": "Failed", "type": "Warning",
            "count": 1, "firstTimestamp": now, "lastTimestamp": now, "source": {"component": "test"},
        }))?;
        let events: Api<Event> = Api::namespaced(self.client.clone(), "default");
        events.create(&PostParams::default(), &event).await?;
        Ok(())
    }

    pub(crate) async fn status(&self, name: &str) -> Result<EventRecyclerStatus> {
        Ok(self.recyclers().get_status(name).await?.status.unwrap_or_default())
    }

    /// Waits for something in the status of an EventRecycler.
    pub(crate) async fn until<T>(
        &self,
        name: &str,
        what: &str,
        find: impl Fn(&EventRecyclerStatus) -> Option<T>,
    ) -> Result<T> {
        poll::eventually(PATIENCE, &format!("{name}: {what}"), || async {
            let status = self.status(name).await?;
            find(&status).with_context(|| format!("{status:#?}"))
        })
        .await
    }

    /// Waits until the recycle of the group is over, and returns how it ended.
    pub(crate) async fn ended(&self, name: &str) -> Result<PastRecycle> {
        let ended = |status: &EventRecyclerStatus| {
            let mut past = status.recycle_history.iter().flatten();
            past.rfind(|past| past.node_group.as_deref() == Some(name)).cloned()
        };
        let past = self.until(name, "the recycle to end", ended).await?;
        let active = self.status(name).await?.recycles.unwrap_or_default();
        ensure!(active.is_empty(), "{active:?}");
        Ok(past)
    }

    /// Waits until a recycle is at this step.
    pub(crate) async fn at_step(&self, name: &str, step: &str) -> Result<()> {
        let at = |status: &EventRecyclerStatus| {
            let mut all = status.recycles.iter().flatten();
            all.any(|one| one.step.as_str() == step).then_some(())
        };
        self.until(name, &format!("step {step}"), at).await
    }

    /// What there really is of a group.
    pub(crate) async fn facts(&self, name: &str) -> Result<GroupFacts> {
        self.estate.group(name).await?.with_context(|| format!("no group {name}"))
    }

    /// Fails unless the group has these sizes, as many members, none of the old ones, and no text on it.
    pub(crate) async fn is_renewed(
        &self,
        name: &str,
        sizes: [u32; 3],
        old: &[String],
    ) -> Result<()> {
        let facts = self.facts(name).await?;
        ensure!(facts.sizes == sizes, "{facts:?}");
        ensure!(facts.members.len() == sizes[2] as usize, "{facts:?}");
        ensure!(!facts.members.iter().any(|id| old.contains(id)), "{facts:?}, once {old:?}");
        ensure!(!facts.tags.contains_key(TAG), "{facts:?}");
        Ok(())
    }

    /// Fails unless the group is as it was.
    pub(crate) async fn is_as_it_was(
        &self,
        name: &str,
        sizes: [u32; 3],
        old: &[String],
    ) -> Result<()> {
        let facts = self.facts(name).await?;
        let members: BTreeSet<_> = facts.members.iter().collect();
        ensure!(facts.sizes == sizes && members == old.iter().collect(), "{facts:?}, once {old:?}");
        ensure!(!facts.tags.contains_key(TAG), "{facts:?}");
        Ok(())
    }

    /// The calls that changed the group or its members.
    pub(crate) fn changes(&self, name: &str, members: &[String]) -> Vec<Call> {
        let mut calls = self.cloud.front().calls();
        calls.retain(|call| {
            let about = |value: &String| value == name || members.contains(value);
            CHANGES.contains(&&*call.action) && call.parameters.values().any(about)
        });
        calls
    }

    /// A pod that runs on a node.
    pub(crate) async fn pod(&self, name: &str, node: &str) -> Result<()> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {
                "nodeName": node, "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "c", "image": "i"}],
            },
        }))?;
        pods.create(&PostParams::default(), &pod).await?;
        let running = json!({"status": {
            "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
        }});
        pods.patch_status(name, &PatchParams::default(), &Patch::Merge(running)).await?;
        Ok(())
    }

    /// A PodDisruptionBudget that blocks evictions of the pod of this name.
    pub(crate) async fn forbid_evictions(&self, pod: &str) -> Result<()> {
        let budget = serde_json::from_value(json!({
            "metadata": {"name": pod},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": pod}}},
        }))?;
        self.budgets().create(&PostParams::default(), &budget).await?;
        Ok(())
    }

    /// Takes that budget back.
    pub(crate) async fn allow_evictions(&self, pod: &str) -> Result<()> {
        self.budgets().delete(pod, &DeleteParams::default()).await?;
        Ok(())
    }

    fn budgets(&self) -> Api<PodDisruptionBudget> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// Whether a pod is there.
    pub(crate) async fn has_pod(&self, name: &str) -> Result<bool> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "default");
        Ok(pods.get_opt(name).await?.is_some_and(|pod| pod.metadata.deletion_timestamp.is_none()))
    }

    /// Waits until there are Events with this reason and text about an EventRecycler, which come after its status, and
    /// fails unless they are as many.
    pub(crate) async fn until_noted(
        &self,
        name: &str,
        reason: &str,
        text: &str,
        count: usize,
    ) -> Result<()> {
        let what = format!("{name}: {count} Events {reason} {text:?}");
        let notes = poll::eventually(PATIENCE, &what, || async {
            let all = self.notes(name, reason).await?;
            let notes: Vec<_> = all.iter().filter(|note| note.contains(text)).cloned().collect();
            ensure!(notes.len() >= count, "there are {all:?}");
            Ok(notes)
        })
        .await?;
        ensure!(notes.len() == count, "{notes:?}");
        Ok(())
    }

    /// The notes of Events with this reason about an EventRecycler.
    async fn notes(&self, name: &str, reason: &str) -> Result<Vec<String>> {
        let events: Api<Event> = Api::all(self.client.clone());
        let all = events.list(&ListParams::default()).await?.items.into_iter();
        let about = all.filter(|event| {
            event.involved_object.name.as_deref() == Some(name)
                && event.reason.as_deref() == Some(reason)
        });
        Ok(about.filter_map(|event| event.message).collect())
    }

    /// Who holds the lease of the recycler.
    pub(crate) async fn leader(&self) -> Result<String> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), LEASE_NAMESPACE);
        let spec = leases.get(LEASE).await?.spec.context("a Lease has a spec")?;
        Ok(spec.holder_identity.unwrap_or_default())
    }
}

/// The message of Events that an EventRecycler of this name counts.
pub(crate) fn term(name: &str) -> String {
    format!("sandbox image of {name}")
}
