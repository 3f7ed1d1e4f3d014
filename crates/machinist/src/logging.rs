//! Log lines on stderr: text, or JSON with `--log-format json`.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing_subscriber::EnvFilter;

use crate::cli::{LogFormat, Logging};

pub(crate) fn start(logging: Logging, default: &str) {
    // kube logs every failed request; the controllers log it too, with the object.
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("{default},kube_client=off,tower=off")));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Counted(std::io::stderr()))
        .with_ansi(std::io::stderr().is_terminal());
    // An error means that a test started logging before.
    drop(match logging.log_format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    });
}

/// How many log lines were written. The playground redraws its table only if there were none below it.
#[cfg(feature = "playground")]
pub(crate) fn writes() -> usize {
    WRITES.load(Ordering::Relaxed)
}

static WRITES: AtomicUsize = AtomicUsize::new(0);

struct Counted(std::io::Stderr);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        WRITES.fetch_add(1, Ordering::Relaxed);
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}
