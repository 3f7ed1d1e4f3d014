//! One file per verb.

use std::io::Write;

pub mod annotate;
pub mod catalogue;
pub mod crds;
#[cfg(feature = "playground")]
pub mod playground;
pub mod recycle;
pub mod run;
pub mod termination_handler;
pub mod version;

/// Prints to stdout. Whoever reads it may stop early, as `head` does.
fn print(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
