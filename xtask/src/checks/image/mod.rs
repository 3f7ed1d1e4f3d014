//! The image can be built: the Dockerfile's steps, carried out without a container engine.
//!
//! An empty folder gets exactly what `COPY` would copy (files of the repository, less what `.dockerignore` names), and there the build command of
//! the Dockerfile runs, with two differences: `check` in place of `build --release`, and this repository's target folder. So a file that the
//! image lacks, a lock file that is out of date and code that needs the playground are found within seconds; an optimised
//! build with the AWS SDK would take many minutes and find nothing more. Not found here: a base image that is gone.
//!
//! What needs no command is read from the text: see [`rules`].

mod dockerfile;
mod rules;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use self::dockerfile::{Dockerfile, Ignored};
use crate::finding::Finding;
use crate::repo::Repo;

const DOCKERFILE: &str = "Dockerfile";
/// Always the same folder, so that cargo knows it again.
const CONTEXT: &str = "target/image/context";

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let dockerfile = Dockerfile::parse(&repo.read(DOCKERFILE)?);
    let ignored = Ignored::parse(&repo.read(".dockerignore")?);
    let mut findings = rules::check(&dockerfile, &repo.read("Cargo.toml")?);
    findings.extend(ignored.unknown.iter().map(|pattern| {
        Finding::of(
            ".dockerignore",
            format!("{pattern:?}: teach this pattern to xtask check image"),
        )
    }));
    let Some(arguments) = dockerfile.cargo_build() else {
        findings.push(Finding::of(DOCKERFILE, "no step runs `cargo build`"));
        return Ok(findings);
    };
    copy(repo, &dockerfile, &ignored)?;
    findings.extend(build(repo, &as_check(&arguments))?);
    Ok(findings)
}

fn copy(repo: &Repo, dockerfile: &Dockerfile, ignored: &Ignored) -> Result<()> {
    let context = repo.path(CONTEXT);
    if context.exists() {
        fs::remove_dir_all(&context).context("failed to empty the folder of the last run")?;
    }
    for file in repo.tracked_files()? {
        if dockerfile.copies(&file) && !ignored.has(&file) {
            let to = context.join(&file);
            fs::create_dir_all(to.parent().unwrap_or(Path::new("")))?;
            fs::copy(repo.path(&file), &to).with_context(|| format!("failed to copy {file}"))?;
        }
    }
    Ok(())
}

/// The same build without the machine code.
fn as_check(arguments: &[String]) -> Vec<String> {
    let kept = arguments.iter().filter(|word| *word != "--release");
    kept.map(|word| if word == "build" { "check".to_owned() } else { word.clone() }).collect()
}

fn build(repo: &Repo, arguments: &[String]) -> Result<Option<Finding>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| repo.path("target").into());
    let output = Command::new(cargo)
        .args(arguments)
        .arg("--quiet")
        .current_dir(repo.path(CONTEXT))
        .env("CARGO_TARGET_DIR", target)
        .output()
        .context("failed to run cargo")?;
    if output.status.success() {
        return Ok(None);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let advice =
        format!("`cargo {}` fails with what the image has:\n{errors}", arguments.join(" "));
    Ok(Some(Finding::of(DOCKERFILE, advice)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_is_checked_with_the_same_features_and_lock_file() {
        let words = "build --release --locked -p machinist --no-default-features";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(as_check(&words).join(" "), "check --locked -p machinist --no-default-features");
    }
}
