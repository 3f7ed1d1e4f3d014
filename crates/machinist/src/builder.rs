//! One call joins providers to the controllers, so that a provider in another repository builds a binary of its own.
//!
//! ```no_run
//! use std::{process::ExitCode, sync::Arc};
//!
//! use machinist_provider::provider::Provider;
//!
//! /// The whole of another binary's `main`.
//! fn run_with(provider: Arc<dyn Provider>) -> ExitCode {
//!     machinist::Machinist::builder().provider(provider).run()
//! }
//! ```

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use machinist_provider::provider::{Provider, Providers};

use crate::cli::{Cli, Command};
use crate::{exit, verbs};

/// A machinist in the making.
#[derive(Debug, Default)]
pub struct Machinist {
    providers: Vec<Arc<dyn Provider>>,
}

impl Machinist {
    /// A machinist without providers.
    pub fn builder() -> Self {
        Self::default()
    }

    /// With one more provider. Where two read the same kind of spec, the earlier one does.
    #[must_use]
    pub fn provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.providers.push(provider);
        self
    }

    /// Runs the verb that the command line names.
    pub fn run(self) -> ExitCode {
        let cli = Cli::parse();
        // Fails only if it was done before, which is as good.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let providers = Providers::new(self.providers);
        let result = match cli.command {
            Command::Run(arguments) => verbs::run::main(&arguments, cli.logging, &providers),
            #[cfg(feature = "playground")]
            Command::Playground(arguments) => verbs::playground::main(arguments, cli.logging),
            Command::Annotate(arguments) => verbs::annotate::main(&arguments),
            Command::Catalogue(arguments) => verbs::catalogue::main(&arguments),
            Command::Recycle(arguments) => {
                verbs::recycle::main(&arguments, cli.logging, &providers)
            }
            Command::TerminationHandler(arguments) => {
                verbs::termination_handler::main(&arguments, cli.logging)
            }
            Command::Crds => verbs::crds::main(),
            Command::Version => verbs::version::main(),
        };
        exit::code(result)
    }
}
