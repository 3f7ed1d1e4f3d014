use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt};
use http::Method;
use tokio::time::Instant;

use super::recording::{Chain, Recording, Step, UID, VERSION};
use super::sets::{self, Identity, Owner};
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
    owner: Owner,
    (sets, per_set): (usize, usize),
    concurrency: usize,
    options: &Options,
) -> Result<f64> {
    let stage = Stage::start(Audit::Metadata).await?;
    sets::create_namespaces(&stage.cluster.setup, sets).await?;
    let created = owner.create(&stage.cluster.setup, sets, per_set).await?;
    let plural = owner.resource().plural;
    let mut known: Known =
        created.into_iter().map(|(name, set)| (format!("{plural}/{name}"), set)).collect();
    let raw = Bare::new(stage.cluster.control_plane.kube_config(), PARTY)?;
    // The API server has had as long to come to rest as it has with machinist.
    tokio::time::sleep(before_work(options)).await;
    raw.warm_up(concurrency).await?;
    known.extend(play_all(&raw, renamed(&recording.before, sets), &known, concurrency).await?);
    let mut window = stage.cluster.audit_window()?;
    play_all(&raw, renamed(&recording.chains, sets), &known, concurrency).await?;
    let span = window.wait_until_quiet(PARTY, Instant::now() + LOG).await?;
    println!("  raw {:.2} s with {concurrency} at once", span.seconds());
    Ok(span.seconds())
}

fn renamed(chains: &[Chain], sets: usize) -> Vec<Chain> {
    let of = |number| chains.iter().map(move |chain| rename(chain, number));
    (0..sets).flat_map(of).collect()
}

/// Returns what has become known of their objects.
async fn play_all(
    raw: &Bare,
    chains: Vec<Chain>,
    known: &Known,
    concurrency: usize,
) -> Result<Known> {
    let played = futures::stream::iter(chains).map(|chain| {
        let (raw, mut known) = (raw.clone(), only(known, &chain));
        let playing = tokio::spawn(async move {
            play(&raw, &chain, &mut known).await?;
            anyhow::Ok(known)
        });
        async move { playing.await? }
    });
    let known: Vec<Known> = played.buffer_unordered(concurrency).try_collect().await?;
    Ok(known.into_iter().flatten().collect())
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
        method: step.method.clone(),
        answers: step.answers,
    };
    chain.iter().map(step).collect()
}

async fn play(raw: &Bare, chain: &Chain, known: &mut Known) -> Result<()> {
    for step in chain {
        let answer = raw.send(request(step, known)?).await?;
        if step.method == Method::DELETE {
            // A status, if the object is gone by that.
            known.extend(Identity::read(&answer).ok().map(|left| (step.about.clone(), left)));
        } else if step.answers {
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
    let content_type = if step.method == Method::PATCH { MERGE_PATCH } else { "application/json" };
    Ok(Outgoing::new(step.method.clone(), step.path.clone(), content_type, body.into()))
}
