//! Log lines: for people on a terminal, for programs with `--log-format json`. They go to stderr.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::cli::{LogFormat, Logging};

/// Starts logging. `default` is used where `$RUST_LOG` says nothing.
pub(crate) fn start(logging: Logging, default: &str) {
    // kube logs every failed request as an error of its own; ours say more, once.
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("{default},kube_client=off,tower=off")));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    // An error means that somebody (a test) has started logging before.
    drop(match logging.log_format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    });
}
