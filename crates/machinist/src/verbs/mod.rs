//! One module per verb.

use crate::terminal::{self, Printable};

pub(crate) mod annotate;
pub(crate) mod catalogue;
mod confirm;
pub(crate) mod convert;
pub mod crds;
pub(crate) mod orphans;
pub mod output;
#[cfg(feature = "playground")]
pub(crate) mod playground;
pub mod recycle;
pub mod rollout;
pub mod run;
mod table;
pub(crate) mod termination_handler;
pub(crate) mod version;

/// Runs until the end of `work`. A DNS lookup that hangs must not delay the exit.
fn block_on(
    mut runtime: tokio::runtime::Builder,
    work: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let runtime = runtime.enable_all().build()?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}

/// Prints to stdout. A reader that closes the pipe early, such as `head`, is not an error.
fn print(text: &Printable) -> std::io::Result<()> {
    match terminal::print(text) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
