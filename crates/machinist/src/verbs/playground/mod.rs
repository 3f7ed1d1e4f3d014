//! `machinist playground`: a real Kubernetes API and a simulated cloud on this machine, sample objects, and the controllers at work on them.
//!
//! [`samples`] are empty MachineSets of many shapes, [`view`] is the table in which their annotations appear; [`fleet`] is a MachineSet whose machines
//! come and go. Everything lives in a temporary folder and on loopback addresses, and is gone when the playground ends, however it ends.

mod fleet;
mod samples;
mod view;

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum as _;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{ListParams, PostParams};
use machinist_api::machine_set::MachineSet;
use machinist_control_plane::ControlPlane;
use machinist_runtime::shutdown;
use tokio_util::sync::CancellationToken;

use self::fleet::Fleet;
use self::fleet::cloud::Cloud;
use self::view::Row;
use crate::cli::{Cli, Command, Logging, PlaygroundArguments, RunArguments};
use crate::exit::Usage;
use crate::logging;
use crate::verbs::{crds, run};

const NAMESPACE: &str = "default";
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs the playground until Ctrl-C, or once.
pub fn main(arguments: PlaygroundArguments, log: Logging) -> anyhow::Result<()> {
    if let Some(mode) = arguments.fail.filter(|mode| arguments.once && !mode.ends_well()) {
        let mode = mode.to_possible_value().map(|mode| mode.get_name().to_owned());
        let mode = mode.unwrap_or_default();
        let problem = anyhow::anyhow!("--once: with --fail {mode} machines do not stay");
        return Err(problem.context(Usage));
    }
    logging::start(log, "warn,audit=off,reconcile=off,machinist_runtime::controller=error");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let stop = shutdown::on_signal()?;
        Box::pin(play(arguments, stop)).await
    });
    runtime.shutdown_background();
    result
}

async fn play(arguments: PlaygroundArguments, stop: CancellationToken) -> anyhow::Result<()> {
    say(
        "starting etcd and kube-apiserver (the first time they are fetched or built, which takes minutes)",
    )?;
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
        let result = use_it(arguments, &stop, cloud, &control_plane).await;
        controllers.cancel();
        result
    };
    let (controllers_ended, user_ended) = tokio::join!(running, user);
    controllers_ended?;
    user_ended?;
    drop(control_plane);
    if arguments.once {
        say("everything is torn down")?;
    }
    Ok(())
}

/// What a user would do: create MachineSets and look at them.
async fn use_it(
    arguments: PlaygroundArguments,
    stop: &CancellationToken,
    cloud: Cloud,
    control_plane: &ControlPlane,
) -> anyhow::Result<()> {
    let client = control_plane.client()?;
    let sets = Api::<MachineSet>::namespaced(client.clone(), NAMESPACE);
    for set in samples::machine_sets()? {
        sets.create(&PostParams::default(), &set).await.context("creating a sample")?;
    }
    if arguments.once {
        prove(&sets).await?;
        return Fleet::create(&client, cloud, &arguments).await?.prove().await;
    }
    let fleet = Fleet::create(&client, cloud, &arguments).await?;
    let kubeconfig = control_plane.kubeconfig_path().display();
    let (name, first) = (fleet::NAME, samples::FIRST);
    say(&format!(
        "a Kubernetes API is yours until Ctrl-C. In another terminal:\n\n  export KUBECONFIG={kubeconfig}\n  kubectl get machines,machinesets,nodes\n  kubectl scale machineset {name} --replicas=5\n  kubectl edit machineset {first}\n"
    ))?;
    watch(&sets, &fleet, stop).await
}

/// Waits until every sample is what it should be, and shows it.
async fn prove(sets: &Api<MachineSet>) -> anyhow::Result<()> {
    let began = tokio::time::Instant::now();
    loop {
        let rows = rows(sets).await?;
        let wrong: Vec<_> = rows.iter().filter(|row| !samples::is_as_expected(row)).collect();
        if wrong.is_empty() {
            say(&view::table(&rows))?;
            return say(&format!(
                "proved: {} MachineSets say what they give, or why they cannot",
                rows.len()
            ));
        }
        if began.elapsed() > PATIENCE {
            anyhow::bail!("not as expected after {PATIENCE:?}: {wrong:?}");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Shows the tables, anew whenever they change, until somebody presses Ctrl-C.
async fn watch(
    sets: &Api<MachineSet>,
    fleet: &Fleet,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let mut shown = String::new();
    let mut logged = logging::writes();
    let terminal = std::io::stdout().is_terminal();
    while !stop.is_cancelled() {
        // The API server goes first when the playground ends; what it does not answer then is no news.
        if let (Ok(rows), Ok(machines)) = (rows(sets).await, fleet.table(terminal).await) {
            let tables = format!("{}\n\n{machines}", view::table(&rows));
            if tables != shown {
                // Over the old ones, unless somebody said something below them: that stays to be read.
                let writes = logging::writes();
                let said = std::mem::replace(&mut logged, writes) != writes;
                if terminal && !shown.is_empty() && !said {
                    write!(std::io::stdout(), "\x1b[{}A\x1b[J", shown.lines().count())?;
                }
                say(&tables)?;
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

/// The same flags that a user would give.
fn run_arguments(control_plane: &ControlPlane) -> anyhow::Result<RunArguments> {
    use clap::Parser;
    let kubeconfig = control_plane.kubeconfig_path().to_string_lossy();
    let cli = Cli::try_parse_from([
        "machinist",
        "run",
        "--controllers=all",
        "--control-kubeconfig",
        &kubeconfig,
        "--target-kubeconfig",
        &kubeconfig,
        "--metrics-bind-address=0",
        "--health-addr=0",
        "--instance-types=catalogue",
        "--time-scale=0.1",
    ])?;
    match cli.command {
        Command::Run(arguments) => Ok(*arguments),
        _ => anyhow::bail!("not the verb that was asked for"),
    }
}

fn say(text: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}
