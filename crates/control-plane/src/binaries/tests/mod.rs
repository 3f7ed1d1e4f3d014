mod server;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use self::server::{Answer, Server, sha256};
use super::{Binary, Sources};
use crate::version::{ETCD_VERSION, KubernetesVersion};

const CONTENT: &[u8] = b"#!/bin/sh\necho I am the API server\n";

fn platform() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

fn api_server_path() -> String {
    format!("/v{}/bin/linux/{}/kube-apiserver", KubernetesVersion::default(), platform())
}

fn etcd_stem() -> String {
    format!("etcd-v{ETCD_VERSION}-linux-{}", platform())
}

/// Only the download can work: no assets, an empty cache, no Go.
fn sources(server: &Server, cache: &Path) -> Sources {
    Sources {
        assets: None,
        cache: cache.to_owned(),
        kubernetes_url: server.url(),
        etcd_url: server.url(),
        download: true,
        go: "/nonexistent/go".into(),
    }
}

fn files_in(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_in(&path)?);
        } else if path.file_name().is_some_and(|name| name != ".lock") {
            files.push(path.display().to_string());
        }
    }
    Ok(files)
}

fn answer(error: &anyhow::Error, place: &str) -> Result<String> {
    let text = error.to_string();
    let line = text.lines().find_map(|line| line.strip_prefix("  - ")?.strip_prefix(place));
    Ok(line.with_context(|| format!("no {place:?} in {text}"))?.to_owned())
}

#[tokio::test]
async fn a_right_checksum_puts_an_executable_into_the_cache() -> Result<()> {
    let server = Server::start(vec![
        (api_server_path(), Answer::ok(CONTENT)),
        (format!("{}.sha256", api_server_path()), Answer::ok(sha256(CONTENT).as_bytes())),
    ])
    .await?;
    let cache = tempfile::tempdir()?;
    let sources = sources(&server, cache.path());
    let path = sources.find(Binary::KubeApiserver, None).await?;
    assert_eq!(fs::read(&path)?, CONTENT);
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o755);
    assert_eq!(sources.find(Binary::KubeApiserver, None).await?, path);
    assert_eq!(server.hits(&api_server_path()), 1);
    Ok(())
}

#[tokio::test]
async fn a_wrong_checksum_leaves_the_cache_empty_and_says_so() -> Result<()> {
    let server = Server::start(vec![
        (api_server_path(), Answer::ok(CONTENT)),
        (format!("{}.sha256", api_server_path()), Answer::ok(sha256(b"other").as_bytes())),
    ])
    .await?;
    let cache = tempfile::tempdir()?;
    let error = sources(&server, cache.path()).find(Binary::KubeApiserver, None).await;
    let error = error.err().context("a forged program was accepted")?;
    ensure!(answer(&error, "download: ")?.contains("wrong checksum"), "{error}");
    assert_eq!(files_in(cache.path())?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_body_that_is_cut_short_is_not_kept() -> Result<()> {
    let server = Server::start(vec![
        (api_server_path(), Answer::truncated(CONTENT)),
        (format!("{}.sha256", api_server_path()), Answer::ok(sha256(CONTENT).as_bytes())),
    ])
    .await?;
    let cache = tempfile::tempdir()?;
    let error = sources(&server, cache.path()).find(Binary::KubeApiserver, None).await;
    let error = error.err().context("half a program was accepted")?;
    ensure!(answer(&error, "download: ")?.contains("error reading a body"), "{error}");
    assert_eq!(files_in(cache.path())?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn what_a_killed_process_left_half_written_is_removed() -> Result<()> {
    let server = Server::start(vec![]).await?;
    let cache = tempfile::tempdir()?;
    let (version, arch) = (KubernetesVersion::default(), platform());
    let folder = cache.path().join(format!("control-plane/kubernetes-{version}-linux-{arch}"));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(".incomplete-abc"), "half")?;
    let found = sources(&server, cache.path()).find(Binary::KubeApiserver, None).await;
    ensure!(found.is_err());
    assert_eq!(files_in(cache.path())?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn redirects_are_followed() -> Result<()> {
    let server = Server::start(vec![
        (api_server_path(), Answer::redirect("/mirror")),
        ("/mirror".to_owned(), Answer::ok(CONTENT)),
        (format!("{}.sha256", api_server_path()), Answer::ok(sha256(CONTENT).as_bytes())),
    ])
    .await?;
    let cache = tempfile::tempdir()?;
    let path = sources(&server, cache.path()).find(Binary::KubeApiserver, None).await?;
    assert_eq!(fs::read(path)?, CONTENT);
    Ok(())
}

#[tokio::test]
async fn etcd_comes_out_of_its_archive() -> Result<()> {
    let (stem, archive) = (etcd_stem(), archive(&[("README.md", b"read"), ("etcd", CONTENT)])?);
    let list = format!("{}  other.zip\n{}  {stem}.tar.gz\n", "0".repeat(64), sha256(&archive));
    let server = Server::start(vec![
        (format!("/v{ETCD_VERSION}/{stem}.tar.gz"), Answer::ok(&archive)),
        (format!("/v{ETCD_VERSION}/SHA256SUMS"), Answer::ok(list.as_bytes())),
    ])
    .await?;
    let cache = tempfile::tempdir()?;
    let path = sources(&server, cache.path()).find(Binary::Etcd, None).await?;
    assert_eq!(fs::read(&path)?, CONTENT);
    assert_eq!(files_in(cache.path())?, vec![path.display().to_string()]);
    Ok(())
}

#[tokio::test]
async fn an_archive_without_etcd_is_an_error() -> Result<()> {
    let (stem, archive) = (etcd_stem(), archive(&[("README.md", b"read")])?);
    let server = Server::start(vec![
        (format!("/v{ETCD_VERSION}/{stem}.tar.gz"), Answer::ok(&archive)),
        (
            format!("/v{ETCD_VERSION}/SHA256SUMS"),
            Answer::ok(format!("{}  {stem}.tar.gz\n", sha256(&archive)).as_bytes()),
        ),
    ])
    .await?;
    let cache = tempfile::tempdir()?;
    let error = sources(&server, cache.path()).find(Binary::Etcd, None).await.err();
    let error = error.context("no error")?;
    ensure!(answer(&error, "download: ")?.contains("cannot unpack"), "{error}");
    Ok(())
}

#[tokio::test]
async fn when_nothing_works_every_way_is_named_with_its_answer() -> Result<()> {
    let server = Server::start(vec![]).await?;
    let (cache, assets) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let mut sources = sources(&server, cache.path());
    sources.assets = Some(assets.path().to_owned());
    let error = sources.find(Binary::KubeApiserver, None).await.err().context("no error")?;
    let text = error.to_string();
    let assets = format!("KUBEBUILDER_ASSETS: {} has no kube-apiserver", assets.path().display());
    for part in [assets.as_str(), "cache: no ", "404 Not Found", "cannot run go"] {
        ensure!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    Ok(())
}

#[tokio::test]
async fn an_address_where_nobody_listens_falls_through() -> Result<()> {
    let server = Server::start(vec![]).await?;
    let cache = tempfile::tempdir()?;
    let mut sources = sources(&server, cache.path());
    // Port 1 of the loopback interface: refused at once.
    sources.kubernetes_url = "http://127.0.0.1:1".to_owned();
    let error = sources.find(Binary::Kubectl, None).await.err().context("no error")?;
    ensure!(answer(&error, "download: ")?.contains("Connection refused"), "{error}");
    Ok(())
}

#[tokio::test]
async fn assets_win_unless_a_version_is_asked_for() -> Result<()> {
    let server = Server::start(vec![]).await?;
    let (cache, assets) = (tempfile::tempdir()?, tempfile::tempdir()?);
    fs::write(assets.path().join("kube-apiserver"), CONTENT)?;
    let mut sources = sources(&server, cache.path());
    sources.assets = Some(assets.path().to_owned());
    let found = sources.find(Binary::KubeApiserver, None).await?;
    assert_eq!(found, assets.path().join("kube-apiserver"));
    let asked = sources.find(Binary::KubeApiserver, Some(KubernetesVersion::default())).await;
    ensure!(asked.is_err(), "the folder does not say which version it has");
    Ok(())
}

#[tokio::test]
async fn two_at_once_download_once() -> Result<()> {
    let server = Server::start(vec![
        (api_server_path(), Answer::ok(CONTENT)),
        (format!("{}.sha256", api_server_path()), Answer::ok(sha256(CONTENT).as_bytes())),
    ])
    .await?;
    let cache = tempfile::tempdir()?;
    let sources = sources(&server, cache.path());
    let find = || sources.find(Binary::KubeApiserver, None);
    let (first, second, third) = tokio::join!(find(), find(), find());
    assert_eq!(first?, second?);
    third?;
    assert_eq!(server.hits(&api_server_path()), 1);
    Ok(())
}

#[tokio::test]
async fn the_go_build_gets_pinned_modules_and_fills_the_cache() -> Result<()> {
    let server = Server::start(vec![]).await?;
    let (cache, tools) = (tempfile::tempdir()?, tempfile::tempdir()?);
    // It stands in for Go: fails without the pins, and "builds" by writing down its arguments.
    let go = tools.path().join("go");
    fs::write(
        &go,
        "#!/bin/sh\ngrep -q 'k8s.io/kubernetes v1.36' go.mod || exit 1\n\
         [ -s go.sum ] || exit 1\nargs=\"$*\"\n\
         while [ $# -gt 1 ]; do [ \"$1\" = -o ] && echo \"$args\" > \"$2\"; shift; done\n",
    )?;
    fs::set_permissions(&go, fs::Permissions::from_mode(0o755))?;
    let mut sources = sources(&server, cache.path());
    sources.go = go;
    let path = sources.find(Binary::KubeScheduler, None).await?;
    let arguments = fs::read_to_string(&path)?;
    ensure!(arguments.contains("gitVersion=v1.36."), "{arguments}");
    ensure!(arguments.trim().ends_with("k8s.io/kubernetes/cmd/kube-scheduler"), "{arguments}");
    Ok(())
}

fn archive(files: &[(&str, &[u8])]) -> Result<Vec<u8>> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        header.set_cksum();
        archive.append_data(&mut header, format!("{}/{name}", etcd_stem()), *content)?;
    }
    Ok(archive.into_inner()?.finish()?)
}
