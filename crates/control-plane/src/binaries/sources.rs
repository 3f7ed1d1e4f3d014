//! The order in which the places are tried.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::build;
use super::cache::Cache;
use super::download;
use super::release::Binary;
use crate::messages;
use crate::version::KubernetesVersion;

const KUBERNETES_SITE: &str = "https://dl.k8s.io";
const ETCD_SITE: &str = "https://github.com/etcd-io/etcd/releases/download";

/// Where programs are looked for.
#[derive(Debug, Clone)]
pub struct Sources {
    pub(super) assets: Option<PathBuf>,
    pub(super) cache: PathBuf,
    /// Laid out as `dl.k8s.io`.
    pub(super) kubernetes_url: String,
    /// Laid out as the releases on GitHub.
    pub(super) etcd_url: String,
    pub(super) download: bool,
    pub(super) go: PathBuf,
}

impl Sources {
    /// From the environment.
    pub fn from_env() -> Result<Self> {
        let path = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let url = |name: &str, default: &str| {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty());
            value.unwrap_or_else(|| default.to_owned()).trim_end_matches('/').to_owned()
        };
        let cache = path("MACHINIST_CACHE")
            .or_else(|| path("XDG_CACHE_HOME").map(|folder| folder.join("machinist")))
            .or_else(|| path("HOME").map(|folder| folder.join(".cache/machinist")));
        Ok(Self {
            assets: path("KUBEBUILDER_ASSETS"),
            cache: cache.context(messages::NO_CACHE)?,
            kubernetes_url: url("MACHINIST_KUBERNETES_URL", KUBERNETES_SITE),
            etcd_url: url("MACHINIST_ETCD_URL", ETCD_SITE),
            download: std::env::var_os("MACHINIST_DOWNLOAD").as_deref() != Some(OsStr::new("off")),
            go: PathBuf::from("go"),
        })
    }

    /// The path of a program. `version: None` means the default version, or whatever `KUBEBUILDER_ASSETS` holds:
    /// the version in that folder is unknown, so it is skipped when a version is given.
    pub async fn find(
        &self,
        binary: Binary,
        version: Option<KubernetesVersion>,
    ) -> Result<PathBuf> {
        let mut tried = Vec::new();
        match self.in_assets(binary, version) {
            Ok(path) => return Ok(path),
            Err(reason) => tried.push(messages::tried("KUBEBUILDER_ASSETS", reason)),
        }
        let release = binary.release(version.unwrap_or_default());
        let cache = Cache::new(&self.cache, release);
        let cached = cache.file(binary);
        if cached.is_file() {
            return Ok(cached);
        }
        let lock = cache.lock(binary).await?;
        if cached.is_file() {
            return Ok(cached);
        }
        tried.push(messages::tried("cache", messages::not_cached(&cached)));
        match download::fetch(self, binary, release, &lock).await {
            Ok(path) => return Ok(path),
            Err(error) => tried.push(messages::tried("download", format_args!("{error:#}"))),
        }
        match build::build(self, binary, release, &lock).await {
            Ok(path) => return Ok(path),
            Err(error) => tried.push(messages::tried("Go build", format_args!("{error:#}"))),
        }
        bail!(messages::nowhere(binary, release, &tried));
    }

    fn in_assets(
        &self,
        binary: Binary,
        version: Option<KubernetesVersion>,
    ) -> Result<PathBuf, String> {
        let Some(folder) = &self.assets else {
            return Err(messages::NO_ASSETS.to_owned());
        };
        // etcd is the same for every Kubernetes version; kwok must be that of the stage files in its Go module.
        if binary == Binary::Kwok || (version.is_some() && binary != Binary::Etcd) {
            return Err(messages::unknown_version(folder, binary));
        }
        let path = folder.join(binary.file_name());
        if path.is_file() { Ok(path) } else { Err(messages::no_asset(folder, binary)) }
    }
}
