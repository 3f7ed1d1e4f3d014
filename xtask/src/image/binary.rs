//! The binary of the image, built by the Dockerfile's cargo command.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Profile, dockerfile, folder};
use crate::cargo::Metadata;
use crate::repo::Repo;

/// Read by `crates/machinist/src/verbs/version.rs` when it is compiled.
const VARIABLE: &str = "MACHINIST_COMMIT";
/// The commit of dev builds: the real one would compile the crate again at each commit.
const DEVELOPMENT: &str = "development";

/// A binary with the features of the image.
#[derive(Debug)]
pub(crate) struct Build {
    pub(crate) program: PathBuf,
    /// The commit that it was given; empty if unknown.
    pub(crate) commit: String,
}

impl Build {
    pub(crate) fn run(repo: &Repo, profile: Profile) -> Result<Self> {
        let commit = match profile {
            Profile::Dev => DEVELOPMENT.to_owned(),
            Profile::Release => commit(repo),
        };
        let mut arguments = dockerfile::cargo_build(&repo.read(dockerfile::FILE)?);
        arguments.retain(|word| profile == Profile::Release || word != "--release");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.arg("build").args(&arguments).env(VARIABLE, &commit).current_dir(repo.root());
        let status = command.status().context("failed to run cargo")?;
        ensure!(status.success(), "cargo build {} fails", arguments.join(" "));
        let profile = if profile == Profile::Dev { "debug" } else { "release" };
        let program = Metadata::of(repo)?.target_directory.join(profile).join("machinist");
        Ok(Self { program, commit })
    }

    /// What the binary prints for these arguments.
    pub(crate) fn output(&self, arguments: &[&str]) -> Result<String> {
        let program = self.program.display();
        let output = Command::new(&self.program).args(arguments).output();
        let output = output.with_context(|| format!("cannot start {program}"))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{program} {}: {errors}", arguments.join(" "));
        String::from_utf8(output.stdout).context("it printed something that is not UTF-8")
    }
}

/// Builds in the dev profile and copies the binary to where tests find it: the next build with other features replaces
/// the original.
pub(crate) fn for_tests(repo: &Repo) -> Result<Build> {
    let build = Build::run(repo, Profile::Dev)?;
    let program = folder(repo)?.join("machinist");
    let new = program.with_extension("new");
    // A test may be running the former one.
    std::fs::copy(&build.program, &new)
        .and_then(|_| std::fs::rename(&new, &program))
        .with_context(|| format!("cannot write {}", program.display()))?;
    Ok(Build { program, ..build })
}

/// From the environment or git; empty outside of a clone.
fn commit(repo: &Repo) -> String {
    if let Ok(commit) = std::env::var(VARIABLE) {
        return commit;
    }
    let describe = ["describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"];
    let output = Command::new("git").args(describe).current_dir(repo.root()).output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => String::new(),
    }
}
