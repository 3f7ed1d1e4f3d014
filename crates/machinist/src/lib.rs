//! The command line: one file per verb, wiring, output.
//!
//! * [`cli`]: verbs and flags, [`annotator`] those of the annotator; [`exit`]: exit codes; [`logging`].
//! * [`registry`]: which controllers there are, tied to the providers that are linked into this binary (`aws`).
//! * `manifests`: files that people keep objects in; `verbs`: what each verb does.

pub mod annotator;
mod aws;
pub mod cli;
mod exit;
mod logging;
mod manifests;
pub mod registry;
pub mod verbs;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

/// Runs the verb that the command line names.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    // Fails only if it was done before, which is as good.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let result = match cli.command {
        Command::Run(arguments) => verbs::run::main(&arguments, cli.logging),
        #[cfg(feature = "playground")]
        Command::Playground(arguments) => verbs::playground::main(arguments, cli.logging),
        Command::Annotate(arguments) => verbs::annotate::main(&arguments),
        Command::Catalogue(arguments) => verbs::catalogue::main(&arguments),
        Command::Crds => verbs::crds::main(),
        Command::Version => verbs::version::main(),
    };
    exit::code(result)
}
