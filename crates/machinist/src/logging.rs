//! Log lines on stderr: text, or JSON with `--log-format json`.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::debug_fn;

use crate::cli::{LogFormat, Logging};
use crate::terminal::escape;

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
        LogFormat::Text => lines.fmt_fields(fields()).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    });
}

/// Message and fields of a text line. They quote clusters and clouds, so they are escaped, line breaks included.
fn fields() -> impl for<'writer> FormatFields<'writer> + 'static {
    debug_fn(|writer, field, value| {
        let value = format!("{value:?}");
        match (field.name(), writer.has_ansi_escapes()) {
            ("message", _) => write!(writer, "{}", escape(&value)),
            (name, true) => write!(writer, "\x1b[3m{name}\x1b[0m\x1b[2m=\x1b[0m{}", escape(&value)),
            (name, false) => write!(writer, "{name}={}", escape(&value)),
        }
    })
    .delimited(" ")
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;
    use crate::terminal::is_obeyed;
    use crate::terminal::tests::HOSTILE;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_text_line_quotes_what_would_control_the_terminal() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .fmt_fields(fields())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(error = %HOSTILE, event = ?HOSTILE, text = HOSTILE, "about {HOSTILE}");
        });
        let written = lines.0.lock().unwrap().clone();
        let written = String::from_utf8(written).unwrap();
        let line = written.strip_suffix('\n').unwrap();
        assert!(!line.contains(is_obeyed), "{line:?}");
        for part in [r"about a\u{1b}[2J", r" error=a\u{1b}[2J", r#" text="a\u{1b}[2J"#] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}
