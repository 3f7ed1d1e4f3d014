//! What a person sees while a program is fetched or built: a bar on a terminal, plain lines elsewhere. It goes to
//! stderr past the capture of Rust's test harness: a test binary that is silent for minutes looks hung.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::messages;

pub(super) fn print(message: &str) {
    // There is no other place to report that stderr is closed.
    writeln!(io::stderr(), "machinist control-plane: {message}").ok();
}

/// A running download or build. One that is dropped instead of finished failed, and the error has the reason.
pub(super) struct Progress {
    label: String,
    started: Instant,
    /// Draws nothing without a terminal, and is cleared when dropped.
    bar: ProgressBar,
}

impl Progress {
    pub(super) fn download(url: &str, length: Option<u64>) -> Self {
        let template = match length {
            Some(_) => "{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}",
            None => "{spinner} {msg} {bytes}",
        };
        let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        Self::begin(messages::downloading(url), bar, template)
    }

    pub(super) fn build(what: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(200));
        Self::begin(messages::building(what), bar, "{spinner} {msg} {elapsed}")
    }

    /// Without a terminal, prints that a build is still running.
    pub(super) fn remind(&self, what: &str) {
        if !io::stderr().is_terminal() {
            print(&messages::still_building(what, self.started.elapsed().as_secs()));
        }
    }

    fn begin(label: String, bar: ProgressBar, template: &str) -> Self {
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(label.clone());
        if !io::stderr().is_terminal() {
            print(&label);
        }
        Self { label, started: Instant::now(), bar }
    }

    pub(super) fn advance(&self, bytes: usize) {
        self.bar.inc(bytes as u64);
    }

    pub(super) fn finish(self) {
        self.bar.finish_and_clear();
        print(&messages::finished(&self.label, self.started.elapsed().as_secs()));
    }
}
