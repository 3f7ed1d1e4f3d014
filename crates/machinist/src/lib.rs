//! The command line. [`cli`] has verbs and flags, [`verbs`] one module per verb, [`registry`] builds the controllers.
//! [`Machinist`] wires providers to controllers; [`main`] uses the providers of this repository.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod annotator;
#[cfg(feature = "aws")]
mod aws;
mod builder;
pub mod cli;
mod exit;
mod logging;
mod manifests;
mod messages;
mod parts;
mod recycler;
mod registry;
mod safety;
mod terminal;
pub mod verbs;

use std::process::ExitCode;
#[cfg(any(feature = "aws", feature = "playground"))]
use std::sync::Arc;

#[cfg(feature = "aws")]
use machinist_provider_aws::AwsProvider;
#[cfg(feature = "playground")]
use machinist_provider_sim::SimProvider;

pub use self::builder::Machinist;
pub use self::parts::register_metrics;

/// Runs a verb with the providers of this repository.
pub fn main() -> ExitCode {
    let builder = Machinist::builder();
    #[cfg(feature = "aws")]
    let builder = builder.provider(Arc::new(AwsProvider::default()));
    #[cfg(feature = "playground")]
    let builder = builder.provider(Arc::new(SimProvider::from_environment()));
    builder.run()
}
