//! `machinist termination-handler`: reports EC2's notices as conditions of a spot node.
//!
//! It polls the instance metadata service and writes the conditions `Terminating` and `RebalanceRecommended` of the own
//! Node, each at most once. A health check then deletes the Machine. No error ends the process; after `Terminating` it
//! waits for a signal, because an exit would only restart the pod.

mod handler;
mod imds;
mod messages;
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
use crate::exit::{self, Usage};
use crate::logging;

/// Timeout of requests to the API server. EC2 gives notice two minutes ahead.
const REQUEST: Duration = Duration::from_secs(10);

const PARTY: &str = "termination-handler";
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Runs until SIGTERM or SIGINT.
pub(crate) fn main(arguments: &TerminationHandlerArguments, log: Logging) -> anyhow::Result<()> {
    logging::start(log, "info");
    super::block_on(tokio::runtime::Builder::new_current_thread(), async {
        let stop = shutdown::on_signal()?;
        let handler = prepare(arguments).await?;
        stop.run_until_cancelled(watch(handler, arguments.poll_interval)).await;
        Ok(())
    })
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

async fn watch(mut handler: Handler, poll: Duration) -> Infallible {
    // A long backoff would miss notices.
    let retry = Backoff { base: poll.min(FIRST_RETRY), max: poll * 3 };
    let mut trouble = Trouble::default();
    while !handler.is_done() {
        let pause = match handler.poll().await {
            Ok(()) => {
                trouble.is_over();
                poll
            }
            Err(error) => retry.delay(trouble.again(&exit::text(&error)), fastrand::f64()),
        };
        if !handler.is_done() {
            tokio::time::sleep(pause).await;
        }
    }
    tracing::info!("Node has Terminating=True; nothing more to do");
    std::future::pending().await
}

#[derive(Debug, Default)]
struct Trouble {
    failures: u32,
    last: String,
}

impl Trouble {
    fn again(&mut self, error: &str) -> u32 {
        self.failures = self.failures.saturating_add(1);
        if error == self.last {
            tracing::debug!(error, failures = self.failures, "still failing");
        } else {
            tracing::warn!(error, "failed; retrying");
            error.clone_into(&mut self.last);
        }
        self.failures
    }

    fn is_over(&mut self) {
        if self.failures > 0 {
            tracing::info!(failures = self.failures, "recovered");
            *self = Self::default();
        }
    }
}
