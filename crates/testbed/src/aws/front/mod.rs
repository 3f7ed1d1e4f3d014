//! The front: an HTTP server before moto that adds what EC2 does and moto does not.
//!
//! Idempotency tokens (`tokens`), the filter `client-token`, states and visibility in answers (`describe`), how long an
//! instance is hidden, pending or shutting down (`instances`, [`Behaviour`]), Auto Scaling groups that need time to
//! launch (`groups`), instance refreshes (`refresh`), throttling, errors, delays and lost connections ([`Rule`],
//! [`Effect`]), and a record of every call ([`Call`]). Other AWS services pass through.
//!
//! Invariants: idempotency is always on, everything else only on request; the front's own requests to moto are not
//! recorded; time comes from [`Clock`] alone, so a test moves it instead of sleeping.

mod answer;
mod behaviour;
mod clock;
mod describe;
mod groups;
mod instances;
mod log;
mod pipeline;
pub(super) mod query;
mod refresh;
mod rules;
mod server;
mod tokens;
mod upstream;
mod world;
pub(super) mod xml;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use tokio::task::JoinHandle;

use super::{Authority, Moto};
use pipeline::Pipeline;

pub use behaviour::Behaviour;
pub use clock::Clock;
pub use log::Call;
pub use rules::{Effect, Rule};
pub(super) use upstream::Upstream;

/// How clients reach the front.
#[derive(Clone, Debug)]
pub enum Transport {
    /// HTTP.
    Plain,
    /// HTTPS with a certificate of this authority.
    Tls(Authority),
}

/// A running front. It stops listening when dropped.
#[derive(Debug)]
pub struct Front {
    pipeline: Arc<Pipeline>,
    address: SocketAddr,
    transport: Transport,
    server: JoinHandle<()>,
}

impl Front {
    /// Starts a front before `moto` on a free loopback port.
    pub async fn start(moto: &Moto, transport: Transport) -> Result<Self> {
        let pipeline = Arc::new(Pipeline::new(moto.upstream()));
        let (address, server) = server::start(Arc::clone(&pipeline), &transport).await?;
        Ok(Self { pipeline, address, transport, server })
    }

    /// What an AWS client takes as its endpoint.
    pub fn endpoint_url(&self) -> String {
        let scheme = match self.transport {
            Transport::Plain => "http",
            Transport::Tls(_) => "https",
        };
        format!("{scheme}://{}", self.address)
    }

    /// The CA to trust, when the front speaks TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        match &self.transport {
            Transport::Plain => None,
            Transport::Tls(authority) => Some(authority.ca_pem()),
        }
    }

    /// Adds a rule; it counts calls from now on.
    pub fn inject(&self, rule: Rule) {
        self.pipeline.rules.add(rule);
    }

    /// Takes every rule back.
    pub fn clear_rules(&self) {
        self.pipeline.rules.clear();
    }

    /// The rules that have not come true as often as they should: a test that ends with one of
    /// them did not test what it says.
    pub fn unmet_rules(&self) -> Vec<Rule> {
        self.pipeline.rules.unmet()
    }

    /// Sets how slow AWS is from the next call on. What has already happened keeps its times.
    pub fn behave(&self, behaviour: Behaviour) {
        self.pipeline.world.behave(behaviour);
    }

    /// The clock of this front.
    pub fn clock(&self) -> &Clock {
        &self.pipeline.world.clock
    }

    /// Every call so far, in the order in which they were finished.
    pub fn calls(&self) -> Vec<Call> {
        self.pipeline.log.all()
    }

    /// The calls of one action so far.
    pub fn calls_of(&self, action: &str) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| call.action == action);
        calls
    }

    /// Forgets tokens, instances, refreshes, rules and the log, and is as quick as at the start.
    /// moto is not touched: see `AwsBed::reset`.
    pub async fn reset(&self) {
        self.pipeline.reset().await;
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.server.abort();
    }
}
