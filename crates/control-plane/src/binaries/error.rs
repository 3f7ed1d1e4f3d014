//! What is said when a program could not be had: every way that was tried, and what each answered.

use std::fmt;
use std::path::PathBuf;

use super::{Binary, BuildError, CacheError, DownloadError, Release};

/// What one of the places answered.
#[derive(Debug)]
#[non_exhaustive]
pub enum Attempt {
    /// `KUBEBUILDER_ASSETS` is not set.
    AssetsNotSet,
    /// `KUBEBUILDER_ASSETS` is set, but a version was asked for and the folder does not say which one it has.
    AssetsVersionUnknown(PathBuf),
    /// `KUBEBUILDER_ASSETS` names a folder without this program.
    AssetsLackIt(PathBuf),
    /// The cache does not have the file.
    NotCached(PathBuf),
    /// Downloads are switched off.
    DownloadOff,
    /// The project is not downloaded at all.
    NotDownloadable,
    /// The download failed.
    Download(DownloadError),
    /// The Go build failed.
    Build(BuildError),
}

impl fmt::Display for Attempt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AssetsNotSet => write!(
                formatter,
                "KUBEBUILDER_ASSETS: not set (name a folder that has the program)"
            ),
            Self::AssetsVersionUnknown(folder) => write!(
                formatter,
                "KUBEBUILDER_ASSETS: {} is not used when a version is asked for by number",
                folder.display()
            ),
            Self::AssetsLackIt(folder) => {
                write!(formatter, "KUBEBUILDER_ASSETS: {} does not have it", folder.display())
            }
            Self::NotCached(file) => {
                write!(formatter, "cache: no {} (MACHINIST_CACHE moves the cache)", file.display())
            }
            Self::DownloadOff => {
                write!(formatter, "download: switched off by MACHINIST_DOWNLOAD=off")
            }
            Self::NotDownloadable => write!(
                formatter,
                "download: not offered, because its stage files come with the Go module"
            ),
            Self::Download(error) => write!(formatter, "download: {error}"),
            Self::Build(error) => write!(formatter, "Go build: {error}"),
        }
    }
}

/// A program could not be had in any way.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// Every place was asked and none has it.
    #[error("no {binary} of {release} for this machine; tried in this order:{}", list(attempts))]
    Nowhere {
        /// The program.
        binary: Binary,
        /// The release it was wanted from.
        release: Release,
        /// What each place answered.
        attempts: Vec<Attempt>,
    },
    /// The cache folder cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

fn list(attempts: &[Attempt]) -> String {
    let lines: Vec<String> = attempts.iter().map(|attempt| format!("\n  - {attempt}")).collect();
    lines.concat()
}
