//! Builds the container image with the first engine that is really there.
//!
//! A client without a running engine is not there: each candidate must answer `info` before it is chosen.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::Metadata;
use crate::repo::Repo;

/// In the order of preference; all three know `build --tag … --build-arg … FOLDER`.
const ENGINES: &[&str] = &["docker", "podman", "buildah"];

/// Builds `machinist:VERSION`; extra arguments go to the engine's `build`.
pub(crate) fn build(repo: &Repo, arguments: &[String]) -> Result<()> {
    let Some(engine) = choose(answers) else {
        bail!(
            "no container engine answers: start docker, or install podman or buildah (tried `{} info`)",
            ENGINES.join(" info`, `")
        );
    };
    let version = version(repo)?;
    let tag = format!("machinist:{version}");
    println!("{engine} builds {tag}");
    let status = Command::new(engine)
        .args(["build", "--tag", &tag, "--build-arg", &format!("VERSION={version}")])
        .args(arguments)
        .arg(".")
        // Docker before version 23 reads `RUN --mount` only with it; the others do not look.
        .env("DOCKER_BUILDKIT", "1")
        .current_dir(repo.root())
        .status()
        .with_context(|| format!("failed to run {engine}"))?;
    ensure!(status.success(), "{engine} build ended with {status}");
    Ok(())
}

fn choose(answers: impl Fn(&str) -> bool) -> Option<&'static str> {
    ENGINES.iter().copied().find(|engine| answers(engine))
}

fn answers(engine: &str) -> bool {
    Command::new(engine)
        .arg("info")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn version(repo: &Repo) -> Result<String> {
    let packages = Metadata::of(repo)?.packages;
    let machinist = packages.into_iter().find(|package| package.name == "machinist");
    machinist.map(|package| package.version).context("the workspace has no crate machinist")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_engine_that_answers_is_taken() {
        assert_eq!(choose(|_| true), Some("docker"));
        assert_eq!(choose(|engine| engine != "docker"), Some("podman"));
        assert_eq!(choose(|engine| engine == "buildah"), Some("buildah"));
        assert_eq!(choose(|_| false), None);
    }

    #[test]
    fn a_program_that_does_not_exist_does_not_answer() {
        assert!(!answers("no-such-container-engine"));
    }
}
