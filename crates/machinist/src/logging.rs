//! Log lines on stderr: text, or JSON with `--log-format json`.

use std::fmt;
#[cfg(feature = "playground")]
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::format::{self, Format, Json, JsonFields, Writer, debug_fn};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use crate::cli::{LogFormat, Logging};
use crate::terminal::{self, escape, escape_json};

pub(crate) fn start(logging: Logging, default: &str) {
    start_with(logging, default, stderr, terminal::stderr_is_terminal());
}

/// To a file instead of stderr, where a view fills the terminal.
#[cfg(feature = "playground")]
pub(crate) fn start_in(logging: Logging, default: &str, file: File) {
    start_with(logging, default, std::sync::Mutex::new(Counted(file)), false);
}

fn start_with<W>(logging: Logging, default: &str, writer: W, ansi: bool)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // kube logs every failed request; the controllers log it too, with the object.
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("{default},kube_client=off,tower=off")));
    let lines =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(ansi);
    // An error means that a test started logging before.
    drop(match logging.log_format {
        LogFormat::Text => lines.fmt_fields(fields()).try_init(),
        LogFormat::Json => {
            lines.fmt_fields(JsonFields::new()).event_format(EscapedJson::new()).try_init()
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "log lines are escaped below")]
fn stderr() -> Counted<std::io::Stderr> {
    Counted(std::io::stderr())
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

/// JSON lines. JSON escapes only C0 controls by itself; a terminal obeys more.
struct EscapedJson(Format<Json>);

impl EscapedJson {
    fn new() -> Self {
        Self(format::json().flatten_event(true))
    }
}

impl<S, N> FormatEvent<S, N> for EscapedJson
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        write!(writer, "{}", escape_json(&line))
    }
}

/// How many log lines were written.
#[cfg(feature = "playground")]
pub(crate) fn writes() -> usize {
    WRITES.load(Ordering::Relaxed)
}

static WRITES: AtomicUsize = AtomicUsize::new(0);

struct Counted<W>(W);

impl<W: Write> Write for Counted<W> {
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
    use crate::terminal::controls_terminal;
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

    impl Lines {
        /// The one line that was written. A terminal would obey nothing in it.
        fn one(&self) -> String {
            let written = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            let line = written.strip_suffix('\n').unwrap();
            assert!(!line.contains(controls_terminal), "{line:?}");
            line.to_owned()
        }
    }

    fn warn(subscriber: impl Subscriber + Send + Sync + 'static) {
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(error = %HOSTILE, event = ?HOSTILE, text = HOSTILE, "about {HOSTILE}");
        });
    }

    #[test]
    fn a_json_line_escapes_what_would_control_the_terminal_and_stays_json() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .fmt_fields(JsonFields::new())
            .event_format(EscapedJson::new());
        warn(subscriber.finish());
        let line: serde_json::Value = serde_json::from_str(&lines.one()).unwrap();
        assert_eq!(line["text"], HOSTILE);
        assert_eq!(line["error"], HOSTILE);
        assert_eq!(line["message"], format!("about {HOSTILE}"));
        assert_eq!(line["level"], "WARN");
    }

    #[test]
    fn a_text_line_quotes_what_would_control_the_terminal() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .fmt_fields(fields());
        warn(subscriber.finish());
        let line = lines.one();
        for part in [r"about a\u{1b}[2J", r" error=a\u{1b}[2J", r#" text="a\u{1b}[2J"#] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
}
