//! The order in which the places are asked.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::build;
use super::cache::{self, CacheError, Folder, FolderLock};
use super::download::{self, Sites};
use super::error::{Attempt, NotFound};
use super::progress::say;
use super::release::{Binary, Release};
use crate::version::KubernetesVersion;

const KUBERNETES_SITE: &str = "https://dl.k8s.io";
const ETCD_SITE: &str = "https://github.com/etcd-io/etcd/releases/download";

/// Where programs are looked for. The default is what the environment says; tests set fields of their own.
#[derive(Debug, Clone)]
pub struct Sources {
    /// A folder with programs of the user's choice (`KUBEBUILDER_ASSETS`).
    pub assets: Option<PathBuf>,
    /// The root of the cache (`MACHINIST_CACHE`, else `XDG_CACHE_HOME/machinist`, else `~/.cache/machinist`).
    pub cache: PathBuf,
    /// Base address of the Kubernetes releases, laid out as on `dl.k8s.io` (`MACHINIST_KUBERNETES_URL`).
    pub kubernetes_url: String,
    /// Base address of the etcd releases, laid out as on GitHub (`MACHINIST_ETCD_URL`).
    pub etcd_url: String,
    /// Whether to download at all (`MACHINIST_DOWNLOAD=off` switches it off).
    pub download: bool,
    /// The Go command for the last way, looked up in `PATH` unless it is a path.
    pub go: PathBuf,
}

impl Sources {
    /// What the environment says.
    pub fn from_env() -> Result<Self, CacheError> {
        let text = |name: &str, default: &str| {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty());
            value.unwrap_or_else(|| default.to_owned()).trim_end_matches('/').to_owned()
        };
        Ok(Self {
            assets: std::env::var_os("KUBEBUILDER_ASSETS")
                .filter(|it| !it.is_empty())
                .map(PathBuf::from),
            cache: cache::default_root()?,
            kubernetes_url: text("MACHINIST_KUBERNETES_URL", KUBERNETES_SITE),
            etcd_url: text("MACHINIST_ETCD_URL", ETCD_SITE),
            download: std::env::var_os("MACHINIST_DOWNLOAD").as_deref() != Some(OsStr::new("off")),
            go: PathBuf::from("go"),
        })
    }

    /// The path of a program. `version: None` means the default version, or whatever `KUBEBUILDER_ASSETS` holds:
    /// that folder does not say which version it has, so it is not asked when a version is given.
    pub async fn find(
        &self,
        binary: Binary,
        version: Option<KubernetesVersion>,
    ) -> Result<PathBuf, NotFound> {
        let mut attempts = Vec::new();
        match self.in_assets(binary, version) {
            Ok(path) => return Ok(path),
            Err(attempt) => attempts.push(attempt),
        }
        let release = binary.release(version.unwrap_or_default());
        let folder = Folder::new(&self.cache, release);
        let cached = folder.binary(binary);
        if cached.is_file() {
            return Ok(cached);
        }
        attempts.push(Attempt::NotCached(cached.clone()));
        let lock = lock(folder, binary).await?;
        if cached.is_file() {
            return Ok(cached);
        }
        self.fill(binary, release, &lock, attempts).await
    }

    fn in_assets(
        &self,
        binary: Binary,
        version: Option<KubernetesVersion>,
    ) -> Result<PathBuf, Attempt> {
        let folder = self.assets.as_deref().ok_or(Attempt::AssetsNotSet)?;
        // etcd is the same for every Kubernetes version, and kwok needs the stages that only the cache has.
        if version.is_some() && binary != Binary::Etcd {
            return Err(Attempt::AssetsVersionUnknown(folder.to_owned()));
        }
        let path = folder.join(binary.file_name());
        let usable = binary != Binary::Kwok && path.is_file();
        if usable { Ok(path) } else { Err(Attempt::AssetsLackIt(folder.to_owned())) }
    }

    async fn fill(
        &self,
        binary: Binary,
        release: Release,
        lock: &FolderLock,
        mut attempts: Vec<Attempt>,
    ) -> Result<PathBuf, NotFound> {
        let sites = Sites { kubernetes: self.kubernetes_url.clone(), etcd: self.etcd_url.clone() };
        if self.download {
            match download::fetch(&sites, binary, release, lock).await {
                Some(Ok(path)) => return Ok(path),
                Some(Err(error)) => attempts.push(Attempt::Download(error)),
                None => attempts.push(Attempt::NotDownloadable),
            }
        } else {
            attempts.push(Attempt::DownloadOff);
        }
        match build::build(binary, release, lock, &self.go).await {
            Ok(path) => return Ok(path),
            Err(error) => attempts.push(Attempt::Build(error)),
        }
        Err(NotFound::Nowhere { binary, release, attempts })
    }

    /// The stage files of kwok, which are in the cache beside it.
    pub(crate) fn kwok_stages(kwok: &Path) -> PathBuf {
        kwok.with_file_name(build::KWOK_STAGES)
    }
}

async fn lock(folder: Folder, binary: Binary) -> Result<FolderLock, CacheError> {
    let announce = move || {
        say(&format!("waiting for another process that is getting {binary}"));
    };
    match tokio::task::spawn_blocking(move || folder.lock(announce)).await {
        Ok(locked) => locked,
        // The runtime is shutting down; no caller is left to take the lock.
        Err(_) => Err(CacheError::NoPlace),
    }
}
