//! The temporary folder of one control plane. `internal/` is for the programs alone, and its path is the mark by which
//! the guard finds them. What people and tests read (kubeconfig, audit log, logs) lies outside of it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::messages;

/// Memory-backed storage, where the noise of a disk does not reach a measurement.
const MEMORY: &str = "/dev/shm";
/// etcd alone preallocates 128 MiB; containers often have only 64 MiB of shared memory.
const ENOUGH_BYTES: u64 = 2 << 30;

pub(crate) struct Folder {
    root: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new() -> Result<Self> {
        let parent = parent();
        let root = tempfile::Builder::new()
            .prefix("machinist-control-plane-")
            .tempdir_in(&parent)
            .with_context(|| messages::cannot("write into", parent.display()))?;
        for sub in ["internal", "logs"] {
            let path = root.path().join(sub);
            fs::create_dir(&path).with_context(|| messages::cannot("create", path.display()))?;
        }
        Ok(Self { root })
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn internal(&self, name: &str) -> PathBuf {
        self.root().join("internal").join(name)
    }

    pub(crate) fn mark(&self) -> String {
        self.internal("").display().to_string()
    }

    /// Writes a file that only this user can read: most of them hold keys.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<PathBuf> {
        let path = self.root().join(name);
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(content.as_bytes()))
            .with_context(|| messages::cannot("write", path.display()))?;
        Ok(path)
    }

    pub(crate) fn write_internal(&self, name: &str, content: &str) -> Result<PathBuf> {
        self.write(&format!("internal/{name}"), content)
    }
}

fn parent() -> PathBuf {
    let roomy = rustix::fs::statvfs(MEMORY)
        .is_ok_and(|found| found.f_bavail.saturating_mul(found.f_frsize) >= ENOUGH_BYTES);
    if roomy { PathBuf::from(MEMORY) } else { std::env::temp_dir() }
}
