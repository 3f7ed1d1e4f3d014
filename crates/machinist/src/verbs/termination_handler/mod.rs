//! `machinist termination-handler`: on a spot node, turns the cloud's notices into conditions of the Node.
//!
//! Input: the instance metadata service ([`imds`]), which is asked again and again, and whose answers are read with suspicion ([`notice`]).
//! Output: the conditions `Terminating` and `RebalanceRecommended` of the one Node that this runs on ([`own_node`]), each written at most
//! once ([`handler`]). What follows from them is not decided here: a health check deletes the Machine.
//!
//! Invariants: nothing that goes wrong ends the process; once `Terminating` is told it only waits to be stopped, because whoever runs it
//! would start it again; a signal ends it at once, whatever it waits for.

mod handler;
mod imds;
mod notice;
mod own_node;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use machinist_domain::backoff::Backoff;
use machinist_runtime::clock::{SharedClock, SystemClock};
use machinist_runtime::cluster::Cluster;
use machinist_runtime::cluster::config::{self, ClusterFlags, Environment};
use machinist_runtime::shutdown;
use machinist_runtime::timings::Timings;

use self::handler::Handler;
use self::imds::Imds;
use self::own_node::OwnNode;
use crate::cli::{Logging, TerminationHandlerArguments};
use crate::exit::Usage;
use crate::logging;

/// The longest that a request to the API server may take: two minutes are all that there is.
const REQUEST: Duration = Duration::from_secs(10);

/// The party in metrics and in the `User-Agent`.
const PARTY: &str = "termination-handler";

/// Before the second attempt, at most.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Runs until SIGTERM or SIGINT.
pub fn main(arguments: &TerminationHandlerArguments, log: Logging) -> anyhow::Result<()> {
    logging::start(log, "info");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let stop = shutdown::on_signal()?;
        let handler = prepare(arguments).await?;
        stop.run_until_cancelled(watch(handler, arguments.poll_interval)).await;
        Ok(())
    });
    // A name look-up that hangs must not hold up the exit.
    runtime.shutdown_background();
    result
}

async fn prepare(arguments: &TerminationHandlerArguments) -> anyhow::Result<Handler> {
    let choice = config::resolve(&ClusterFlags::default(), &Environment::of_process()).await;
    let choice = choice.context(Usage)?;
    let node = arguments.node_name.as_str();
    tracing::info!(cluster = choice.found, node, imds = arguments.imds_endpoint, "machinist");
    let clock: SharedClock = Arc::new(SystemClock);
    let timings = Timings { request: REQUEST, ..Timings::default() };
    let cluster = Cluster::new(choice.control, &timings).context("cluster")?;
    let node = OwnNode::new(node, &cluster, &timings, clock.clone());
    Ok(Handler::new(Imds::new(arguments.imds_endpoint.clone(), clock), node))
}

/// Looks every `poll`, and after trouble as soon as that seems worth it.
async fn watch(mut handler: Handler, poll: Duration) -> Infallible {
    // No notice may be missed because of a pause, so pauses stay short.
    let retry = Backoff { base: poll.min(FIRST_RETRY), max: poll * 3 };
    let mut trouble = Trouble::default();
    while !handler.is_done() {
        let pause = match handler.pass().await {
            Ok(()) => {
                trouble.is_over();
                poll
            }
            Err(error) => retry.delay(trouble.again(&error.to_string()), fastrand::f64()),
        };
        if !handler.is_done() {
            tokio::time::sleep(pause).await;
        }
    }
    tracing::info!("the Node says Terminating=True; nothing more to do");
    std::future::pending().await
}

/// Failures in a row. Each is logged once, not every few seconds.
#[derive(Debug, Default)]
struct Trouble {
    failures: u32,
    last: String,
}

impl Trouble {
    /// Counts a failure.
    fn again(&mut self, error: &str) -> u32 {
        self.failures = self.failures.saturating_add(1);
        if error == self.last {
            tracing::debug!(error, failures = self.failures, "still failing");
        } else {
            tracing::warn!(error, "failed; it is tried again and again");
            error.clone_into(&mut self.last);
        }
        self.failures
    }

    fn is_over(&mut self) {
        if self.failures > 0 {
            tracing::info!(failures = self.failures, "works again");
            *self = Self::default();
        }
    }
}
