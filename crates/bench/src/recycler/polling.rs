//! As kaws does it without caches: list all Events, read the Pod and the Node of each that counts.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use machinist_api::resource::{CORE_EVENTS, NODES, PODS};
use serde::Deserialize;
use tokio::time::Instant;

use super::stage::{BAD, NAMESPACE, Stage};
use crate::raw::Outgoing;

#[derive(Debug, Clone, Copy)]
pub(super) struct Polling {
    pub(super) seconds: f64,
    pub(super) bytes: usize,
    /// What a watch brings instead.
    pub(super) bytes_of_one: usize,
}

#[derive(Deserialize)]
struct List {
    items: Vec<Event>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    involved_object: Involved,
    message: String,
}

#[derive(Deserialize)]
struct Involved {
    name: String,
}

#[derive(Deserialize)]
struct Pod {
    spec: PodSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    node_name: String,
}

pub(super) async fn measure(stage: &Stage) -> Result<Polling> {
    let setup = &stage.cluster.setup;
    let start = Instant::now();
    let answer = setup.send(Outgoing::get(CORE_EVENTS.collection_path(None))).await?;
    let list: List = serde_json::from_slice(&answer)?;
    let mut bytes = answer.len();
    let bytes_of_one = answer.len().checked_div(list.items.len()).context("there are no Events")?;
    // Each pod and each node is read once, as kaws does it in one evaluation.
    let counted = list.items.iter().filter(|event| event.message.contains(BAD));
    let pods: BTreeSet<_> = counted.map(|event| event.involved_object.name.as_str()).collect();
    let mut nodes = BTreeSet::new();
    for pod in pods {
        let answer = setup.send(Outgoing::get(PODS.object_path(NAMESPACE, pod))).await?;
        bytes += answer.len();
        let pod: Pod = serde_json::from_slice(&answer)?;
        nodes.insert(pod.spec.node_name);
    }
    for node in nodes {
        bytes += setup.send(Outgoing::get(NODES.object_path("", &node))).await?.len();
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("  polling {seconds:.2} s, {bytes} bytes");
    Ok(Polling { seconds, bytes, bytes_of_one })
}
