//! The official releases, over HTTPS, with their SHA-256 sums. Kubernetes publishes bare executables, etcd an archive.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use sha2::{Digest, Sha256};

use super::cache::Locked;
use super::progress::Progress;
use super::release::{Binary, Release, platform};
use super::sources::Sources;
use crate::messages;
use crate::version::ETCD_VERSION;

/// Offline machines must fall through to the Go build quickly.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Name resolution, TLS and the answer's head; some resolvers need 5 s for a negative answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// A body that stands still for this long is given up.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;
/// A list of checksums is a few kilobytes; more than this is not one.
const MAX_TEXT: usize = 1 << 20;

type HttpClient = Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

pub(super) async fn fetch(
    sources: &Sources,
    binary: Binary,
    release: Release,
    lock: &Locked,
) -> Result<PathBuf> {
    ensure!(sources.download, messages::DOWNLOAD_OFF);
    let (os, arch) = platform();
    match release {
        Release::Kwok => bail!(messages::ALWAYS_BUILT),
        Release::Kubernetes(version) => {
            let url = format!("{}/v{version}/bin/{os}/{arch}/{binary}", sources.kubernetes_url);
            let file = verified(&url, &format!("{url}.sha256"), binary.file_name(), lock).await?;
            lock.store(file, binary)
        }
        Release::Etcd => {
            let stem = format!("etcd-v{ETCD_VERSION}-{os}-{arch}");
            let folder = format!("{}/v{ETCD_VERSION}", sources.etcd_url);
            let (name, sums) = (format!("{stem}.tar.gz"), format!("{folder}/SHA256SUMS"));
            let url = format!("{folder}/{name}");
            let mut archive = verified(&url, &sums, &name, lock).await?;
            let mut program = lock.temporary()?;
            unpack(archive.as_file_mut(), &format!("{stem}/{binary}"), program.as_file_mut())
                .with_context(|| messages::cannot("unpack", &url))?;
            lock.store(program, binary)
        }
    }
}

async fn verified(
    url: &str,
    sums_url: &str,
    name: &str,
    lock: &Locked,
) -> Result<tempfile::NamedTempFile> {
    let client = client()?;
    let sums = text(&client, sums_url).await?;
    let expected =
        checksum_of(&sums, name).with_context(|| messages::no_checksum(sums_url, name))?;
    let mut file = lock.temporary()?;
    let actual = save(&client, url, file.as_file_mut()).await?;
    ensure!(actual == expected, messages::wrong_checksum(url, &expected, &actual));
    Ok(file)
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

fn unpack(archive: &mut File, member: &str, target: &mut File) -> io::Result<()> {
    archive.rewind()?;
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(io::BufReader::new(archive)));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.path()?.as_os_str() == member {
            io::copy(&mut entry, target)?;
            return Ok(());
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, messages::not_in_archive(member)))
}

fn client() -> Result<HttpClient> {
    let mut tcp = HttpConnector::new();
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.enforce_http(false);
    let connector = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::aws_lc_rs::default_provider())
        .context(messages::NO_ROOTS)?
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

async fn get(client: &HttpClient, url: &str) -> Result<Response<Incoming>> {
    let mut target = url.to_owned();
    for _ in 0..=MAX_REDIRECTS {
        let request = Request::get(&target)
            .header(header::USER_AGENT, "machinist-control-plane")
            .body(Empty::new())
            .with_context(|| messages::bad_url(&target))?;
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, client.request(request))
            .await
            .with_context(|| messages::no_answer(&target, ANSWER_TIMEOUT))?
            .with_context(|| target.clone())?;
        let location = answer.headers().get(header::LOCATION).and_then(|it| it.to_str().ok());
        match (answer.status(), location) {
            (StatusCode::OK, _) => return Ok(answer),
            (status, Some(location)) if status.is_redirection() => target = String::from(location),
            (status, _) => bail!(messages::bad_status(&target, status)),
        }
    }
    bail!(messages::too_many_redirects(url));
}

async fn text(client: &HttpClient, url: &str) -> Result<String> {
    let body = Limited::new(get(client, url).await?.into_body(), MAX_TEXT);
    let body = tokio::time::timeout(STALL_TIMEOUT, body.collect())
        .await
        .with_context(|| messages::no_answer(url, STALL_TIMEOUT))?
        .map_err(|error| anyhow::anyhow!(error).context(url.to_owned()))?;
    Ok(String::from_utf8_lossy(&body.to_bytes()).into_owned())
}

/// Writes the body to the file and returns its SHA-256 sum in hexadecimal.
async fn save(client: &HttpClient, url: &str, file: &mut File) -> Result<String> {
    let answer = get(client, url).await?;
    let length = answer.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
    let progress = Progress::download(url, length);
    let mut body = answer.into_body();
    let mut hash = Sha256::new();
    while let Some(frame) = tokio::time::timeout(STALL_TIMEOUT, body.frame())
        .await
        .with_context(|| messages::no_answer(url, STALL_TIMEOUT))?
    {
        if let Some(data) = frame.with_context(|| url.to_owned())?.data_ref() {
            hash.update(data);
            file.write_all(data).with_context(|| url.to_owned())?;
            progress.advance(data.len());
        }
    }
    progress.finish();
    let digits: Vec<String> = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(digits.concat())
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
