use anyhow::{Context, Result};
use jiff::Timestamp;
use machinist_api::resource::{CORE_EVENTS, EVENT_RECYCLERS, NODES, PODS};
use machinist_testbed::aws::{AwsBed, Estate};
use serde_json::{Value, json};

use crate::Options;
use crate::bed::{self, Cluster};
use crate::machinist::{Program, Role};
use crate::raw::Outgoing;

const REGION: &str = "eu-west-1";
pub(super) const NAMESPACE: &str = "bench";
const NODE_COUNT: usize = 500;
const POD_COUNT: usize = 5000;
const GROUPS: usize = 5;
const MEMBERS: u32 = 10;
const CONCURRENCY: usize = 32;
/// One event of so many counts.
pub(super) const ONE_OF: usize = 10;
/// Of Events that count.
pub(super) const BAD: &str = "failed to get sandbox image";
/// Of Events that [`QUICK`] counts.
pub(super) const SUDDEN: &str = "runtime is not responding";
/// Counts and never has enough.
pub(super) const PATIENT: &str = "patient";
/// Decides at the first event.
pub(super) const QUICK: &str = "quick";

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) cluster: Cluster,
    cloud: AwsBed,
    instances: Vec<String>,
}

impl Stage {
    pub(super) async fn start() -> Result<Self> {
        let cluster = Cluster::start().await?;
        let cloud = AwsBed::start().await?;
        let estate = Estate::found(cloud.moto(), REGION, "bench").await?;
        let mut instances = Vec::new();
        for number in 0..GROUPS {
            let sizes = [0, 2 * MEMBERS, MEMBERS];
            instances.extend(estate.create_group(&format!("group-{number}"), sizes, &[]).await?);
        }
        cluster.setup.create_namespace(NAMESPACE).await?;
        Ok(Self { cluster, cloud, instances })
    }

    pub(super) fn program(&self, options: &Options, flags: &[&str]) -> Result<Program> {
        let usual = ["--controllers=recycler", "--leader-elect=false"];
        let role = Role {
            flags: usual.iter().chain(flags).map(|flag| (*flag).to_owned()).collect(),
            environment: vec![
                ("KUBECONFIG", self.cluster.kubeconfig()),
                ("AWS_ENDPOINT_URL", self.cloud.endpoint_url()),
                ("AWS_REGION", REGION.to_owned()),
                ("AWS_ACCESS_KEY_ID", "AKIABENCH".to_owned()),
                ("AWS_SECRET_ACCESS_KEY", "bench".to_owned()),
            ],
        };
        Program::find(role, options, bed::output_folder()?.join("recycler.log"))
    }

    pub(super) async fn furnish(&self) -> Result<()> {
        let mut requests = Vec::new();
        for number in 0..NODE_COUNT {
            let instance =
                self.instances.get(number % self.instances.len()).context("no instances")?;
            let body = json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": node(number), "labels": {"kubernetes.io/os": "linux"}},
                "spec": {"providerID": format!("aws:///{REGION}a/{instance}")},
            });
            requests.push(Outgoing::create(NODES.collection_path(None), &body));
        }
        for number in 0..POD_COUNT {
            let body = json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": pod(number), "labels": {"app": "bench"}},
                "spec": {
                    "nodeName": node(number), "automountServiceAccountToken": false,
                    "containers": [{"name": "c", "image": "registry.example.com/team/service:1.2.3"}],
                },
            });
            requests.push(Outgoing::create(PODS.collection_path(Some(NAMESPACE)), &body));
        }
        let patient = json!({
            "searchTerms": [BAD], "threshold": 1_000_000_000, "window": "1h", "countBy": "Events",
            "maxPerObject": 1_000_000,
        });
        let quick = json!({
            "searchTerms": [SUDDEN], "threshold": 1, "window": "2s", "coolDown": "1s", "dryRun": true,
            "countBy": "Events",
        });
        for (name, spec) in [(PATIENT, patient), (QUICK, quick)] {
            let body = json!({
                "apiVersion": EVENT_RECYCLERS.api_version(), "kind": EVENT_RECYCLERS.kind,
                "metadata": {"name": name}, "spec": spec,
            });
            requests.push(Outgoing::create(EVENT_RECYCLERS.collection_path(None), &body));
        }
        self.cluster.setup.send_all(requests, CONCURRENCY).await?;
        Ok(())
    }

    pub(super) async fn happen(&self, count: usize) -> Result<()> {
        let message = |number: usize| match number % ONE_OF {
            0 => format!("{BAD} \"registry.example.com/pause:3.9\" of {}: rpc error", pod(number)),
            _ => format!("Back-off restarting failed container service in pod {}", pod(number)),
        };
        let requests =
            (0..count).map(|number| event(number, &format!("event-{number}"), &message(number)));
        self.cluster.setup.send_all(requests.collect(), CONCURRENCY).await?;
        Ok(())
    }

    pub(super) async fn counted(&self) -> Result<i64> {
        let path = EVENT_RECYCLERS.object_path("", PATIENT);
        let object: Value =
            serde_json::from_slice(&self.cluster.setup.send(Outgoing::get(path)).await?)?;
        let counts = object["status"]["eventCounts"].as_object();
        Ok(counts.into_iter().flat_map(|counts| counts.values()).filter_map(Value::as_i64).sum())
    }
}

/// As a kubelet writes it.
pub(super) fn event(number: usize, name: &str, message: &str) -> Outgoing {
    let now = Timestamp::now().as_second();
    let now = Timestamp::from_second(now).unwrap_or_default().to_string();
    let body = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "namespace": NAMESPACE, "name": pod(number),
            "fieldPath": "spec.containers{service}",
        },
        "reason": "Failed", "message": message, "type": "Warning", "count": 1,
        "firstTimestamp": now, "lastTimestamp": now,
        "source": {"component": "kubelet", "host": node(number)},
        "reportingComponent": "kubelet", "reportingInstance": node(number),
    });
    Outgoing::create(CORE_EVENTS.collection_path(Some(NAMESPACE)), &body)
}

pub(super) fn node(number: usize) -> String {
    format!("ip-10-0-{}-{}.internal", number % NODE_COUNT / 250, number % NODE_COUNT % 250)
}

pub(super) fn pod(number: usize) -> String {
    format!("service-6d4cf56db6-{:05}", number % POD_COUNT)
}
