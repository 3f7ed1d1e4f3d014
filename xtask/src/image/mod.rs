//! `xtask image [--profile dev|release]`: an OCI image of the binary on an empty base, without engine and registry.
//!
//! The binary has the features of the image (`image` in `crates/machinist/Cargo.toml`). Its shared libraries and the CA
//! certificates come from this machine, the cargo command and the image's settings from the Dockerfile. The result is
//! unpacked and started before it is announced.

mod archive;
mod binary;
pub(crate) mod dockerfile;
mod files;
mod start;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

pub(crate) use self::binary::{Build, for_tests};
use crate::cargo::Metadata;
use crate::repo::Repo;

/// Where images and the binary for tests are, below cargo's folder.
const FOLDER: &str = "image";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// For trials and the gate.
    Dev,
    Release,
}

/// An image that has been started.
#[derive(Debug)]
pub(crate) struct Image {
    archive: PathBuf,
    tag: String,
    architecture: &'static str,
    certificates: PathBuf,
    /// What `machinist version` printed.
    version: String,
}

pub(crate) fn build(repo: &Repo, arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().flat_map(|it| it.split('=')).collect();
    let profile = match words.as_slice() {
        [] | ["--profile", "release"] => Profile::Release,
        ["--profile", "dev"] => Profile::Dev,
        other => bail!(
            "unknown arguments {}: only --profile dev|release is known; for another architecture use \
             `docker buildx build --platform linux/arm64 .`",
            other.join(" ")
        ),
    };
    let build = Build::run(repo, profile)?;
    announce(&assemble(repo, &build)?)
}

/// Writes the archive, unpacks it and starts what is in it.
pub(crate) fn assemble(repo: &Repo, build: &Build) -> Result<Image> {
    let (version, folder) = (version(repo)?, folder(repo)?);
    let settings =
        dockerfile::Settings::read(&repo.read(dockerfile::FILE)?, &version, &build.commit)?;
    let certificates = files::certificates()?;
    let files = files::of_binary(&build.program, &certificates)?;
    let tag = format!("machinist:{version}");
    let architecture = architecture()?;
    let archive = folder.join(format!("machinist-{version}.tar"));
    archive::write(&archive, &files, &archive::Config { settings, tag: &tag, architecture })?;
    let root = folder.join("root");
    archive::unpack(&archive, &root)?;
    let version = start::version(&root)?;
    std::fs::remove_dir_all(&root).context("cannot remove the unpacked image")?;
    Ok(Image { archive, tag, architecture, certificates, version })
}

fn announce(image: &Image) -> Result<()> {
    let Image { archive, tag, architecture, certificates, version } = image;
    let size = std::fs::metadata(archive)?.len() >> 20;
    let file = archive.display();
    println!("{version}");
    println!("{file}: OCI image {tag} for linux/{architecture}, {size} MiB");
    println!("  libraries and CA certificates of this machine ({})", certificates.display());
    println!("  push:  skopeo copy oci-archive:{file} docker://REGISTRY/{tag}");
    println!("  load:  docker load -i {file}   or podman load -i, ctr -n k8s.io images import,");
    println!("         kind load image-archive; then tag and push");
    Ok(())
}

fn folder(repo: &Repo) -> Result<PathBuf> {
    let folder = Metadata::of(repo)?.target_directory.join(FOLDER);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

fn version(repo: &Repo) -> Result<String> {
    Ok(Metadata::of(repo)?.package("machinist")?.version)
}

/// The name in images, of the machine that this program was built for.
fn architecture() -> Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => bail!("no image for the architecture {other}"),
    }
}
