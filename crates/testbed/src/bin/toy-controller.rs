//! The toy of the crash harness as a process of its own: `toy-controller NAMESPACE`, cluster from `KUBECONFIG`.

use anyhow::{Context, Result};
use machinist_testbed::crash::toy::{self, Habit};

#[tokio::main]
async fn main() -> Result<()> {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let namespace = std::env::args().nth(1).context("usage: toy-controller NAMESPACE")?;
    toy::run(kube::Config::infer().await?, &namespace, Habit::Careful).await
}
