//! What a person sees while a program is fetched or built: a bar on a terminal, plain lines elsewhere.
//!
//! Everything goes to stderr directly, past the capture of Rust's test harness: a test binary that is silent for
//! minutes looks hung.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often a long build says that it is still running, where there is no terminal.
const REMINDER: Duration = Duration::from_secs(30);

/// One line on stderr.
pub(super) fn say(message: &str) {
    // There is no other place to report that stderr is closed.
    writeln!(io::stderr(), "machinist control-plane: {message}").ok();
}

/// A running download or build.
#[derive(Debug)]
pub(super) struct Progress {
    label: String,
    started: Instant,
    bar: Option<ProgressBar>,
    /// Dropped to stop the reminders.
    reminders: Option<mpsc::Sender<()>>,
}

impl Progress {
    /// A download of a known or unknown size.
    pub(super) fn download(url: &str, length: Option<u64>) -> Self {
        let (bar, template) = match length {
            Some(length) => {
                (ProgressBar::new(length), "{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}")
            }
            None => (ProgressBar::new_spinner(), "{spinner} {msg} {bytes}"),
        };
        Self::begin(format!("downloading {url}"), bar, template)
    }

    /// A Go build, whose length is unknown.
    pub(super) fn build(what: &str) -> Self {
        let label = format!("building {what} with Go (minutes, once per machine)");
        let mut progress =
            Self::begin(label, ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}");
        match &progress.bar {
            Some(bar) => bar.enable_steady_tick(Duration::from_millis(200)),
            None => progress.reminders = Some(remind(what.to_owned(), progress.started)),
        }
        progress
    }

    fn begin(label: String, bar: ProgressBar, template: &str) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_message(label.clone());
            bar
        });
        if bar.is_none() {
            say(&label);
        }
        Self { label, started: Instant::now(), bar, reminders: None }
    }

    pub(super) fn advance(&self, bytes: usize) {
        if let Some(bar) = &self.bar {
            bar.inc(bytes as u64);
        }
    }

    /// Says that it is done. A `Progress` that is dropped instead failed, and the error says why.
    pub(super) fn finish(self) {
        let seconds = self.started.elapsed().as_secs();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        say(&format!("{}: done in {seconds} s", self.label));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn remind(what: String, started: Instant) -> mpsc::Sender<()> {
    let (stop, stopped) = mpsc::channel();
    std::thread::spawn(move || {
        while stopped.recv_timeout(REMINDER) == Err(mpsc::RecvTimeoutError::Timeout) {
            say(&format!("still building {what}, {} s so far", started.elapsed().as_secs()));
        }
    });
    stop
}
