//! The temporary folder of one control plane.
//!
//! `internal/` is for the programs alone: its path appears in their command lines and is the mark by which the guard
//! finds them. What people and tests read (kubeconfig, audit log, logs) lies outside of it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Memory-backed storage, where the noise of a disk does not reach a measurement.
const MEMORY: &str = "/dev/shm";
/// etcd alone preallocates 128 MiB; containers often have only 64 MiB of shared memory.
const ENOUGH_BYTES: u64 = 2 << 30;

/// The folder; it goes when dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    root: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new() -> Result<Self, Error> {
        let parent = parent();
        let root = tempfile::Builder::new()
            .prefix("machinist-control-plane-")
            .tempdir_in(&parent)
            .map_err(Error::file("write into", &parent))?;
        let folder = Self { root };
        for sub in [folder.internal(""), folder.path("logs")] {
            fs::create_dir_all(&sub).map_err(Error::file("create", &sub))?;
        }
        Ok(folder)
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// A path that only the programs know.
    pub(crate) fn internal(&self, name: &str) -> PathBuf {
        self.root().join("internal").join(name)
    }

    pub(crate) fn log(&self, program: &str) -> PathBuf {
        self.root().join("logs").join(format!("{program}.log"))
    }

    /// Writes a file that only this user can read: most of them hold keys.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<PathBuf, Error> {
        let path = self.path(name);
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(content.as_bytes()))
            .map_err(Error::file("write", &path))?;
        Ok(path)
    }

    pub(crate) fn write_internal(&self, name: &str, content: &str) -> Result<PathBuf, Error> {
        self.write(&format!("internal/{name}"), content)
    }
}

fn parent() -> PathBuf {
    let roomy = rustix::fs::statvfs(MEMORY)
        .is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= ENOUGH_BYTES);
    if roomy { PathBuf::from(MEMORY) } else { std::env::temp_dir() }
}
