use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt};
use http::Method;
use tokio::time::Instant;

use super::recording::{Chain, Recording, Step, UID, VERSION};
use super::sets::{self, Identity};
use super::stage::{Audit, Stage};
use crate::Options;
use crate::machinist::before_work;
use crate::raw::{Bare, MERGE_PATCH, Outgoing};

const PARTY: &str = "bench-raw";
/// Far more than it ever takes for the log to be complete.
const LOG: Duration = Duration::from_secs(60);

/// By `machines/<name>` and the like.
type Known = HashMap<String, Identity>;

/// Returns seconds by the API server's clock.
pub(super) async fn replay(
    recording: &Recording,
    sets: usize,
    per_set: usize,
    concurrency: usize,
    options: &Options,
) -> Result<f64> {
    let stage = Stage::start(Audit::Metadata).await?;
    sets::create_namespaces(&stage.cluster.setup, sets).await?;
    let created = sets::create(&stage.cluster.setup, sets, per_set).await?;
    let known: Known =
        created.into_iter().map(|(name, set)| (format!("machinesets/{name}"), set)).collect();
    let chains = (0..sets).flat_map(|number| {
        recording.chains.iter().map(move |chain| rename(chain, number)).collect::<Vec<_>>()
    });
    let chains: Vec<_> = chains.collect();
    let raw = Bare::new(stage.cluster.control_plane.kube_config(), PARTY)?;
    // The API server has had as long to come to rest as it has with machinist.
    tokio::time::sleep(before_work(options)).await;
    raw.warm_up(concurrency).await?;
    let mut window = stage.cluster.audit_window()?;
    let played = futures::stream::iter(chains).map(|chain| {
        let (raw, mut known) = (raw.clone(), only(&known, &chain));
        let playing = tokio::spawn(async move { play(&raw, &chain, &mut known).await });
        async move { playing.await? }
    });
    played.buffer_unordered(concurrency).try_collect::<()>().await?;
    let span = window.wait_until_quiet(PARTY, Instant::now() + LOG).await?;
    println!("  raw {:.2} s with {concurrency} at once", span.seconds());
    Ok(span.seconds())
}

fn only(known: &Known, chain: &Chain) -> Known {
    let about = chain.iter().filter_map(|step| known.get_key_value(&step.about));
    about.map(|(name, identity)| (name.clone(), identity.clone())).collect()
}

fn rename(chain: &Chain, number: usize) -> Chain {
    let step = |step: &Step| Step {
        path: sets::rename(&step.path, number),
        body: sets::rename(&step.body, number),
        about: sets::rename(&step.about, number),
        ..*step
    };
    chain.iter().map(step).collect()
}

async fn play(raw: &Bare, chain: &Chain, known: &mut Known) -> Result<()> {
    for step in chain {
        let answer = raw.send(request(step, known)?).await?;
        if step.answers {
            known.insert(step.about.clone(), Identity::read(&answer)?);
        }
    }
    Ok(())
}

fn request(step: &Step, known: &Known) -> Result<Outgoing> {
    let mut body = step.body.clone();
    if body.contains(UID) || body.contains(VERSION) {
        let about = || format!("{} is changed before it is there", step.about);
        let identity = known.get(&step.about).with_context(about)?;
        body = body.replace(UID, &identity.uid).replace(VERSION, &identity.resource_version);
    }
    let (method, content_type) = if step.creates {
        (Method::POST, "application/json")
    } else {
        (Method::PATCH, MERGE_PATCH)
    };
    Ok(Outgoing::new(method, step.path.clone(), content_type, body.into()))
}
