//! `machinist run`: the controllers in a cluster.

pub(crate) mod messages;

use std::sync::Arc;

use anyhow::Context;
use machinist_controllers::platform::rule::Choice;
use machinist_provider::provider::Providers;
use machinist_runtime::cache::Scope;
use machinist_runtime::clock::SystemClock;
use machinist_runtime::cluster::Cluster;
use machinist_runtime::cluster::config::{self, ClusterFlags, Environment, TargetChoice};
use machinist_runtime::lease::LeaseCustom;
use machinist_runtime::manager::{Manager, Options};
use machinist_runtime::shutdown;
use machinist_runtime::timings::Timings;
use tokio_util::sync::CancellationToken;

use crate::cli::{Logging, RunArguments};
use crate::exit::{self, Usage};
use crate::logging;
use crate::registry::Wiring;

/// One worker thread saturates the API server (`make bench`). Another one would cost about half a MiB of heap.
const THREADS: usize = 1;

/// Runs until SIGTERM or SIGINT.
pub(crate) fn main(
    arguments: &RunArguments,
    log: Logging,
    providers: &Providers,
) -> anyhow::Result<()> {
    logging::start(log, "info");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(THREADS);
    super::block_on(runtime, async {
        let stop = shutdown::on_signal()?;
        run(arguments, providers, stop).await
    })
}

/// Runs until `stop`.
pub async fn run(
    arguments: &RunArguments,
    providers: &Providers,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let names: Vec<_> = providers.iter().map(|provider| provider.name()).collect();
    let platform = arguments.machines.platform(&names);
    let wiring = Wiring {
        arguments: arguments.clone(),
        providers: providers.clone(),
        platform: platform.map_err(exit::usage)?,
    };
    let mut controllers = wiring.select().map_err(exit::usage)?;
    // Flags override what a controller declares.
    for LeaseCustom { namespace, duration } in controllers.iter_mut().map(|one| &mut one.lease) {
        *namespace = namespace.filter(|_| arguments.leader_elect_resource_namespace.is_none());
        *duration = duration.filter(|_| arguments.leader_elect_lease_duration.is_none());
    }
    if names.is_empty()
        && wiring.platform != Choice::NoProvider
        && let Some(one) = controllers.iter().find(|one| one.declaration.needs_provider)
    {
        return Err(exit::usage(messages::needs_provider(one.declaration.name)));
    }
    let known: Vec<_> = controllers.iter().map(|controller| controller.declaration.name).collect();
    if let Some((name, _)) =
        arguments.workers.iter().find(|(name, _)| !known.contains(&name.as_str()))
    {
        return Err(exit::usage(messages::not_selected(name)));
    }
    for (name, count) in &arguments.workers {
        let same = controllers.iter().find(|one| one.declaration.name == *name);
        if let Some(most) = same.and_then(|one| one.declaration.max_workers)
            && *count > most
        {
            return Err(exit::usage(messages::too_many_workers(name, *count, most)));
        }
    }
    let secure_metrics = arguments.secure_metrics().map_err(exit::usage)?;
    let flags = ClusterFlags {
        control: arguments.control_kubeconfig.clone(),
        target: arguments.target_kubeconfig.clone(),
        ..ClusterFlags::default()
    };
    let choice = config::resolve(&flags, &Environment::of_process()).await.context(Usage)?;
    if matches!(choice.target, TargetChoice::None)
        && let Some(one) = controllers.iter().find(|one| one.declaration.needs_nodes)
    {
        return Err(exit::usage(messages::needs_nodes(one.declaration.name)));
    }
    for gate in arguments.annotator.unknown_gates() {
        tracing::warn!(gate, "--feature-gates: unknown gate ignored");
    }
    tracing::info!(clusters = choice.found, controllers = known.join(","), "machinist");

    let timings = timings(arguments);
    let namespace = choice.control.default_namespace.clone();
    let lease_namespace = arguments.leader_elect_resource_namespace.clone().unwrap_or(namespace);
    let control = Cluster::new(choice.control, &timings).context("control cluster")?;
    let target = match choice.target {
        TargetChoice::Same => Some(control.clone()),
        TargetChoice::Other(config) => {
            Some(Cluster::new(*config, &timings).context("target cluster")?)
        }
        TargetChoice::None => None,
    };
    let options = Options {
        scope: arguments.namespace.clone().map_or(Scope::All, Scope::Namespace),
        leader_elect: arguments.leader_elect,
        lease_namespace,
        take_over: arguments.take_over,
        identity: identity(),
        workers: arguments.workers.iter().cloned().collect(),
        dry_run: arguments.dry_run,
        metrics_address: arguments.metrics_bind_address.clone(),
        secure_metrics,
        health_address: arguments.health_addr.clone(),
        limits: arguments.safety.limits(),
    };
    let manager = Manager::new(control, target, options, Arc::new(SystemClock), timings);
    Ok(manager.run(controllers, stop).await?)
}

fn timings(arguments: &RunArguments) -> Timings {
    let usual = Timings::default();
    let mut scaled = usual.scaled(arguments.time_scale);
    scaled.freezes.unreachable = arguments.safety.unreachable;
    Timings {
        lease: arguments.leader_elect_lease_duration.unwrap_or(usual.lease),
        sync_period: arguments.sync_period,
        ..scaled
    }
}

/// The holder identity in Leases: the host name, and a random part that is unique per process.
fn identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}_{}_{:016x}", std::process::id(), fastrand::u64(..))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of `run` in a binary without a provider, outside of any cluster.
    async fn refusal(flags: &[&str]) -> String {
        let nowhere = ["--control-kubeconfig=/no-such-file", "--target-kubeconfig=none"];
        let arguments = RunArguments::parse(&[&nowhere, flags].concat()).unwrap();
        let providers = Providers::default();
        let result = run(&arguments, &providers, CancellationToken::new()).await;
        exit::text(&result.unwrap_err())
    }

    #[tokio::test]
    async fn controllers_of_a_cloud_do_not_start_without_a_provider() {
        for controllers in ["machine", "machineset,machine", "recycler", "all"] {
            let text = refusal(&["--controllers", controllers]).await;
            assert!(text.contains("needs a provider"), "{controllers}: {text}");
        }
        for flags in [&["--controllers=annotator"][..], &["--controllers=all", "--platform=none"]] {
            let text = refusal(flags).await;
            assert!(text.contains("/no-such-file"), "{flags:?}: {text}");
        }
    }
}
