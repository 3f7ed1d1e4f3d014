//! Builds programs with Go from the pinned modules of `tools/control-plane`, which are compiled into this crate, so
//! that a shipped binary can build outside of the checkout.

use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::process::Command;
use tokio::time::timeout;

use super::cache::Locked;
use super::progress::Progress;
use super::release::{Binary, Release};
use super::sources::Sources;
use crate::messages;
use crate::version::KubernetesVersion;

const REMINDER: Duration = Duration::from_secs(30);

type Files = &'static [(&'static str, &'static str)];

macro_rules! module {
    ($folder:literal: $($file:literal),+) => {
        &[$((
            $file,
            include_str!(concat!("../../../../tools/control-plane/", $folder, "/", $file)),
        )),+]
    };
}

const fn module(release: Release) -> Files {
    match release {
        Release::Etcd => module!("etcd": "go.mod", "go.sum", "main.go"),
        Release::Kubernetes(KubernetesVersion::V1_30) => {
            module!("kubernetes-1.30": "go.mod", "go.sum")
        }
        Release::Kubernetes(KubernetesVersion::V1_36) => {
            module!("kubernetes-1.36": "go.mod", "go.sum")
        }
        Release::Kwok => module!("kwok": "go.mod", "go.sum"),
    }
}

fn package(binary: Binary) -> String {
    match binary {
        Binary::Etcd => ".".to_owned(),
        Binary::Kwok => "sigs.k8s.io/kwok/cmd/kwok".to_owned(),
        other => format!("k8s.io/kubernetes/cmd/{other}"),
    }
}

/// So that `/version` and user agents are correct. etcd and kwok know their versions by themselves.
fn linker_flags(release: Release) -> String {
    let mut flags = vec!["-s -w".to_owned()];
    if let Release::Kubernetes(version) = release {
        let minor = version.minor();
        for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
            flags.push(format!("-X {package}.gitVersion=v{version}"));
            flags.push(format!("-X {package}.gitMajor=1 -X {package}.gitMinor={minor}"));
            flags.push(format!("-X {package}.gitTreeState=clean"));
        }
    }
    flags.join(" ")
}

pub(super) async fn build(
    sources: &Sources,
    binary: Binary,
    release: Release,
    lock: &Locked,
) -> Result<PathBuf> {
    let module = GoModule::new(sources, module(release))?;
    // "building" would be wrong where there is no Go.
    module.go(&["version"]).await?;
    let what = format!("{binary} of {release}");
    let progress = Progress::build(&what);
    let output = lock.temporary()?;
    let target = output.path().to_string_lossy().into_owned();
    let flags = linker_flags(release);
    let package = package(binary);
    let arguments = ["build", "-ldflags", &flags, "-o", &target, &package];
    let mut building = pin!(module.go(&arguments));
    let built = loop {
        match timeout(REMINDER, &mut building).await {
            Ok(built) => break built,
            Err(_) => progress.remind(&what),
        }
    };
    built?;
    let path = lock.store(output, binary)?;
    progress.finish();
    Ok(path)
}

/// A Go module in a temporary folder.
#[derive(Debug)]
pub struct GoModule {
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl GoModule {
    /// Writes the files (name and content) of the module.
    pub fn new(sources: &Sources, files: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("machinist-go-").tempdir()?;
        for (name, content) in files {
            std::fs::write(folder.path().join(name), content)?;
        }
        Ok(Self { program: sources.go.clone(), folder })
    }

    /// Runs Go without any influence from a surrounding workspace or from the user's build flags.
    pub async fn go(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new(&self.program)
            .args(arguments)
            .current_dir(self.folder.path())
            .env("GOFLAGS", "-mod=readonly -trimpath -buildvcs=false")
            .env("GOWORK", "off")
            .env("CGO_ENABLED", "0")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .context(messages::NO_GO)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let mut tail: Vec<&str> = text.lines().rev().take(5).collect();
        tail.reverse();
        let command = arguments.first().copied().unwrap_or_default();
        bail!(messages::go_failed(command, output.status, &tail));
    }
}

#[cfg(test)]
mod tests {
    use super::module;
    use crate::binaries::release::Release;
    use crate::version::{ETCD_VERSION, KWOK_VERSION, KubernetesVersion};

    #[test]
    fn the_pinned_modules_are_the_versions_that_we_claim() {
        let kubernetes = KubernetesVersion::ALL.map(Release::Kubernetes);
        for release in kubernetes.into_iter().chain([Release::Etcd, Release::Kwok]) {
            let pin = match release {
                Release::Etcd => format!("go.etcd.io/etcd/server/v3 v{ETCD_VERSION}"),
                Release::Kubernetes(version) => format!("k8s.io/kubernetes v{version}"),
                Release::Kwok => format!("sigs.k8s.io/kwok v{KWOK_VERSION}"),
            };
            let (_, go_mod) = module(release)[0];
            let pinned = go_mod.lines().any(|line| {
                let line = line.trim_start().trim_start_matches("require ");
                line.strip_prefix(&pin).is_some_and(|rest| !rest.starts_with(char::is_numeric))
            });
            assert!(pinned, "{pin} is not in the go.mod of {release}");
        }
    }
}
