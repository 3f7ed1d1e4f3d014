//! Pods on the Nodes of simulated instances. They run without containers, and end when they are evicted or deleted, or
//! when their instance is gone, as kubelets and the pod garbage collector see to it in a real cluster.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::server::SimCloud;
use crate::wire::State;

/// Between two looks: the moment that a pod takes to end.
const PERIOD: Duration = Duration::from_millis(500);

pub(super) struct Pods {
    client: Client,
    cloud: SimCloud,
}

/// What is to be done for a pod.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    Run,
    End,
}

impl Pods {
    pub(super) fn new(client: Client, cloud: SimCloud) -> Self {
        Self { client, cloud }
    }

    pub(super) async fn run(self) {
        loop {
            tokio::time::sleep(PERIOD).await;
            // From the API server's cache; the API server may be unavailable.
            let all = Api::<Pod>::all(self.client.clone());
            match all.list(&ListParams::default().match_any()).await {
                Ok(pods) => self.advance(&pods.items).await,
                Err(error) => tracing::debug!(%error, "the kubelets cannot list pods"),
            }
        }
    }

    async fn advance(&self, pods: &[Pod]) {
        for pod in pods {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            // Other Nodes have kubelets of their own.
            let Some(instance) = node.and_then(|node| self.cloud.instance(node)) else { continue };
            let Err(error) = self.take(step(pod, instance.state), pod).await else { continue };
            tracing::debug!(%error, pod = pod.name_any(), "the kubelet retries");
        }
    }

    async fn take(&self, step: Step, pod: &Pod) -> Result<(), kube::Error> {
        let namespace = pod.namespace().unwrap_or_default();
        let (pods, name) =
            (Api::<Pod>::namespaced(self.client.clone(), &namespace), pod.name_any());
        match step {
            Step::Nothing => Ok(()),
            Step::Run => {
                let status = Patch::Strategic(running(pod, jiff::Timestamp::now()));
                pods.patch_status(&name, &PatchParams::default(), &status).await.map(drop)
            }
            Step::End => {
                let uid = Preconditions { uid: pod.uid(), resource_version: None };
                let now = DeleteParams::default().grace_period(0).preconditions(uid);
                pods.delete(&name, &now).await.map(drop)
            }
        }
    }
}

fn step(pod: &Pod, instance: State) -> Step {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    match instance {
        State::Terminated => Step::End,
        _ if pod.metadata.deletion_timestamp.is_some() => Step::End,
        State::Running if phase == Some("Pending") => Step::Run,
        _ => Step::Nothing,
    }
}

fn running(pod: &Pod, now: jiff::Timestamp) -> Value {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let statuses: Vec<_> = containers
        .map(|container| {
            json!({
                "name": container.name, "image": container.image, "imageID": "", "ready": true,
                "restartCount": 0, "state": {"running": {"startedAt": now}},
            })
        })
        .collect();
    json!({"status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}],
        "containerStatuses": statuses,
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(phase: &str, deleted: bool) -> Pod {
        let deleted = deleted.then_some("2026-01-01T00:00:00Z");
        serde_json::from_value(json!({
            "metadata": {"name": "a", "deletionTimestamp": deleted},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": phase},
        }))
        .unwrap()
    }

    #[test]
    fn pods_run_with_their_instance_and_end_when_they_are_deleted() {
        assert_eq!(step(&pod("Pending", false), State::Running), Step::Run);
        assert_eq!(step(&pod("Pending", false), State::Pending), Step::Nothing);
        assert_eq!(step(&pod("Running", false), State::Running), Step::Nothing);
        assert_eq!(step(&pod("Running", true), State::Running), Step::End);
        assert_eq!(step(&pod("Pending", true), State::Running), Step::End);
        assert_eq!(step(&pod("Running", false), State::Terminated), Step::End);
    }

    #[test]
    fn a_running_pod_is_ready_with_all_its_containers() {
        let status = running(&pod("Pending", false), jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(status["status"]["containerStatuses"][0]["name"], "c");
        assert_eq!(status["status"]["conditions"][0]["status"], "True");
    }
}
