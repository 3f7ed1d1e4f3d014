//! Wires providers to the controllers. A provider in another repository builds its own binary with it:
//! `Machinist::builder().provider(provider).run()`.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use machinist_provider::provider::{Provider, Providers};

use crate::cli::{Cli, Command};
use crate::{exit, verbs};

/// Builds and runs the program.
#[derive(Debug, Default)]
pub struct Machinist {
    providers: Vec<Arc<dyn Provider>>,
}

impl Machinist {
    /// A program without providers.
    pub fn builder() -> Self {
        Self::default()
    }

    /// Adds a provider. The first that reads a kind of spec gets it.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// Parses the command line and runs its verb.
    pub fn run(self) -> ExitCode {
        let cli = Cli::parse();
        // An error means that a provider is installed already.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let providers = Providers::new(self.providers);
        let result = match cli.command {
            Command::Run(arguments) => verbs::run::main(&arguments, cli.logging, &providers),
            #[cfg(feature = "playground")]
            Command::Playground(arguments) => verbs::playground::main(arguments, cli.logging),
            Command::Annotate(arguments) => verbs::annotate::main(&arguments),
            Command::Convert(arguments) => verbs::convert::main(&arguments),
            Command::Catalogue(arguments) => verbs::catalogue::main(&arguments),
            Command::Recycle(arguments) => {
                verbs::recycle::main(&arguments, cli.logging, &providers)
            }
            Command::Rollout(arguments) => verbs::rollout::main(&arguments, cli.logging),
            Command::Orphans(arguments) => {
                verbs::orphans::main(&arguments, cli.logging, &providers)
            }
            Command::TerminationHandler(arguments) => {
                verbs::termination_handler::main(&arguments, cli.logging)
            }
            Command::Crds => verbs::crds::main(),
            Command::Version(arguments) => verbs::version::main(arguments, &providers),
        };
        exit::code(result)
    }
}
