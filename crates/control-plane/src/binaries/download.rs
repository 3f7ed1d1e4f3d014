//! The official releases, over HTTPS, with their published SHA-256 sums.
//!
//! Inputs: two base addresses and a release. Output: a verified executable in the cache. A file whose sum is wrong
//! or whose body is cut short never gets a name in the cache. Kubernetes publishes bare executables, etcd an archive;
//! both layouts are here, and nothing about where a base address comes from (that is [`super::Sources`]).

use std::io::{self, Read, Seek};
use std::path::PathBuf;

use ::http::StatusCode;

use super::cache::{CacheError, FolderLock};
use super::http::Http;
use super::release::{Binary, Release, platform};

/// Why a download did not give a program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadError {
    /// The address cannot be parsed.
    #[error("{url} is not an address")]
    BadUrl {
        /// The address.
        url: String,
    },
    /// There is no TLS set-up for this machine.
    #[error("no TLS roots: {0}")]
    Tls(#[source] io::Error),
    /// The server could not be reached or the connection broke.
    #[error("{url}: {reason}")]
    Transport {
        /// The address.
        url: String,
        /// The chain of causes in one line.
        reason: String,
    },
    /// Another answer than 200.
    #[error("{url}: the server said {status}")]
    Status {
        /// The address.
        url: String,
        /// The answer.
        status: StatusCode,
    },
    /// The list of checksums does not have the file.
    #[error("{url}: no SHA-256 sum for {file} in it")]
    NoChecksum {
        /// The address of the list.
        url: String,
        /// The file.
        file: String,
    },
    /// The file is not what the publisher says.
    #[error("{url}: wrong checksum: expected {expected}, got {actual}; the file was thrown away")]
    WrongChecksum {
        /// The address.
        url: String,
        /// What the publisher says.
        expected: String,
        /// What came.
        actual: String,
    },
    /// The archive does not have the program.
    #[error("{url}: cannot unpack: {source}")]
    Archive {
        /// The address.
        url: String,
        /// What went wrong.
        source: io::Error,
    },
    /// The cache could not be written.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Base addresses of the download sites.
#[derive(Debug, Clone)]
pub(super) struct Sites {
    pub(super) kubernetes: String,
    pub(super) etcd: String,
}

/// What to fetch and how to check it.
struct Plan {
    url: String,
    file: String,
    sums_url: String,
    /// The path inside the archive, for archives.
    member: Option<String>,
}

impl Sites {
    /// `None`: this release is not downloaded.
    fn plan(&self, binary: Binary, release: Release) -> Option<Plan> {
        let (os, arch) = platform();
        let version = release.version();
        match release {
            Release::Kwok => None,
            Release::Kubernetes(_) => {
                let url = format!("{}/v{version}/bin/{os}/{arch}/{binary}", self.kubernetes);
                let sums_url = format!("{url}.sha256");
                Some(Plan { url, file: binary.to_string(), sums_url, member: None })
            }
            Release::Etcd => {
                let stem = format!("etcd-v{version}-{os}-{arch}");
                let file = format!("{stem}.tar.gz");
                Some(Plan {
                    url: format!("{}/v{version}/{file}", self.etcd),
                    sums_url: format!("{}/v{version}/SHA256SUMS", self.etcd),
                    member: Some(format!("{stem}/{binary}")),
                    file,
                })
            }
        }
    }
}

/// Fetches, verifies and stores one program. `None`: this release is not downloaded.
pub(super) async fn fetch(
    sites: &Sites,
    binary: Binary,
    release: Release,
    lock: &FolderLock,
) -> Option<Result<PathBuf, DownloadError>> {
    let plan = sites.plan(binary, release)?;
    Some(fetch_plan(&plan, binary, lock).await)
}

async fn fetch_plan(
    plan: &Plan,
    binary: Binary,
    lock: &FolderLock,
) -> Result<PathBuf, DownloadError> {
    let http = Http::new()?;
    let sums = http.text(&plan.sums_url).await?;
    let expected = checksum_of(&sums, &plan.file).ok_or_else(|| DownloadError::NoChecksum {
        url: plan.sums_url.clone(),
        file: plan.file.clone(),
    })?;
    let mut file = lock.temporary()?;
    let actual = http.save(&plan.url, file.as_file_mut()).await?;
    if actual != expected {
        return Err(DownloadError::WrongChecksum { url: plan.url.clone(), expected, actual });
    }
    let Some(member) = &plan.member else {
        return Ok(lock.adopt(file, binary.file_name(), 0o755)?);
    };
    let content = unpack(file.as_file_mut(), member)
        .map_err(|source| DownloadError::Archive { url: plan.url.clone(), source })?;
    Ok(lock.store(binary, &content)?)
}

/// Finds a file's sum in a `SHA256SUMS` list, or takes the bare sum of a `.sha256` file.
fn checksum_of(sums: &str, file: &str) -> Option<String> {
    sums.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let sum = words.next()?;
        let is_sum = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
        let names_it = words.next().is_none_or(|name| name.trim_start_matches('*') == file);
        (is_sum && names_it).then(|| sum.to_ascii_lowercase())
    })
}

fn unpack(archive: &mut std::fs::File, member: &str) -> io::Result<Vec<u8>> {
    archive.rewind()?;
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(io::BufReader::new(archive)));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.path()?.as_os_str() == member {
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            return Ok(content);
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, format!("no {member} in the archive")))
}

#[cfg(test)]
mod tests {
    use super::checksum_of;

    const SUM: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_bare_sum_is_taken_whatever_the_file_is_called() {
        assert_eq!(checksum_of(&format!("{SUM}\n"), "kubectl").as_deref(), Some(SUM));
    }

    #[test]
    fn a_list_is_searched_by_file_name() {
        let list = format!("{}  other.tar.gz\n{SUM}  etcd.tar.gz\n", "0".repeat(64));
        assert_eq!(checksum_of(&list, "etcd.tar.gz").as_deref(), Some(SUM));
        assert_eq!(checksum_of(&list, "missing.tar.gz"), None);
    }

    #[test]
    fn an_error_page_is_not_a_sum() {
        assert_eq!(checksum_of("<html>Not Found</html>", "kubectl"), None);
    }
}
