//! The kubelets of an estate's instances. They never delete a Node, never register one twice, send no heartbeats and
//! run no pods.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Estate;
use super::estate::InstanceFacts;

const PAUSE: Duration = Duration::from_millis(400);

#[derive(Debug)]
pub struct Kubelets {
    _stop: DropGuard,
}

impl Kubelets {
    /// A Node registers `boot` after its instance was first seen running.
    pub fn start(estate: &Arc<Estate>, api_server: &kube::Config, boot: Duration) -> Result<Self> {
        let mut all = All {
            estate: Arc::clone(estate),
            client: Client::try_from(api_server.clone())?,
            boot,
            seen: HashMap::new(),
            registered: HashSet::new(),
            up_to: None,
        };
        let stop = CancellationToken::new();
        let work = async move {
            loop {
                let start = Instant::now();
                if let Err(error) = all.look().await {
                    tracing::debug!(%error, "the kubelets look again");
                }
                tokio::time::sleep(start.elapsed().max(PAUSE)).await;
            }
        };
        tokio::spawn(stop.clone().run_until_cancelled_owned(work));
        Ok(Self { _stop: stop.drop_guard() })
    }
}

struct All {
    estate: Arc<Estate>,
    client: Client,
    boot: Duration,
    seen: HashMap<String, Instant>,
    /// Nodes have the names of their instances.
    registered: HashSet<String>,
    /// Up to which change of AWS every instance that runs has its Node.
    up_to: Option<u64>,
}

impl All {
    async fn look(&mut self) -> Result<()> {
        // moto takes milliseconds to describe an instance, does one thing at a time, and others wait for it.
        let changes = self.estate.changes();
        if self.up_to != Some(changes) {
            self.up_to = self.register_booted().await?.then_some(changes);
        }
        self.end_pods().await
    }

    /// Whether no instance is left that will get a Node without a further change.
    async fn register_booted(&mut self) -> Result<bool> {
        let mut complete = true;
        for instance in self.estate.instances().await? {
            let runs = matches!(&*instance.state, "pending" | "running");
            if !runs || self.registered.contains(&instance.id) {
                continue;
            }
            if instance.state == "running" && self.has_booted(&instance.id) {
                self.register(&instance).await?;
            } else {
                complete = false;
            }
        }
        Ok(complete)
    }

    fn has_booted(&mut self, id: &str) -> bool {
        let start = self.seen.entry(id.to_owned()).or_insert_with(Instant::now);
        start.elapsed() >= self.boot
    }

    async fn register(&mut self, instance: &InstanceFacts) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        match nodes.create(&PostParams::default(), &node(instance)?).await {
            // The answer to an earlier try was lost.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            other => drop(other?),
        }
        self.registered.insert(instance.id.clone());
        Ok(())
    }

    /// A pod that is being deleted stays until its kubelet reports that it has ended.
    async fn end_pods(&self) -> Result<()> {
        if self.registered.is_empty() {
            return Ok(());
        }
        let pods: Api<Pod> = Api::all(self.client.clone());
        for pod in pods.list(&ListParams::default()).await? {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            let ours = node.is_some_and(|node| self.registered.contains(node));
            if ours && pod.metadata.deletion_timestamp.is_some() {
                let namespace = pod.namespace().unwrap_or_default();
                let pods: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
                let now = DeleteParams::default().grace_period(0);
                drop(pods.delete(&pod.name_any(), &now).await);
            }
        }
        Ok(())
    }
}

/// The whole Node, status included: a kubelet registers with both in one request.
fn node(instance: &InstanceFacts) -> Result<Node> {
    let InstanceFacts { id, zone, address, .. } = instance;
    let now = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second())?.to_string();
    Ok(serde_json::from_value(json!({
        "metadata": {
            "name": id,
            "labels": {"kubernetes.io/hostname": id, "topology.kubernetes.io/zone": zone},
        },
        "spec": {"providerID": format!("aws:///{zone}/{id}")},
        "status": {
            "addresses": [{"type": "InternalIP", "address": address}],
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "",
                "lastHeartbeatTime": now, "lastTransitionTime": now,
            }],
        },
    }))?)
}
