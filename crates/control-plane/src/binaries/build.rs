//! The last way to get a program: build it with Go from pinned modules.
//!
//! The module files are those of `tools/control-plane`; they are compiled into this crate, so that a shipped
//! binary can build outside of the checkout. `go.sum` fixes the content of everything that is fetched.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::cache::{CacheError, FolderLock};
use super::progress::Progress;
use super::release::{Binary, Release};
use crate::version::KubernetesVersion;

/// The stages that make kwok play nodes and pods; it does nothing without them.
pub(crate) const KWOK_STAGES: &str = "stages.yaml";
const KWOK_MODULE: &str = "sigs.k8s.io/kwok";
const KWOK_STAGE_FOLDERS: [&str; 3] = ["node/fast", "node/heartbeat-with-lease", "pod/fast"];

/// Why a Go build did not give a program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no Go, or it cannot be started.
    #[error("cannot run go (install Go 1.26 or newer, https://go.dev/dl): {0}")]
    NoGo(#[source] std::io::Error),
    /// Go said no.
    #[error("{command} failed: {output}")]
    Failed {
        /// The command, shortened.
        command: String,
        /// The end of what it printed.
        output: String,
    },
    /// A file operation failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The cache could not be written.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// The files of one Go module of `tools/control-plane`.
struct Module {
    files: &'static [(&'static str, &'static str)],
}

macro_rules! module {
    ($folder:literal: $($file:literal),+) => {
        Module {
            files: &[$((
                $file,
                include_str!(concat!("../../../../tools/control-plane/", $folder, "/", $file)),
            )),+],
        }
    };
}

const fn module(release: Release) -> Module {
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

/// The package whose `main` is the program.
fn package(binary: Binary) -> String {
    match binary {
        Binary::Etcd => ".".to_owned(),
        Binary::Kwok => format!("{KWOK_MODULE}/cmd/kwok"),
        other => format!("k8s.io/kubernetes/cmd/{other}"),
    }
}

/// Build-time values, so that `/version` and user agents tell the truth. etcd and kwok know their versions by
/// themselves.
fn linker_flags(release: Release) -> String {
    let mut flags = vec!["-s -w".to_owned()];
    if let Release::Kubernetes(version) = release {
        let (major, minor) = version.major_minor();
        for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
            flags.push(format!("-X {package}.gitVersion=v{version}"));
            flags.push(format!("-X {package}.gitMajor={major} -X {package}.gitMinor={minor}"));
            flags.push(format!("-X {package}.gitTreeState=clean"));
        }
    }
    flags.join(" ")
}

/// Builds one program with the Go command at `program` and stores it in the cache.
pub(super) async fn build(
    binary: Binary,
    release: Release,
    lock: &FolderLock,
    program: &Path,
) -> Result<PathBuf, BuildError> {
    let workspace = tempfile::Builder::new().prefix("machinist-go-").tempdir()?;
    for (name, content) in module(release).files {
        std::fs::write(workspace.path().join(name), content)?;
    }
    // "building" would be wrong where there is no Go.
    go(program, workspace.path(), &["version"]).await?;
    let progress = Progress::build(&format!("{binary} of {release}"));
    let output = lock.temporary()?;
    let flags = linker_flags(release);
    let target = output.path().to_string_lossy();
    go(program, workspace.path(), &["build", "-ldflags", &flags, "-o", &target, &package(binary)])
        .await?;
    if binary == Binary::Kwok {
        let folder =
            go(program, workspace.path(), &["list", "-m", "-f", "{{.Dir}}", KWOK_MODULE]).await?;
        lock.store_text(KWOK_STAGES, &kwok_stages(Path::new(folder.trim()))?)?;
    }
    let path = lock.adopt(output, binary.file_name(), 0o755)?;
    progress.finish();
    Ok(path)
}

/// Runs Go without any influence from a surrounding workspace or from the user's build flags.
pub(crate) async fn go(
    program: &Path,
    folder: &Path,
    arguments: &[&str],
) -> Result<String, BuildError> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("GOFLAGS", "-mod=readonly -trimpath -buildvcs=false")
        .env("GOWORK", "off")
        .env("CGO_ENABLED", "0")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(BuildError::NoGo)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let mut tail: Vec<&str> = text.lines().rev().take(5).collect();
    tail.reverse();
    let command = format!("go {}", arguments.first().copied().unwrap_or_default());
    Err(BuildError::Failed { command, output: tail.join(" | ") })
}

/// One YAML stream of the stage files that come with kwok's module.
fn kwok_stages(module: &Path) -> Result<String, std::io::Error> {
    let mut stages = String::new();
    for folder in KWOK_STAGE_FOLDERS {
        let folder = module.join("kustomize/stage").join(folder);
        let mut files = std::fs::read_dir(&folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()?;
        // Beside the stages there are test data, Go code and notes.
        files.retain(|file| file.extension().is_some_and(|it| it == "yaml"));
        files.sort();
        for file in files {
            let content = std::fs::read_to_string(&file)?;
            if content.lines().any(|line| line == "kind: Stage") {
                stages.push_str("---\n");
                stages.push_str(&content);
                stages.push('\n');
            }
        }
    }
    Ok(stages)
}

#[cfg(test)]
mod tests {
    use super::{KWOK_STAGE_FOLDERS, kwok_stages, module};
    use crate::binaries::Release;
    use crate::version::KubernetesVersion;

    #[test]
    fn the_pinned_modules_are_the_versions_that_we_claim() {
        let kubernetes = KubernetesVersion::ALL.map(Release::Kubernetes);
        for release in kubernetes.into_iter().chain([Release::Etcd, Release::Kwok]) {
            let name = match release {
                Release::Etcd => "go.etcd.io/etcd/server/v3",
                Release::Kubernetes(_) => "k8s.io/kubernetes",
                Release::Kwok => super::KWOK_MODULE,
            };
            let pin = format!("{name} v{}", release.version());
            let (_, go_mod) = module(release).files[0];
            let pinned = go_mod.lines().any(|line| {
                let line = line.trim_start().trim_start_matches("require ");
                line.strip_prefix(&pin).is_some_and(|rest| !rest.starts_with(char::is_numeric))
            });
            assert!(pinned, "{pin} is not in the go.mod of {release}");
        }
    }

    #[test]
    fn only_stages_are_taken_from_the_module() {
        let module = tempfile::tempdir().unwrap();
        for folder in KWOK_STAGE_FOLDERS {
            let folder = module.path().join("kustomize/stage").join(folder);
            std::fs::create_dir_all(folder.join("testdata")).unwrap();
            std::fs::write(folder.join("README.md"), "kind: Stage").unwrap();
            std::fs::write(folder.join("kustomization.yaml"), "kind: Kustomization").unwrap();
            std::fs::write(folder.join("stage.yaml"), "kind: Stage\nmetadata: {}").unwrap();
        }
        let stages = kwok_stages(module.path()).unwrap();
        assert_eq!(stages, "---\nkind: Stage\nmetadata: {}\n".repeat(3));
    }

    #[test]
    fn a_module_without_stages_is_an_error() {
        let module = tempfile::tempdir().unwrap();
        assert!(kwok_stages(module.path()).is_err());
    }
}
