//! `machinist playground`: a real Kubernetes API, a simulated cloud, sample objects and the controllers, on this
//! machine. [`samples`] are empty MachineSets, [`fleet`] is a MachineDeployment with machines. Everything is in a
//! temporary folder and on loopback addresses, and is removed at the end. A terminal shows a live view ([`screen`]) and
//! the log is in a file; without a terminal, every change is printed.

mod fleet;
mod log_file;
mod messages;
mod samples;
mod screen;
mod view;

use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum as _;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use machinist_api::machine_set::MachineSet;
use machinist_control_plane::ControlPlane;
use machinist_runtime::shutdown;
use tokio_util::sync::CancellationToken;

use self::fleet::Fleet;
use self::fleet::cloud::Cloud;
use self::log_file::LogFile;
use self::screen::state::{Log, State};
use self::view::Row;
use crate::cli::{Logging, PlaygroundArguments, RunArguments};
use crate::exit;
use crate::logging;
use crate::terminal::{self, Printable};
use crate::verbs::{crds, run};

const NAMESPACE: &str = "default";
const PATIENCE: Duration = Duration::from_secs(120);
const LOGGED: &str = "warn,audit=off,reconcile=off,machinist_runtime::controller=error";

/// The value of `--machines`.
pub(crate) fn machines(text: &str) -> Result<u32, &'static str> {
    text.parse().map_err(|_| messages::NOT_A_NUMBER)
}

pub(crate) fn main(arguments: PlaygroundArguments, log: Logging) -> anyhow::Result<()> {
    if let Some(mode) = arguments.fail.filter(|mode| arguments.once && !mode.ends_well()) {
        let mode = mode.to_possible_value().map(|mode| mode.get_name().to_owned());
        return Err(exit::usage(messages::never_ready(&mode.unwrap_or_default())));
    }
    let file = if arguments.once || !terminal::is_capable() {
        logging::start(log, LOGGED);
        None
    } else {
        Some(LogFile::start(log, LOGGED).context(messages::NO_LOG)?)
    };
    let result = super::block_on(tokio::runtime::Builder::new_multi_thread(), async {
        let stop = shutdown::on_signal()?;
        Box::pin(play(arguments, file.as_ref(), stop)).await
    });
    match file.and_then(LogFile::end) {
        Some(text) => result.and(print(&text)),
        None => result,
    }
}

async fn play(
    arguments: PlaygroundArguments,
    log: Option<&LogFile>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    print(messages::STARTING)?;
    let Some(control_plane) = stop.run_until_cancelled(ControlPlane::start()).await else {
        return Ok(());
    };
    let control_plane = control_plane?;
    control_plane.install_crds(&crds::yaml()?).await?;
    let cloud = Cloud::start(&control_plane, arguments.fail).await?;

    let controllers = stop.child_token();
    let (flags, providers) = (run_arguments(&control_plane)?, cloud.providers());
    let running = run::run(&flags, &providers, controllers.clone());
    let user = async {
        let result = use_it(arguments, log, &stop, cloud, &control_plane).await;
        controllers.cancel();
        result
    };
    let (controllers_ended, user_ended) = tokio::join!(running, user);
    controllers_ended?;
    user_ended?;
    drop(control_plane);
    print(messages::STOPPED)
}

async fn use_it(
    arguments: PlaygroundArguments,
    log: Option<&LogFile>,
    stop: &CancellationToken,
    cloud: Cloud,
    control_plane: &ControlPlane,
) -> anyhow::Result<()> {
    let client = control_plane.client()?;
    let sets = Api::<MachineSet>::namespaced(client.clone(), NAMESPACE);
    for set in samples::machine_sets()? {
        let created = sets.create(&PostParams::default(), &set).await;
        created.with_context(|| messages::cannot("create", "MachineSet", &set.name_any()))?;
    }
    if arguments.once {
        prove(&sets).await?;
        let fleet = Fleet::create(&client, control_plane, cloud, &arguments).await?;
        return fleet.prove(arguments.fail).await;
    }
    let fleet = Fleet::create(&client, control_plane, cloud, &arguments).await?;
    let kubeconfig = control_plane.kubeconfig_path();
    print(&messages::usage(kubeconfig, samples::FIRST))?;
    let Some(log) = log else { return watch(&sets, &fleet, stop).await };
    let state = State {
        export: messages::export(kubeconfig),
        commands: messages::commands(samples::FIRST).lines().map(str::to_owned).collect(),
        ..State::default()
    };
    let read = async |state: &mut State| {
        state.log = Log { path: log.path(), lines: logging::writes() };
        state.fleet = fleet.state().await?;
        state.sets = rows(&sets).await?;
        Ok(())
    };
    screen::watch(stop, state, read).await
}

async fn prove(sets: &Api<MachineSet>) -> anyhow::Result<()> {
    let began = tokio::time::Instant::now();
    loop {
        let rows = rows(sets).await?;
        let wrong = rows.iter().filter(|row| !samples::is_as_expected(row));
        let wrong: Vec<_> = wrong.map(|row| row.name.as_str()).collect();
        if wrong.is_empty() {
            print(&view::tables(&rows))?;
            return print(&messages::samples_proved(rows.len()));
        }
        if began.elapsed() > PATIENCE {
            anyhow::bail!(messages::samples_differ(PATIENCE, &wrong, &view::tables(&rows)));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Prints every change.
async fn watch(
    sets: &Api<MachineSet>,
    fleet: &Fleet,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let mut shown = String::new();
    while !stop.is_cancelled() {
        // Errors are expected while the API server stops.
        if let (Ok(rows), Ok(machines)) = (rows(sets).await, fleet.table(false).await) {
            let tables = format!("{}\n\n{machines}", view::tables(&rows));
            if tables != shown {
                print(&tables)?;
                shown = tables;
            }
        }
        let pause = tokio::time::sleep(Duration::from_millis(300));
        stop.run_until_cancelled(pause).await;
    }
    Ok(())
}

async fn rows(sets: &Api<MachineSet>) -> anyhow::Result<Vec<Row>> {
    let list = sets.list(&ListParams::default()).await?;
    let events: Api<Event> = Api::namespaced(sets.clone().into_client(), NAMESPACE);
    let events = events.list(&ListParams::default()).await?.items;
    Ok(list.items.iter().map(|set| Row::of(set, &events)).collect())
}

fn run_arguments(control_plane: &ControlPlane) -> anyhow::Result<RunArguments> {
    let kubeconfig = control_plane.kubeconfig_path().to_string_lossy();
    Ok(RunArguments::parse(&[
        "--controllers=all",
        "--control-kubeconfig",
        &kubeconfig,
        "--target-kubeconfig",
        &kubeconfig,
        "--metrics-bind-address=0",
        "--health-addr=0",
        "--instance-types=catalogue",
        "--time-scale=0.1",
    ])?)
}

fn print(text: &str) -> anyhow::Result<()> {
    Ok(terminal::print(&with_end(text))?)
}

fn with_end(text: &str) -> Printable {
    Printable::lines(&format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::{HOSTILE, assert_harmless};

    #[test]
    fn what_is_printed_does_not_control_the_terminal() {
        assert_harmless(&with_end(HOSTILE));
        let mut rows = Vec::new();
        for mut set in samples::machine_sets().unwrap() {
            set.metadata.name = Some(HOSTILE.to_owned());
            rows.push(Row::of(&set, &[]));
        }
        assert_harmless(&with_end(&view::tables(&rows)));
    }
}
