//! Evictions, budgets, and live lists.

use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_api::resource::{CONFIG_MAPS, PODS};
use machinist_api::wire::MetadataOnly;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::retry::{Category, Classified};
use machinist_runtime::lease::Leadership;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::Writer;
use machinist_testbed::faults::Verb;
use serde_json::json;

use crate::world::ToyWorld;

/// Pods in a namespace of their own.
struct Pods {
    world: ToyWorld,
    api: Api<Pod>,
}

impl Pods {
    async fn new(name: &str) -> Self {
        let world = ToyWorld::new(name).await;
        let accounts: Api<ServiceAccount> = Api::namespaced(world.client.clone(), &world.namespace);
        let account =
            json!({"metadata": {"name": "default"}, "automountServiceAccountToken": false});
        let account = serde_json::from_value(account).unwrap();
        accounts.create(&PostParams::default(), &account).await.unwrap();
        let api = Api::namespaced(world.client.clone(), &world.namespace);
        Self { world, api }
    }

    /// A running pod.
    async fn running(&self, name: &str, node: &str) -> (ObjectKey, Uid) {
        let pod = json!({
            "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "none"}]},
        });
        let pod = serde_json::from_value(pod).unwrap();
        let pod = self.api.create(&PostParams::default(), &pod).await.unwrap();
        let status = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        let parameters = PatchParams::default();
        self.api.patch_status(name, &parameters, &Patch::Merge(status)).await.unwrap();
        (ObjectKey::new(self.world.namespace.as_str(), name), Uid(pod.uid().unwrap().into()))
    }

    /// A budget that allows so many evictions, as the disruption controller reports it.
    async fn allow(&self, disruptions: i32) {
        let budgets: Api<PodDisruptionBudget> =
            Api::namespaced(self.world.client.clone(), &self.world.namespace);
        if budgets.get_opt("web-budget").await.unwrap().is_none() {
            let budget = json!({
                "metadata": {"name": "web-budget"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
            });
            let budget = serde_json::from_value(budget).unwrap();
            budgets.create(&PostParams::default(), &budget).await.unwrap();
        }
        let status = json!({"status": {"observedGeneration": 1, "disruptionsAllowed": disruptions,
            "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}});
        let parameters = PatchParams::default();
        budgets.patch_status("web-budget", &parameters, &Patch::Merge(status)).await.unwrap();
    }

    async fn is_going(&self, name: &str) -> bool {
        self.api.get(name).await.unwrap().metadata.deletion_timestamp.is_some()
    }

    fn evictions(&self) -> usize {
        let entries = self.world.proxy.log().entries();
        let part = |entry: &&_| {
            let entry: &machinist_testbed::faults::LogEntry = entry;
            entry.request.subresource.as_deref() == Some("eviction")
        };
        entries.iter().filter(part).count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_eviction_names_the_budget() {
    let pods = Pods::new("evict").await;
    let manager = pods.world.manager(pods.world.options());
    let shared = manager.shared();
    let session = shared.control.session(UserAgent::of("machine"));
    let writer = Writer::new(shared.gateway.clone(), session, "test", Leadership::NotNeeded);
    let (pod, uid) = pods.running("web-0", "node-a").await;

    pods.allow(0).await;
    let error = writer.evict(&pod, &uid, None, false, &"drain").await.unwrap_err();
    assert_eq!(error.category(), Category::Throttled);
    let message = error.disruption_budget().unwrap();
    assert!(message.contains("web-budget"), "{message}");
    assert_eq!(pods.evictions(), 1, "no retries below the queue");
    assert!(!pods.is_going("web-0").await);

    // With the uid of a former pod of that name.
    pods.allow(1).await;
    let other = Uid("6b58c36a-3010-4b2b-a9da-1a0013b0beb0".into());
    assert_eq!(writer.evict(&pod, &other, None, false, &"drain").await.unwrap(), Some(()));
    assert_eq!(writer.evict(&pod, &other, Some(0), true, &"drain").await.unwrap(), Some(()));
    assert!(!pods.is_going("web-0").await);

    pods.allow(1).await;
    assert_eq!(writer.evict(&pod, &uid, Some(17), false, &"drain").await.unwrap(), Some(()));
    let going = pods.api.get("web-0").await.unwrap();
    assert_eq!(going.metadata.deletion_grace_period_seconds, Some(17));
    assert_eq!(writer.evict(&pod, &uid, Some(0), true, &"drain").await.unwrap(), Some(()));
    assert!(pods.api.get_opt("web-0").await.unwrap().is_none());
    // It is gone already.
    assert_eq!(writer.evict(&pod, &uid, None, false, &"drain").await.unwrap(), Some(()));
    let metrics = shared.metrics.encode(&[]).unwrap();
    let line = r#"machinist_writes_total{party="test",verb="evict",kind="Pod",result="budget"} 1"#;
    assert!(metrics.contains(line), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pods_of_one_node_are_listed_live() {
    let pods = Pods::new("listed").await;
    for (name, node) in [("a", "node-a"), ("b", "node-b"), ("c", "node-a")] {
        pods.running(name, node).await;
    }
    let manager = pods.world.manager(pods.world.options());
    let shared = manager.shared();
    let session = shared.control.session(UserAgent::of("machine"));
    let namespace = Some(pods.world.namespace.as_str());
    let listed = session.list_live::<MetadataOnly>(PODS, namespace, "spec.nodeName=node-a").await;
    let mut names: Vec<_> = listed.unwrap().into_iter().map(|pod| pod.metadata.name).collect();
    names.sort();
    assert_eq!(names, ["a", "c"]);
    assert!(shared.metrics.encode(&[]).unwrap().contains(r#"live_reads_total{kind="Pod"} 1"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_live_list_is_read_to_its_last_page() {
    let world = ToyWorld::new("pages").await;
    world.create_config_maps(401).await;
    let manager = world.manager(world.options());
    let session = manager.shared().control.session(UserAgent::of("machine"));
    let namespace = Some(world.namespace.as_str());
    let maps = session.list_live::<MetadataOnly>(CONFIG_MAPS, namespace, "").await.unwrap();
    assert_eq!(maps.len(), 401);
    let entries = world.proxy.log().entries();
    let pages = entries.iter().filter(|entry| entry.request.verb == Verb::List).count();
    assert!(pages > 1, "{pages}");
}
