//! `machinist rollout`: state, history and control of a MachineDeployment's rollout, as `kubectl rollout` for
//! Deployments.
//!
//! `status`, `undo` and `history` decide and are pure, `cluster` reads and writes, `progress` draws.
//! The rights that each needs are in `docs/concepts/machine-deployments.md`. Exit codes: 0 complete or done; 1 failed,
//! refused or timed out; 2 usage error.

pub mod arguments;
mod cluster;
mod history;
mod messages;
mod progress;
mod status;
mod undo;

use std::time::Duration;

use anyhow::{anyhow, bail};
use jiff::Timestamp;
use machinist_api::names::ANNOTATION_RESTARTED_AT;
use machinist_controllers::kinds::MachineDeployment;
use machinist_controllers::machine_deployment::revision::rollback;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::arguments::{
    Deployment, DryRun, HistoryArguments, RolloutArguments, RolloutCommand, StatusArguments,
    UndoArguments,
};
use self::cluster::{Decision, Target};
use self::history::Shown;
use self::progress::Progress;
use self::status::{State, Status, assess};
use super::output::show;
use crate::cli::Logging;
use crate::logging;
use crate::terminal::{self, Printable};

/// A refusal may be about the spec before the one that is waited for. So long, the controller needs to see the new one.
const REFUSED_FOR: Duration = Duration::from_secs(10);

pub(crate) fn main(arguments: &RolloutArguments, log: Logging) -> anyhow::Result<()> {
    // These verbs print their results themselves.
    logging::start(log, "error");
    super::block_on(tokio::runtime::Builder::new_current_thread(), run(arguments))
}

pub(crate) async fn run(arguments: &RolloutArguments) -> anyhow::Result<()> {
    match &arguments.command {
        RolloutCommand::Status(status) => self::status(arguments, status).await,
        RolloutCommand::History(history) => self::history(arguments, history).await,
        RolloutCommand::Undo(undo) => self::undo(arguments, undo).await,
        RolloutCommand::Pause(Deployment { name }) => {
            switch(arguments, name, |web| set_paused(web, name, true)).await
        }
        RolloutCommand::Resume(Deployment { name }) => resume(arguments, name).await,
        RolloutCommand::Restart(Deployment { name }) => {
            switch(arguments, name, |web| restart(web, name)).await
        }
    }
}

async fn status(common: &RolloutArguments, arguments: &StatusArguments) -> anyhow::Result<()> {
    let name = &arguments.deployment.name;
    let revision = Some(arguments.revision).filter(|number| *number > 0);
    let target = Target::new(common, name).await?;
    if !arguments.watch {
        let status = assess(&*target.read().await?, revision);
        if status.state == State::Failed {
            bail!(status.line);
        }
        let lines = [Some(status.line), status.note].into_iter().flatten();
        let lines: Vec<_> = lines.map(|line| terminal::escape(&line).into_owned()).collect();
        return Ok(super::print(&Printable::lines(&format!("{}\n", lines.join("\n"))))?);
    }
    let mut progress = Progress::new();
    let result = wait(&target, arguments, revision, &mut progress).await;
    progress.end();
    result
}

async fn wait(
    target: &Target,
    arguments: &StatusArguments,
    revision: Option<i64>,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let timeout = arguments.timeout;
    let deadline = (!timeout.is_zero()).then(|| Instant::now() + timeout);
    let mut refused: Option<(Instant, String)> = None;
    let watched = within(deadline, target.watch()).await;
    let watched = watched
        .unwrap_or_else(|| Err(anyhow!(messages::timed_out(timeout, messages::NOT_ANSWERED))))?;
    let mut uid = None;
    loop {
        let status = assess(&*watched.get(&mut uid)?, revision);
        match status.state {
            State::Failed => bail!(status.line),
            State::Complete => return Ok(progress.show(&status)?),
            // It is the error, later.
            State::Refused => {}
            State::Waiting => progress.show(&status)?,
        }
        let Status { state, line, .. } = status;
        refused = match refused {
            _ if state != State::Refused => None,
            Some((since, before)) if before == line => Some((since, before)),
            _ => Some((Instant::now(), line.clone())),
        };
        let given_up = refused.as_ref().map(|(since, _)| *since + REFUSED_FOR);
        let until = [deadline, given_up].into_iter().flatten().min();
        if within(until, watched.changed.notified()).await.is_none() {
            match given_up {
                Some(at) if deadline.is_none_or(|deadline| at < deadline) => bail!(line),
                _ => bail!(messages::timed_out(timeout, &line)),
            }
        }
    }
}

/// `None` if the time is over.
async fn within<T>(deadline: Option<Instant>, work: impl Future<Output = T>) -> Option<T> {
    match deadline {
        None => Some(work.await),
        Some(deadline) => tokio::time::timeout_at(deadline, work).await.ok(),
    }
}

async fn history(common: &RolloutArguments, arguments: &HistoryArguments) -> anyhow::Result<()> {
    let HistoryArguments { deployment, revision, compare_with, output } = arguments;
    let name = &deployment.name;
    let target = Target::new(common, name).await?;
    let revisions = target.revisions(&*target.read().await?).await?;
    if *revision == 0 {
        let all = history::all(&revisions);
        return show(*output, &all, || history::list(name, &all, Timestamp::now()));
    }
    let known: Vec<_> = revisions.iter().map(|one| one.number).collect();
    let find = |number| {
        let found = undo::find(&revisions, number);
        found.ok_or_else(|| anyhow!(messages::unknown_revision(name, number, &known)))
    };
    let one = find(*revision)?;
    let base = match compare_with {
        0 => revisions.iter().rev().find(|before| before.number < one.number),
        number => Some(find(*number)?),
    };
    let shown = Shown::of(one, base).with_template(one);
    let text = history::details(name, &shown)?;
    show(*output, &shown, || text)
}

async fn undo(common: &RolloutArguments, arguments: &UndoArguments) -> anyhow::Result<()> {
    let UndoArguments { deployment: Deployment { name }, to_revision, dry_run } = arguments;
    let target = Target::new(common, name).await?;
    let decide = async |web: &MachineDeployment| {
        let revisions = target.revisions(web).await?;
        let to = undo::target(web, &revisions, *to_revision)?;
        Ok(match rollback(web, to)? {
            None => Decision { patch: None, text: messages::skipped(name, to.number) },
            Some((changes, patch)) => {
                let text = match dry_run {
                    DryRun::None => messages::rolled_back(name, to.number),
                    DryRun::Client => messages::would_roll_back(name, to.number),
                    DryRun::Server => messages::checked_roll_back(name, to.number),
                };
                let text = format!("{text}\n{}", history::diff(&changes));
                Decision { patch: Some(patch), text: text.trim_end().to_owned() }
            }
        })
    };
    let text = target.change(*dry_run, decide).await?;
    Ok(super::print(&Printable::lines(&format!("{text}\n")))?)
}

async fn switch(
    common: &RolloutArguments,
    name: &str,
    decide: impl Fn(&MachineDeployment) -> anyhow::Result<Decision>,
) -> anyhow::Result<()> {
    let target = Target::new(common, name).await?;
    let text = target.change(DryRun::None, async |web: &MachineDeployment| decide(web)).await?;
    Ok(super::print(&Printable::lines(&format!("{text}\n")))?)
}

fn set_paused(web: &MachineDeployment, name: &str, paused: bool) -> anyhow::Result<Decision> {
    let text = match (web.spec.paused, paused) {
        (true, true) => bail!(messages::already_paused(name)),
        (false, false) => bail!(messages::not_paused(name)),
        (false, true) => messages::paused(name),
        (true, false) => messages::resumed(name),
    };
    Ok(Decision { patch: Some(json!({"spec": {"paused": paused}})), text })
}

/// Continues a paused rollout, or one that was aborted.
async fn resume(common: &RolloutArguments, name: &str) -> anyhow::Result<()> {
    let target = Target::new(common, name).await?;
    let web = target.read_to_change().await?;
    if web.spec.paused || !status::is_aborted(&web) {
        return switch(common, name, |web| set_paused(web, name, false)).await;
    }
    let revisions = target.revisions(&web).await?;
    let current = revisions.iter().find(|one| one.current);
    let current = current.ok_or_else(|| anyhow!(messages::not_paused(name)))?;
    target.resume(&current.set).await?;
    Ok(super::print(&Printable::lines(&format!("{}\n", messages::resumed(name))))?)
}

fn restart(web: &MachineDeployment, name: &str) -> anyhow::Result<Decision> {
    if web.spec.paused {
        bail!(messages::restart_paused(name));
    }
    let patch = Some(restart_patch(Timestamp::now()));
    Ok(Decision { patch, text: messages::restarted(name) })
}

/// Two restarts within a second differ, too.
fn restart_patch(now: Timestamp) -> Value {
    let annotations = json!({ANNOTATION_RESTARTED_AT: now.to_string()});
    json!({"spec": {"template": {"metadata": {"annotations": annotations}}}})
}

#[cfg(test)]
mod tests;
