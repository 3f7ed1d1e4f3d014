//! `xtask docs`: rustdoc over the workspace, private items included, with warnings as errors.
//!
//! `cargo doc` compiles metadata of every dependency, which takes minutes after a build that has them all. `cargo test
//! --doc` calls rustdoc with the artifacts of the build, so this verb runs it with itself as rustdoc and documents
//! instead of testing.

use std::process::Command;

use anyhow::{Context, Result};

use crate::repo::Repo;

/// Set while cargo runs this program as rustdoc: where the pages go.
const OUTPUT: &str = "XTASK_RUSTDOC_OUTPUT";

pub(crate) fn run(repo: &Repo) -> Result<bool> {
    let flags = std::env::var("CARGO_FLAGS").unwrap_or_default();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--workspace", "--doc"])
        .args(flags.split_whitespace())
        .current_dir(repo.root())
        .env("RUSTDOC", std::env::current_exe()?)
        .env(OUTPUT, repo.path("target/doc"))
        .status()
        .context("failed to run cargo")?;
    Ok(status.success())
}

pub(crate) fn is_rustdoc() -> bool {
    std::env::var_os(OUTPUT).is_some()
}

/// Runs rustdoc as cargo asked for it, without the tests.
pub(crate) fn rustdoc(arguments: &[String]) -> Result<bool> {
    let mut rustdoc = Command::new("rustdoc");
    rustdoc.args(documenting(arguments));
    if arguments.iter().any(|argument| argument == "--test") {
        rustdoc.args(["--document-private-items", "-Dwarnings", "--output"]);
        rustdoc.arg(std::env::var_os(OUTPUT).unwrap_or_default());
    }
    Ok(rustdoc.status().context("failed to run rustdoc")?.success())
}

/// Arguments of a test run without those that only tests have.
fn documenting(arguments: &[String]) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument {
            "--test" => {}
            "--test-run-directory" | "--test-args" => drop(rest.next()),
            _ => kept.push(argument),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::documenting;

    #[test]
    fn arguments_of_tests_are_left_out() {
        let arguments =
            ["--crate-name", "a", "--test", "lib.rs", "--test-run-directory", "x", "-L", "y"];
        let kept = ["--crate-name", "a", "lib.rs", "-L", "y"];
        assert_eq!(documenting(&arguments.map(str::to_owned)), kept);
    }
}
