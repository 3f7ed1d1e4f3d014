//! Deletes the orphans that may be deleted, after a confirmation.
//!
//! Everything is listed and judged a second time after the confirmation, and Machines and Nodes are read once more
//! directly before each deletion; the provider reads the instance. What is kept by then is skipped. A deletion that was
//! interrupted is continued by the same command, because the instance is still listed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use machinist_controllers::orphans::{Listed, Rules, Survey, Verdict, View};
use machinist_provider::cloud::Deletion;
use serde::Serialize;
use tokio::time::Instant;

use super::arguments::OrphanArguments;
use super::connect::Connected;
use super::list::{Listing, ShownUnchecked, unchecked};
use super::{ensure_complete, judged, messages, print};
use crate::exit;
use crate::verbs::confirm::confirm;
use crate::verbs::table::table;

const POLL: Duration = Duration::from_secs(2);

/// What was done in JSON and YAML.
#[derive(Debug, Serialize)]
struct Outcome<'a> {
    cluster: &'a str,
    results: Vec<Done>,
    unchecked: Vec<ShownUnchecked<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    instance_id: String,
    result: &'static str,
    message: Option<String>,
    #[serde(skip)]
    why: Verdict,
}

const DELETED: &str = "Deleted";
const TERMINATING: &str = "Terminating";
const SKIPPED: &str = "Skipped";
const FAILED: &str = "Failed";

pub(super) async fn run(
    arguments: &OrphanArguments,
    connected: &Connected,
    survey: &Survey,
    verdicts: &[Verdict],
    now: Timestamp,
) -> anyhow::Result<()> {
    let judged = survey.instances.iter().zip(verdicts);
    let chosen: Vec<_> = judged.filter(|(_, verdict)| verdict.is_collectable()).collect();
    if !arguments.yes && !chosen.is_empty() {
        let table = Listing::of(survey, verdicts, false).table(now, false);
        let question = format!("{table}{}", messages::question(chosen.len()));
        confirm(&question, messages::NO_TERMINAL, messages::NOT_CONFIRMED)?;
    }
    let mut results = Vec::new();
    if !chosen.is_empty() {
        let deletion = Deletions::new(arguments, connected, survey).await?;
        for (orphan, verdict) in chosen {
            results.push(deletion.begin(orphan, verdict).await);
        }
        for done in &mut results {
            deletion.finish(done).await;
        }
    }
    let (cluster, unchecked) = (&*survey.view.cluster, unchecked(&survey.unchecked));
    let results = Outcome { cluster, results, unchecked };
    print(arguments.output, &results, |_| results.table())?;
    let all = results.results.len();
    let left = results.results.iter().filter(|done| !done.is_as_wanted(arguments)).count();
    if left > 0 {
        bail!(messages::not_deleted(left, all));
    }
    ensure_complete(survey)
}

/// The second look, which finds the same orphans again.
struct Deletions<'a> {
    connected: &'a Connected,
    again: Survey,
    first_seen: HashMap<Arc<str>, Timestamp>,
    deadline: Option<Instant>,
    grace: Duration,
}

impl<'a> Deletions<'a> {
    async fn new(
        arguments: &OrphanArguments,
        connected: &'a Connected,
        survey: &Survey,
    ) -> anyhow::Result<Self> {
        let again = connected.survey().await?;
        let ids = survey.instances.iter().map(|one| &one.owned.instance.provider_id);
        let first_seen = ids.map(|id| (Arc::clone(id), survey.view.as_of)).collect();
        let timeout = arguments.timeout;
        let deadline = (!timeout.is_zero()).then(|| Instant::now() + timeout);
        Ok(Self { connected, again, first_seen, deadline, grace: arguments.grace })
    }

    /// Reads Machines and Nodes, and deletes the instance if it still may be deleted.
    async fn begin(&self, orphan: &Listed, verdict: &Verdict) -> Done {
        let (survey, verdicts) = match self.look().await {
            Ok(found) => found,
            Err(error) => return Done::of(orphan, verdict, FAILED, Some(exit::text(&error))),
        };
        let mut judged = survey.instances.iter().zip(&verdicts);
        let id = &orphan.owned.instance.provider_id;
        match judged.find(|(one, _)| one.owned.instance.provider_id == *id) {
            None => Done::of(orphan, verdict, SKIPPED, Some(messages::NOT_LISTED.to_owned())),
            Some((listed, verdict)) if verdict.is_collectable() => {
                self.delete(listed, verdict).await
            }
            Some((_, verdict)) => Done::of(orphan, verdict, SKIPPED, Some(verdict.to_string())),
        }
    }

    /// The instances of the second list, judged by the Machines and Nodes of now.
    async fn look(&self) -> anyhow::Result<(Survey, Vec<Verdict>)> {
        let view = self.connected.finder.view().await.context(messages::CANNOT_READ)?;
        // Ages count from the list.
        let view = View { as_of: self.again.view.as_of, ..view };
        let instances = self.again.instances.clone();
        let survey = Survey { instances, unchecked: Vec::new(), view };
        let rules = Rules { grace: self.grace, seen_before: true };
        let verdicts = judged(&survey, |id| self.first_seen.get(id).copied(), rules);
        Ok((survey, verdicts))
    }

    async fn delete(&self, listed: &Listed, why: &Verdict) -> Done {
        match self.connected.finder.delete(listed, why, &self.connected.writer).await {
            Ok(Some(Deletion::Gone)) => Done::of(listed, why, DELETED, None),
            Ok(Some(Deletion::UnderWay(what))) => Done::of(listed, why, TERMINATING, Some(what)),
            // There is no dry run.
            Ok(None) => Done::of(listed, why, SKIPPED, None),
            Err(error) => Done::of(listed, why, FAILED, Some(error.to_string())),
        }
    }

    /// Waits until the instance is gone.
    async fn finish(&self, done: &mut Done) {
        let Some(deadline) = self.deadline else { return };
        while done.result == TERMINATING {
            if Instant::now() >= deadline {
                done.message = Some(messages::TIMED_OUT.to_owned());
                return;
            }
            tokio::time::sleep(POLL).await;
            let mut listed = self.again.instances.iter();
            let listed = listed.find(|one| *one.owned.instance.id == *done.instance_id);
            let Some(listed) = listed else { return };
            let next = self.delete(listed, &done.why).await;
            // A call that fails is repeated until the end.
            if next.result != FAILED {
                *done = next;
            }
        }
    }
}

impl Done {
    fn of(listed: &Listed, why: &Verdict, result: &'static str, message: Option<String>) -> Self {
        let instance_id = listed.owned.instance.id.to_string();
        Self { instance_id, result, message, why: why.clone() }
    }

    /// Whether the instance is gone, or goes and is not waited for.
    fn is_as_wanted(&self, arguments: &OrphanArguments) -> bool {
        self.result == DELETED || self.result == TERMINATING && arguments.timeout.is_zero()
    }
}

impl Outcome<'_> {
    fn table(&self) -> String {
        if self.results.is_empty() {
            return format!("{}\n", messages::nothing_to_delete(self.cluster));
        }
        let row = |done: &Done| {
            let message = done.message.clone().unwrap_or_else(|| "-".to_owned());
            vec![done.instance_id.clone(), done.result.to_owned(), message]
        };
        table(&["INSTANCE", "RESULT", "MESSAGE"], self.results.iter().map(row).collect())
    }
}
