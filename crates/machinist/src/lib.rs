//! The command line: one file per verb, wiring, output.
//!
//! * [`cli`]: verbs and flags, [`annotator`] those of the annotator; [`exit`]: exit codes; [`logging`].
//! * [`Machinist`]: providers are joined to the controllers here; [`main`] does so with those that this repository brings (`aws`, and with the playground the simulated cloud).
//! * [`registry`]: which controllers there are.
//! * `manifests`: files that people keep objects in; `verbs`: what each verb does.

pub mod annotator;
#[cfg(feature = "aws")]
mod aws;
mod builder;
pub mod cli;
mod exit;
mod logging;
mod manifests;
mod parts;
mod recycler;
pub mod registry;
pub mod verbs;

use std::process::ExitCode;
#[cfg(any(feature = "aws", feature = "playground"))]
use std::sync::Arc;

#[cfg(feature = "aws")]
use machinist_provider_aws::AwsProvider;
#[cfg(feature = "playground")]
use machinist_provider_sim::SimProvider;

pub use self::builder::Machinist;

/// Runs the verb that the command line names, with the providers that this repository brings.
pub fn main() -> ExitCode {
    let builder = Machinist::builder();
    #[cfg(feature = "aws")]
    let builder = builder.provider(Arc::new(AwsProvider::default()));
    #[cfg(feature = "playground")]
    let builder = builder.provider(Arc::new(SimProvider::from_environment()));
    builder.run()
}
