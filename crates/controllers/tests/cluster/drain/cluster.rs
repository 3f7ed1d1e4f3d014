//! One cluster for all tests, in which each has a namespace and nodes of its own.

use std::ops::Deref;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt};
use machinist_control_plane::ControlPlane;
use machinist_testbed::World;
use machinist_testbed::cluster;
use machinist_testbed::companions::Companions;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// With the controllers of Kubernetes and kwok.
pub(crate) async fn control_plane() -> &'static ControlPlane {
    static SHARED: OnceCell<(ControlPlane, Companions)> = OnceCell::const_new();
    let start = || async {
        let control_plane = cluster::control_plane().await?;
        let companions = Companions::start(&control_plane).await?;
        anyhow::Ok((control_plane, companions))
    };
    &SHARED.get_or_try_init(start).await.unwrap().0
}

/// A world in the shared cluster, and its pods.
pub(crate) struct DrainWorld(pub(crate) World);

impl Deref for DrainWorld {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

impl DrainWorld {
    pub(crate) async fn new(name: &str) -> Result<Self> {
        Ok(Self(World::new(&control_plane().await.kube_config(), name).await?))
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        self.api()
    }

    /// A name that no other test has.
    pub(crate) fn unique(&self, name: &str) -> String {
        format!("{name}-{}", self.namespace)
    }

    /// A node that is ready; its label `test` is the namespace.
    pub(crate) async fn node(&self, name: &str, role: Option<&str>) -> Result<Node> {
        let mut labels = json!({"test": &self.namespace});
        if let Some(role) = role {
            labels[format!("node-role.kubernetes.io/{role}")] = json!("");
        }
        let node = json!({"metadata": {"name": self.unique(name), "labels": labels}});
        let node: Node = serde_json::from_value(node)?;
        let name = self.nodes().create(&PostParams::default(), &node).await?.name_any();
        self.eventually("the node is ready", || async {
            let node = self.nodes().get(&name).await?;
            let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
            let ready =
                conditions.into_iter().flatten().any(|c| c.type_ == "Ready" && c.status == "True");
            ensure!(ready, "it is not");
            Ok(node)
        })
        .await
    }

    /// A pod that runs on the test's node `node`.
    pub(crate) async fn pod(&self, name: &str, node: &str, metadata: Value) -> Result<()> {
        self.pod_on(name, &self.unique(node), metadata).await
    }

    async fn pod_on(&self, name: &str, node: &str, metadata: Value) -> Result<()> {
        let mut pod = json!({
            "metadata": metadata,
            "spec": {"nodeName": node, "containers": [{"name": "main", "image": "none"}],
                "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 2},
        });
        pod["metadata"]["name"] = json!(name);
        let pod: Pod = serde_json::from_value(pod)?;
        // The service account of a new namespace takes a moment.
        self.eventually("the pod is created", || async {
            Ok(self.pods().create(&PostParams::default(), &pod).await.map(drop)?)
        })
        .await?;
        self.running(name).await
    }

    async fn running(&self, name: &str) -> Result<()> {
        self.eventually("the pod runs", || async {
            let pod = self.pods().get(name).await?;
            let phase = pod.status.and_then(|status| status.phase).unwrap_or_default();
            ensure!(phase == "Running", "it is {phase}");
            Ok(())
        })
        .await
    }

    /// A pod with the label that [`Self::budget`] protects.
    pub(crate) async fn protected_pod(&self, name: &str, node: &str) -> Result<()> {
        self.protected_pod_on(name, &self.unique(node)).await
    }

    /// The same on a node of whomever.
    pub(crate) async fn protected_pod_on(&self, name: &str, node: &str) -> Result<()> {
        self.pod_on(name, node, json!({"labels": {"app": "web"}})).await
    }

    /// A budget that wants one of its pods to be there, once the disruption controller has seen it.
    pub(crate) async fn budget(&self, name: &str) -> Result<()> {
        let budget = json!({"metadata": {"name": name}, "spec": {
            "minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
        let budget: PodDisruptionBudget = serde_json::from_value(budget)?;
        let budgets = self.api::<PodDisruptionBudget>();
        budgets.create(&PostParams::default(), &budget).await?;
        self.eventually("the budget has seen its pod", || async {
            let status = budgets.get(name).await?.status.context("no status")?;
            ensure!(
                status.current_healthy == Some(1) && status.disruptions_allowed == Some(0),
                "{status:?}"
            );
            Ok(())
        })
        .await
    }

    /// A DaemonSet on the nodes of this test; returns its pod on the only one of them.
    pub(crate) async fn daemon(&self, name: &str) -> Result<String> {
        let labels = json!({"daemon": name});
        let set = json!({"metadata": {"name": name}, "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {
                "nodeSelector": {"test": &self.namespace},
                "containers": [{"name": "main", "image": "none"}],
            }},
        }});
        let set: DaemonSet = serde_json::from_value(set)?;
        let sets = self.api::<DaemonSet>();
        sets.create(&PostParams::default(), &set).await?;
        let wanted = ListParams::default().labels(&format!("daemon={name}"));
        let pod = self.eventually("the daemon has a pod", || async {
            let pods = self.pods().list(&wanted).await?;
            Ok(pods.items.first().context("none")?.name_any())
        });
        let pod = pod.await?;
        self.running(&pod).await?;
        Ok(pod)
    }

    /// A volume that is attached to `node`.
    pub(crate) async fn attach(&self, volume: &str, node: &str) -> Result<String> {
        let attachment = json!({"metadata": {"name": self.unique(volume)}, "spec": {
            "attacher": "test.machinist.dev", "nodeName": self.unique(node),
            "source": {"persistentVolumeName": volume},
        }});
        let attachment: VolumeAttachment = serde_json::from_value(attachment)?;
        let attachments = Api::<VolumeAttachment>::all(self.client.clone());
        Ok(attachments.create(&PostParams::default(), &attachment).await?.name_any())
    }

    pub(crate) async fn detach(&self, attachment: &str) -> Result<()> {
        let attachments = Api::<VolumeAttachment>::all(self.client.clone());
        attachments.delete(attachment, &DeleteParams::default()).await?;
        Ok(())
    }

    /// The names of the pods that are there, in order.
    pub(crate) async fn pod_names(&self) -> Result<Vec<String>> {
        let pods = self.pods().list(&ListParams::default()).await?;
        Ok(pods.iter().map(ResourceExt::name_any).collect())
    }
}
