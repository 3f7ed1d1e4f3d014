//! The folder in which fetched and built programs are kept, one sub-folder per release and platform. A file in it is
//! complete, and a lock keeps parallel test binaries from building the same thing twice.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

use super::progress::print;
use super::release::{Binary, Release, platform};
use crate::messages;

const INCOMPLETE: &str = ".incomplete-";
const POLL: Duration = Duration::from_millis(200);

pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(super) fn new(root: &Path, release: Release) -> Self {
        let (os, arch) = platform();
        Self { folder: root.join("control-plane").join(format!("{release}-{os}-{arch}")) }
    }

    pub(super) fn file(&self, binary: Binary) -> PathBuf {
        self.folder.join(binary.file_name())
    }

    /// Waits for the right to fill this folder.
    pub(super) async fn lock(self, binary: Binary) -> Result<Locked> {
        let failed = || messages::cannot("use the cache", self.folder.display());
        fs::create_dir_all(&self.folder).with_context(failed)?;
        let file = File::create(self.folder.join(".lock")).with_context(failed)?;
        let mut announced = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(error).with_context(failed),
                Err(TryLockError::WouldBlock) if announced => {}
                Err(TryLockError::WouldBlock) => {
                    print(&messages::waiting(binary));
                    announced = true;
                }
            }
            tokio::time::sleep(POLL).await;
        }
        // A killed process left these half written; under the lock no other process is writing.
        for entry in fs::read_dir(&self.folder).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            if entry.file_name().to_string_lossy().starts_with(INCOMPLETE) {
                fs::remove_file(entry.path()).with_context(failed)?;
            }
        }
        Ok(Locked { cache: self, _file: file })
    }
}

pub(super) struct Locked {
    cache: Cache,
    _file: File,
}

impl Locked {
    /// A file that vanishes unless it is stored.
    pub(super) fn temporary(&self) -> Result<NamedTempFile> {
        let folder = &self.cache.folder;
        let file = tempfile::Builder::new().prefix(INCOMPLETE).tempfile_in(folder);
        file.with_context(|| messages::cannot("write into the cache", folder.display()))
    }

    /// Gives a complete file its name, in one step.
    pub(super) fn store(&self, file: NamedTempFile, binary: Binary) -> Result<PathBuf> {
        let target = self.cache.file(binary);
        let stored = fs::set_permissions(file.path(), fs::Permissions::from_mode(0o755))
            .and_then(|()| file.persist(&target).map_err(|error| error.error));
        stored.with_context(|| messages::cannot("write", target.display()))?;
        Ok(target)
    }
}
