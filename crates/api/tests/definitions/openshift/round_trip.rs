//! What OpenShift's definitions accept, ours accept, and give back as it was. What they refuse, ours refuse.

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt};
use machinist_api::{machine, machine_set, wire};
use machinist_testbed::openshift::FeatureSet;
use serde_json::Value;

use crate::openshift::generator::Generator;
use crate::openshift::server::{Answer, KINDS, Server, Whose};

/// Objects of each kind and set.
const OBJECTS: u64 = 150;
const AT_ONCE: usize = 8;

/// What became of the objects of one kind and set.
#[derive(Debug, Default)]
struct Tally {
    specs: usize,
    statuses: usize,
    refused: usize,
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_default_set_accepts_survives_ours() -> Result<()> {
    everything_survives(FeatureSet::Default).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_set_with_all_gates_open_accepts_survives_ours() -> Result<()> {
    everything_survives(FeatureSet::CustomNoUpgrade).await
}

async fn everything_survives(set: FeatureSet) -> Result<()> {
    let server = Server::get().await?;
    for kind in KINDS {
        let schema = Whose::OpenShifts(set).schema(kind.0).await?;
        let tallies: Vec<Tally> = futures::stream::iter(0..OBJECTS)
            .map(|seed| {
                let (server, schema) = (&server, &schema);
                async move {
                    let one = survives(server, set, kind, schema, seed).await;
                    one.with_context(|| format!("{} of {set:?}, seed {seed}", kind.1))
                }
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        let sum = |part: fn(&Tally) -> usize| tallies.iter().map(part).sum::<usize>();
        let (specs, statuses, refused) =
            (sum(|it| it.specs), sum(|it| it.statuses), sum(|it| it.refused));
        println!(
            "{} of {set:?}: {specs} specs and {statuses} statuses survive, both refuse {refused}",
            kind.1
        );
        // Else the objects are too tame, or too wild, to say anything.
        let all = usize::try_from(OBJECTS)?;
        ensure!(specs * 2 > all && statuses * 2 > all, "most objects should be accepted");
        ensure!(refused > 0, "some objects should be refused");
    }
    Ok(())
}

async fn survives(
    server: &Server,
    set: FeatureSet,
    kind: (&str, &str),
    schema: &Value,
    seed: u64,
) -> Result<Tally> {
    let theirs = Whose::OpenShifts(set);
    let name = format!("{set:?}-{seed}").to_lowercase();
    let mut generator = Generator::new(seed);
    let spec = generator.value(&schema["properties"]["spec"]);
    let status = generator.value(&schema["properties"]["status"]);
    let mut tally = Tally::default();

    // As the user wrote it, before defaults come in and unknown fields go.
    let asked = server.create(Whose::Ours, kind, (&name, "?dryRun=All"), Some(&spec)).await?;
    let created = server.create(theirs, kind, (&name, ""), Some(&spec)).await?;
    ensure!(asked.is_accepted() == created.is_accepted(), "{spec}\n{created:?}\nours: {asked:?}");
    let Answer::Accepted(stored) = created else {
        tally.refused += 1;
        return Ok(tally);
    };
    let ours = server.create(Whose::Ours, kind, (&name, ""), stored.get("spec")).await?.object()?;
    ensure!(ours.get("spec") == stored.get("spec"), "{}\nbecame\n{}", stored["spec"], ours["spec"]);
    tally.specs += 1;

    let updated = server.set_status(theirs, kind, &stored, &status).await?;
    let asked = server.set_status(Whose::Ours, kind, &ours, &status).await?;
    ensure!(asked.is_accepted() == updated.is_accepted(), "{status}\n{updated:?}\nours: {asked:?}");
    let (Answer::Accepted(stored), Answer::Accepted(ours)) = (updated, asked) else {
        tally.refused += 1;
        can_be_read(kind.1, &ours)?;
        return Ok(tally);
    };
    ensure!(
        ours.get("status") == stored.get("status"),
        "{} became {}",
        stored["status"],
        ours["status"]
    );
    tally.statuses += 1;
    can_be_read(kind.1, &ours)?;
    Ok(tally)
}

/// What the API server accepted, our types read, and the full ones lose nothing.
fn can_be_read(kind: &str, object: &Value) -> Result<()> {
    let again = if kind == "Machine" {
        let wire: wire::Machine = serde_json::from_value(object.clone())?;
        ensure!(wire.metadata.name == object["metadata"]["name"]);
        serde_json::to_value(serde_json::from_value::<machine::Machine>(object.clone())?)?
    } else {
        let wire: wire::MachineSet = serde_json::from_value(object.clone())?;
        ensure!(wire.metadata.name == object["metadata"]["name"]);
        serde_json::to_value(serde_json::from_value::<machine_set::MachineSet>(object.clone())?)?
    };
    for part in ["spec", "status"] {
        ensure!(again.get(part) == object.get(part), "{object} was read as {again}");
    }
    Ok(())
}
