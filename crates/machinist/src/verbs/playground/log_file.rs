//! The log, in a file of its own while a view fills the terminal. It stays if there is something in it.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use super::messages;
use crate::cli::Logging;
use crate::logging;

const READABLE_BY_OWNER: u32 = 0o600;

#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
}

impl LogFile {
    pub(super) fn start(logging: Logging, filter: &str) -> std::io::Result<Self> {
        let name = format!("machinist-playground-{:08x}.log", fastrand::u32(..));
        let path = std::env::temp_dir().join(name);
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).mode(READABLE_BY_OWNER).open(&path)?;
        logging::start_in(logging, filter, file);
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Removes an empty file, or returns where the log is.
    pub(super) fn end(self) -> Option<String> {
        let lines = logging::writes();
        if lines == 0 {
            drop(fs::remove_file(&self.path));
            return None;
        }
        Some(messages::log(lines, &self.path()))
    }
}
