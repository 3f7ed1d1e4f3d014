//! Both times begin when the Event arrives at the API server, by its own log. The decision is made when the write that
//! tells of it arrives there; the bare watch is at its end when the line is read.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use http::Request;
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use machinist_api::resource::CORE_EVENTS;
use machinist_testbed::audit::AuditEntry;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::stage::{NAMESPACE, QUICK, SUDDEN, Stage, event};
use crate::audit_window::AuditWindow;
use crate::statistics::Samples;

const TIMES: usize = 20;
/// Longer than window and cool-down, so that each is decided about.
const BETWEEN: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(20);

/// In milliseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Latency {
    pub(super) decision: Samples,
    pub(super) watch: Samples,
}

pub(super) async fn measure(stage: &Stage) -> Result<Latency> {
    let mut latency = Latency::default();
    let mut lines = watch(stage).await?;
    // The first finds out in which group the instance is, and is not counted.
    for number in 0..=TIMES {
        let mut window = stage.cluster.audit_window()?;
        let name = format!("sudden-{number}");
        let message = format!("{SUDDEN} ({number})");
        stage.cluster.setup.send(event(0, &name, &message)).await?;
        let seen =
            tokio::time::timeout(PATIENCE, lines.recv()).await?.context("the watch ended")?;
        let (written, decided) = decision(&mut window, &name).await?;
        if number > 0 {
            latency.decision.push(milliseconds(written, decided));
            latency.watch.push(milliseconds(written, seen));
        }
        tokio::time::sleep(BETWEEN).await;
    }
    println!(
        "  decision {:.2} ms, watch {:.2} ms",
        latency.decision.median(),
        latency.watch.median()
    );
    Ok(latency)
}

fn milliseconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() * 1e3
}

/// When the Event arrived, and when the first write about the decision did.
async fn decision(window: &mut AuditWindow, event: &str) -> Result<(Timestamp, Timestamp)> {
    let limit = Instant::now() + PATIENCE;
    loop {
        window.refresh()?;
        let created = |entry: &&AuditEntry| {
            entry.resource == CORE_EVENTS.plural && entry.verb == "create" && entry.name == event
        };
        if let Some(created) = window.entries().iter().find(created).map(|entry| entry.received) {
            let reports = window.writes("machinist-recycler").filter(|entry| {
                entry.name == QUICK && entry.subresource == "status" && entry.received > created
            });
            if let Some(first) = reports.map(|entry| entry.received).min() {
                return Ok((created, first));
            }
        }
        ensure!(Instant::now() < limit, "nothing was decided about {event}");
        tokio::time::sleep(POLL).await;
    }
}

/// When each line came that tells of a sudden event.
async fn watch(stage: &Stage) -> Result<mpsc::UnboundedReceiver<Timestamp>> {
    let client = Client::try_from(stage.cluster.control_plane.kube_config())?;
    let path = CORE_EVENTS.collection_path(Some(NAMESPACE));
    let list =
        stage.cluster.setup.send(crate::raw::Outgoing::get(format!("{path}?limit=1"))).await?;
    let list: serde_json::Value = serde_json::from_slice(&list)?;
    let version = list["metadata"]["resourceVersion"].as_str().context("no version")?;
    let path = format!("{path}?watch=true&resourceVersion={version}");
    let request = Request::get(path).header(http::header::USER_AGENT, "bench-watch");
    let response = client.send(request.body(Body::empty())?).await?;
    if !response.status().is_success() {
        bail!("a watch was answered {}", response.status());
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut body = response.into_body();
        let mut line = Vec::new();
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(data) = frame.into_data() else { continue };
            for byte in data {
                line.push(byte);
                if byte == b'\n' {
                    let is_sudden = String::from_utf8_lossy(&line).contains(SUDDEN);
                    line.clear();
                    if is_sudden && sender.send(Timestamp::now()).is_err() {
                        return;
                    }
                }
            }
        }
    });
    Ok(receiver)
}
