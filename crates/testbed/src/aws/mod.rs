//! moto (a Python stand-in for the AWS APIs) behind a front that adds what moto lacks: idempotency tokens, pending
//! instances, eventual consistency, throttling. It needs `python3`; `tools/moto/requirements.txt` pins the packages.
//!
//! Invariants: everything listens on loopback only; moto ends with the process that started it, also when that is
//! killed.

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

#[derive(Debug)]
pub struct AwsBed {
    front: Front,
    moto: Arc<Moto>,
}

impl AwsBed {
    pub async fn start() -> Result<Self> {
        Self::start_before(Arc::new(Moto::start().await?), Transport::Plain).await
    }

    pub async fn start_tls() -> Result<Self> {
        let moto = Arc::new(Moto::start().await?);
        Self::start_before(moto, Transport::Tls(Authority::new()?)).await
    }

    /// Tests can share a moto as long as each uses a region of its own and none resets it.
    pub async fn start_before(moto: Arc<Moto>, transport: Transport) -> Result<Self> {
        let front = Front::start(&moto, transport).await?;
        Ok(Self { front, moto })
    }

    /// Another front before the same moto.
    pub async fn another_front(&self, transport: Transport) -> Result<Self> {
        Self::start_before(Arc::clone(&self.moto), transport).await
    }

    pub fn endpoint_url(&self) -> String {
        self.front.endpoint_url()
    }

    pub fn ca_pem(&self) -> Option<&str> {
        self.front.ca_pem()
    }

    pub fn front(&self) -> &Front {
        &self.front
    }

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
