//! An HTTP server before moto that adds what EC2 does and moto does not. Other AWS services pass through.
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

#[derive(Clone, Debug)]
pub enum Transport {
    Plain,
    Tls(Authority),
}

/// Stops listening when dropped.
#[derive(Debug)]
pub struct Front {
    pipeline: Arc<Pipeline>,
    address: SocketAddr,
    transport: Transport,
    server: JoinHandle<()>,
}

impl Front {
    pub async fn start(moto: &Moto, transport: Transport) -> Result<Self> {
        let pipeline = Arc::new(Pipeline::new(moto.upstream()));
        let (address, server) = server::start(Arc::clone(&pipeline), &transport).await?;
        Ok(Self { pipeline, address, transport, server })
    }

    pub fn endpoint_url(&self) -> String {
        let scheme = match self.transport {
            Transport::Plain => "http",
            Transport::Tls(_) => "https",
        };
        format!("{scheme}://{}", self.address)
    }

    pub fn ca_pem(&self) -> Option<&str> {
        match &self.transport {
            Transport::Plain => None,
            Transport::Tls(authority) => Some(authority.ca_pem()),
        }
    }

    /// The rule counts calls from now on.
    pub fn inject(&self, rule: Rule) {
        self.pipeline.rules.add(rule);
    }

    pub fn clear_rules(&self) {
        self.pipeline.rules.clear();
    }

    /// A test that ends with one of these did not test what it says.
    pub fn unmet_rules(&self) -> Vec<Rule> {
        self.pipeline.rules.unmet()
    }

    /// From the next call on. What has already happened keeps its times.
    pub fn behave(&self, behaviour: Behaviour) {
        self.pipeline.world.behave(behaviour);
    }

    pub fn clock(&self) -> &Clock {
        &self.pipeline.world.clock
    }

    /// In the order in which they were finished.
    pub fn calls(&self) -> Vec<Call> {
        self.pipeline.log.all()
    }

    pub fn calls_of(&self, action: &str) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| call.action == action);
        calls
    }

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
