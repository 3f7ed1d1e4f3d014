//! The AWS front against a real moto, asked in the Query protocol over real sockets.
//!
//! Needs `python3`; moto installs itself on first use. All tests share one moto and have a front
//! and a region each; the tests in `process` start their own.

mod client;
mod faults;
mod groups;
mod lives;
mod process;
mod tokens;
mod transport;
mod validation;

use std::sync::Arc;

use client::Client;
use machinist_testbed::aws::{AwsBed, Moto, Transport};
use tokio::sync::OnceCell;

/// A Linux image that moto knows in every region.
const IMAGE: &str = "ami-03cf127a";

/// The moto of this test binary. A static is never dropped: the guard ends the process.
async fn moto() -> Arc<Moto> {
    static MOTO: OnceCell<Arc<Moto>> = OnceCell::const_new();
    let start = async || Moto::start().await.map(Arc::new);
    Arc::clone(MOTO.get_or_try_init(start).await.unwrap())
}

/// A front of its own, and a client in a region that no other test uses.
async fn bed(region: &str) -> (AwsBed, Client) {
    let bed = AwsBed::start_before(moto().await, Transport::Plain).await.unwrap();
    let client = Client::new(&bed, region);
    (bed, client)
}
