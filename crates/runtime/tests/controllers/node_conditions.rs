//! One condition of a Node is set without overwriting concurrent changes.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node as FullNode;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_api::wire::Node;
use machinist_domain::conditions::Condition;
use machinist_runtime::lease::Leadership;
use machinist_runtime::manager::Options;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::{Writer, Written};
use serde_json::{Value, json};

use crate::world::ToyWorld;

struct Desk {
    world: ToyWorld,
    nodes: Api<FullNode>,
    name: String,
}

impl Desk {
    /// A Node with two conditions of the kubelet.
    async fn new(name: &str) -> Self {
        let world = ToyWorld::new(name).await;
        let nodes = Api::all(world.client.clone());
        let name = world.namespace.clone();
        let desk = Self { world, nodes, name };
        desk.register().await;
        desk
    }

    async fn register(&self) {
        let node = serde_json::from_value(json!({"metadata": {"name": self.name}})).unwrap();
        self.nodes.create(&PostParams::default(), &node).await.unwrap();
        self.set_condition("Ready", "True").await;
        self.set_condition("MemoryPressure", "False").await;
    }

    /// Another client sets a condition.
    async fn set_condition(&self, kind: &str, status: &str) {
        let condition = json!({"type": kind, "status": status, "reason": "Other",
            "message": "said so", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
        self.nodes.patch_status(&self.name, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn node(&self) -> Node {
        let node = self.nodes.get(&self.name).await.unwrap();
        serde_json::from_value(serde_json::to_value(node).unwrap()).unwrap()
    }

    async fn conditions(&self) -> Vec<Value> {
        let node = self.nodes.get(&self.name).await.unwrap();
        let conditions = node.status.unwrap().conditions.unwrap();
        conditions.iter().map(|one| serde_json::to_value(one).unwrap()).collect()
    }

    fn writer(&self, options: Options) -> Writer {
        let manager = self.world.manager(options);
        let shared = manager.shared();
        let session = shared.control.session(UserAgent::of("termination-handler"));
        Writer::new(shared.gateway.clone(), session, "test", Leadership::NotNeeded)
    }
}

fn terminating() -> Condition {
    Condition::yes("Terminating").because("TerminationRequested", "soon")
}

fn now() -> Timestamp {
    "2026-02-03T04:05:06Z".parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_condition_is_set_and_the_others_stay() {
    let desk = Desk::new("node-condition").await;
    let writer = desk.writer(desk.world.options());
    let before = desk.conditions().await;
    assert_eq!(before.len(), 2);

    let dry_run = desk.writer(Options { dry_run: true, ..desk.world.options() });
    let node = desk.node().await;
    let left_out = dry_run.set_node_condition(&node, &terminating(), now(), &"test").await;
    assert_eq!(left_out.unwrap(), Written::LeftOut);
    assert_eq!(desk.conditions().await, before);

    let done = writer.set_node_condition(&node, &terminating(), now(), &"test").await;
    assert_eq!(done.unwrap(), Written::Done);
    let mut after = desk.conditions().await;
    let ours = after.iter().position(|one| one["type"] == "Terminating").unwrap();
    let time = "2026-02-03T04:05:06Z";
    assert_eq!(
        after.remove(ours),
        json!({"type": "Terminating", "status": "True", "reason": "TerminationRequested",
            "message": "soon", "lastTransitionTime": time, "lastHeartbeatTime": time})
    );
    assert_eq!(after, before);

    let node = desk.node().await;
    let again = writer.set_node_condition(&node, &terminating(), Timestamp::MAX, &"test").await;
    assert_eq!(again.unwrap(), Written::Nothing);
    assert_eq!(desk.node().await.metadata.resource_version, node.metadata.resource_version);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_change_is_a_conflict_and_stays() {
    let desk = Desk::new("node-conflict").await;
    let writer = desk.writer(desk.world.options());
    let stale = desk.node().await;
    desk.set_condition("Terminating", "True").await;
    let error = writer.set_node_condition(&stale, &terminating(), now(), &"test").await;
    assert!(error.unwrap_err().conflict());
    let kept = desk.conditions().await;
    let kept = kept.iter().find(|one| one["type"] == "Terminating").unwrap();
    assert_eq!(kept["reason"], "Other");

    // False is not True, so it is written.
    desk.set_condition("Terminating", "False").await;
    let node = desk.node().await;
    let done = writer.set_node_condition(&node, &terminating(), now(), &"test").await;
    assert_eq!(done.unwrap(), Written::Done);
    let written = desk.conditions().await;
    let written = written.iter().find(|one| one["type"] == "Terminating").unwrap();
    assert_eq!((&written["status"], &written["message"]), (&json!("True"), &json!("soon")));
}

#[tokio::test(flavor = "multi_thread")]
async fn recreated_node_is_not_changed() {
    let desk = Desk::new("node-replaced").await;
    let writer = desk.writer(desk.world.options());
    let gone = desk.node().await;
    desk.nodes.delete(&desk.name, &DeleteParams::default()).await.unwrap();
    let error = writer.set_node_condition(&gone, &terminating(), now(), &"test").await;
    assert!(error.unwrap_err().not_found());
    desk.register().await;
    let error = writer.set_node_condition(&gone, &terminating(), now(), &"test").await;
    assert!(error.is_err());
    let successor = desk.nodes.get(&desk.name).await.unwrap();
    assert_ne!(successor.uid(), Some(gone.metadata.uid));
    assert_eq!(desk.conditions().await.len(), 2);
}
