//! Lets a story happen to a fleet, and looks at what came of it.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::{DeleteParams, DynamicObject};
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::poll::eventually;
use machinist_testbed::world::reading::{condition, is_alive, line};
use serde_json::json;

use super::story::{Step, Story, Weather};
use super::witness::Witness;
use crate::definitions::Served;
use crate::fleet::fixture::{Fleet, PATIENCE};
use crate::process::Process;

/// How many more machines are wanted while the cloud refuses.
const MORE: usize = 2;

/// The whole story, and a good end.
pub(super) async fn live_through(story: &Story, served: Served) -> Result<()> {
    let fleet = Fleet::new(&format!("story-{}", story.seed), served).await?;
    let witness = Witness::new(fleet.machines());
    let process = fleet.run()?;
    fleet.create_workers(0, json!({})).await?;
    let mut tale = Tale { fleet, witness, process: Some(process) };
    let result = tale.run(story).await;
    let wrongs = tale.witness.wrongs();
    ensure!(wrongs.is_empty(), "{wrongs:#?}\nand besides: {result:?}\n{}", tale.last_writes());
    result.with_context(|| tale.last_writes())?;
    println!(
        "seed {} on {served:?}: {} instances in all",
        story.seed,
        tale.fleet.cloud().created()
    );
    Ok(())
}

struct Tale {
    fleet: Fleet,
    witness: Witness,
    process: Option<Process>,
}

impl Tale {
    async fn run(&mut self, story: &Story) -> Result<()> {
        for step in &story.steps {
            self.happen(*step).await.with_context(|| format!("at {step:?}"))?;
            self.no_machine_has_two_instances()?;
        }
        self.calm();
        self.refusals_are_reported(story.refusal).await?;
        self.fleet.cloud().set_modes(Weather::Fine.modes());
        self.ends_with(story.end).await?;
        self.ends_with(0).await
    }

    async fn happen(&mut self, step: Step) -> Result<()> {
        let proxy = &self.fleet.proxy;
        match step {
            Step::Scale(size) => self.scale(size).await?,
            Step::Delete(place) => self.delete(place).await?,
            Step::Crash => {
                if let Some(process) = self.process.take() {
                    process.kill().await?;
                }
                self.process = Some(self.fleet.run()?);
            }
            Step::LateWatches(late) => {
                let watches = Match::any().verbs([Verb::Watch]);
                proxy.add_rule(Rule::new(watches, Effect::DelayEvents(late)));
                // It is the next watch that is late.
                proxy.cut_connections();
            }
            Step::CutConnections => proxy.cut_connections(),
            Step::LoseAnswers { after, times } => {
                let rule = Rule::new(Match::writes(), Effect::LoseAnswer);
                proxy.add_rule(rule.skip(after).times(times));
            }
            Step::Refuse { code, after, times } => {
                // The words of the cloud are not checked.
                let writes = Match::writes().that(|request| request.group != "sim");
                proxy.add_rule(Rule::new(writes, Effect::answer(code)).skip(after).times(times));
            }
            Step::Cloud(weather) => self.fleet.cloud().set_modes(weather.modes()),
            Step::Pause(time) => tokio::time::sleep(time).await,
        }
        Ok(())
    }

    async fn scale(&self, size: usize) -> Result<()> {
        self.witness.wants(size);
        self.fleet.scale_workers(size).await
    }

    /// Deletes one of the machines that exist.
    async fn delete(&self, place: usize) -> Result<()> {
        let mut alive = self.fleet.all_machines().await?;
        alive.retain(is_alive);
        let Some(victim) = alive.get(place % alive.len().max(1)) else { return Ok(()) };
        self.witness.deletes();
        match self.fleet.machines().delete(&victim.name_any(), &DeleteParams::default()).await {
            // It was deleted already.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(()),
        }
    }

    /// Every request arrives and is answered from now on, and watches are in time.
    fn calm(&self) {
        self.fleet.proxy.clear_rules();
        self.fleet.proxy.cut_connections();
        self.fleet.cloud().set_modes(Weather::Fine.modes());
    }

    /// More machines are wanted than the cloud gives: the reason is in the status of each, and in an Event.
    async fn refusals_are_reported(&self, refusal: Weather) -> Result<()> {
        let settled = self.fleet.sets().get(crate::fleet::fixture::SET).await?;
        let size = settled.data["spec"]["replicas"].as_u64().context("a size")?;
        let size = usize::try_from(size)?;
        let before = self.fleet.until_settled(size).await.context("when all was well again")?;
        let before: Vec<_> = before.iter().map(ResourceExt::name_any).collect();
        self.fleet.cloud().set_modes(refusal.modes());
        self.scale(size + MORE).await?;
        let wanted = format!("False/{}", refusal.reason());
        let waiting = eventually(PATIENCE, &format!("{MORE} machines say {wanted}"), || async {
            let all = self.fleet.all_machines().await?;
            // A former one may read the state of its instance at this time, and reports that it cannot.
            let is_new = |one: &DynamicObject| !before.contains(&one.name_any());
            let waiting: Vec<DynamicObject> = all.into_iter().filter(is_new).collect();
            let lines: Vec<_> = waiting.iter().map(line).collect();
            let all_wait = waiting.iter().all(|one| condition(one, "Ready") == wanted);
            ensure!(all_wait && waiting.len() == MORE, "{lines:#?}");
            Ok(waiting)
        })
        .await?;
        eventually(PATIENCE, "an Event about one of them", || async {
            let events = self.fleet.events().await?;
            let reported = events.iter().any(|event| {
                event.kind == "Warning" && waiting.iter().any(|one| one.name_any() == event.about)
            });
            ensure!(reported, "{events:#?}");
            Ok(())
        })
        .await
    }

    async fn ends_with(&self, size: usize) -> Result<()> {
        self.scale(size).await?;
        self.fleet.until_settled(size).await?;
        self.no_machine_has_two_instances()
    }

    /// Not even one after the other: no instance died here.
    fn no_machine_has_two_instances(&self) -> Result<()> {
        let mut uids = std::collections::BTreeSet::new();
        for instance in self.fleet.cloud().instances() {
            let uid = instance.tags.get(machinist_api::names::TAG_MACHINE_UID);
            let uid = uid.with_context(|| format!("{} has no owner", instance.id))?.clone();
            ensure!(uids.insert(uid), "{} is the second instance of its machine", instance.id);
        }
        Ok(())
    }

    fn last_writes(&self) -> String {
        let writes = self.fleet.proxy.log().matching(&Match::writes().except("leases"));
        let last = &writes[writes.len().saturating_sub(60)..];
        let lines: Vec<_> = last.iter().map(ToString::to_string).collect();
        format!("the last writes:\n{}", lines.join("\n"))
    }
}
