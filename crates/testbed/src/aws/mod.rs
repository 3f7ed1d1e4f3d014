//! AWS on this machine: moto (a Python stand-in for the AWS APIs) behind a front of ours.
//!
//! moto is kinder than AWS: it forgets idempotency tokens, has no pending instances, no eventual consistency and no
//! throttling. [`front`] adds these, and [`AwsBed`] starts both. [`Estate`] is what a test owns in AWS, past the front;
//! [`Kubelets`] are what its instances run. It needs `python3`; the packages are pinned in
//! `tools/moto/requirements.txt`.
//!
//! Invariants: everything listens on loopback only; moto ends with the process that started it, also when that process
//! is killed.

mod authority;
pub mod estate;
pub mod front;
mod guard;
pub mod kubelets;
mod moto;
mod python;

use std::sync::Arc;

use anyhow::Result;

pub use authority::Authority;
pub use estate::Estate;
pub use front::{Behaviour, Call, Clock, Effect, Front, Rule, Transport};
pub use kubelets::Kubelets;
pub use moto::Moto;

/// moto and a front before it.
#[derive(Debug)]
pub struct AwsBed {
    front: Front,
    moto: Arc<Moto>,
}

impl AwsBed {
    /// Starts a moto of its own and a plain HTTP front.
    pub async fn start() -> Result<Self> {
        Self::start_before(Arc::new(Moto::start().await?), Transport::Plain).await
    }

    /// Starts a moto of its own and a front that speaks TLS with a certificate of a private CA.
    pub async fn start_tls() -> Result<Self> {
        let moto = Arc::new(Moto::start().await?);
        Self::start_before(moto, Transport::Tls(Authority::new()?)).await
    }

    /// Starts only a front, before a moto that others may use too.
    ///
    /// Rules, clock, tokens and log belong to the front, so tests that share a moto do not meet as
    /// long as each uses a region of its own and none resets it.
    pub async fn start_before(moto: Arc<Moto>, transport: Transport) -> Result<Self> {
        let front = Front::start(&moto, transport).await?;
        Ok(Self { front, moto })
    }

    /// What an AWS client takes as its endpoint.
    pub fn endpoint_url(&self) -> String {
        self.front.endpoint_url()
    }

    /// The CA to trust, when the front speaks TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.front.ca_pem()
    }

    /// Rules, clock and call log.
    pub fn front(&self) -> &Front {
        &self.front
    }

    /// The process behind the front.
    pub fn moto(&self) -> &Moto {
        &self.moto
    }

    /// Empties moto and makes the front forget everything but its clock.
    pub async fn reset(&self) -> Result<()> {
        self.moto.reset().await?;
        self.front.reset().await;
        Ok(())
    }
}
