//! The folder in which fetched and built programs are kept, one sub-folder per release and platform.
//!
//! Invariants: a file in the cache is complete (it is written under another name and renamed), and only
//! one process at a time fills a release's folder (a lock file), so parallel test binaries do not build
//! the same thing twice.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::release::{Binary, Release, platform};

/// How the names of files begin that are not complete yet.
const INCOMPLETE: &str = ".incomplete-";

/// The cache folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Neither of the variables that could name a folder is set.
    #[error("no place for the cache: set MACHINIST_CACHE, XDG_CACHE_HOME or HOME")]
    NoPlace,
    /// A file operation failed.
    #[error("cache: cannot {what} {path}")]
    Io {
        /// What was tried, as a verb.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CacheError + use<> {
    let path = path.to_owned();
    move |source| CacheError::Io { what, path, source }
}

/// `$MACHINIST_CACHE`, else `$XDG_CACHE_HOME/machinist`, else `~/.cache/machinist`.
pub(super) fn default_root() -> Result<PathBuf, CacheError> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("MACHINIST_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("machinist")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".cache/machinist")))
        .ok_or(CacheError::NoPlace)
}

/// One release's folder in the cache.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(root: &Path, release: Release) -> Self {
        let (os, arch) = platform();
        Self { path: root.join("control-plane").join(format!("{release}-{os}-{arch}")) }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn binary(&self, binary: Binary) -> PathBuf {
        self.file(binary.file_name())
    }

    /// Waits for the right to fill this folder. The lock goes when the value is dropped, or with the process.
    pub(super) fn lock(&self, announce: impl FnOnce()) -> Result<FolderLock, CacheError> {
        fs::create_dir_all(&self.path).map_err(failed("create", &self.path))?;
        let path = self.file(".lock");
        let file = File::create(&path).map_err(failed("create", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                announce();
                file.lock().map_err(failed("lock", &path))?;
            }
            Err(TryLockError::Error(source)) => return Err(failed("lock", &path)(source)),
        }
        self.remove_incomplete()?;
        Ok(FolderLock { folder: self.clone(), _file: file })
    }

    /// Removes what a killed process left half written. Called under the lock, so no other process is writing.
    fn remove_incomplete(&self) -> Result<(), CacheError> {
        for entry in fs::read_dir(&self.path).map_err(failed("read", &self.path))? {
            let path = entry.map_err(failed("read", &self.path))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(INCOMPLETE) {
                fs::remove_file(&path).map_err(failed("remove", &path))?;
            }
        }
        Ok(())
    }
}

/// The right to write into a release's folder.
#[derive(Debug)]
pub(super) struct FolderLock {
    folder: Folder,
    _file: File,
}

impl FolderLock {
    /// Puts an executable into the cache, from memory.
    pub(super) fn store(&self, binary: Binary, content: &[u8]) -> Result<PathBuf, CacheError> {
        let target = self.folder.binary(binary);
        let mut file = self.temporary()?;
        file.write_all(content).map_err(failed("write", &target))?;
        self.adopt(file, binary.file_name(), 0o755)
    }

    /// Puts a text beside the executables.
    pub(super) fn store_text(&self, name: &str, content: &str) -> Result<PathBuf, CacheError> {
        let mut file = self.temporary()?;
        file.write_all(content.as_bytes()).map_err(failed("write", &self.folder.file(name)))?;
        self.adopt(file, name, 0o644)
    }

    /// A file that vanishes unless it is adopted.
    pub(super) fn temporary(&self) -> Result<tempfile::NamedTempFile, CacheError> {
        tempfile::Builder::new()
            .prefix(INCOMPLETE)
            .tempfile_in(&self.folder.path)
            .map_err(failed("write into", &self.folder.path))
    }

    /// Gives a complete file its name, in one step.
    pub(super) fn adopt(
        &self,
        file: tempfile::NamedTempFile,
        name: &str,
        mode: u32,
    ) -> Result<PathBuf, CacheError> {
        let target = self.folder.file(name);
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode))
            .map_err(failed("set permissions of", file.path()))?;
        file.persist(&target).map_err(|error| failed("write", &target)(error.error))?;
        Ok(target)
    }
}
