//! The checks and generators of this repository.
//!
//! ```text
//! xtask check [NAME ...]    every check, or the named ones; exit 1 if one of them finds something
//! xtask docs                rustdoc with warnings as errors, from the artifacts of the test build
//! xtask generate            write the generated files
//! xtask image               write the container image; `--profile dev` for a trial
//! xtask test [ARG ...]      build all tests, then run the test binaries side by side; ARGs go to `cargo test`
//! ```
//! A check reads the tree, returns findings and changes nothing. What cargo, clippy or a known tool does is not here.

mod cargo;
mod checks;
mod docs;
mod finding;
mod generate;
mod image;
mod repo;
mod test;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::repo::Repo;

const USAGE: &str = "usage: xtask check [NAME ...] | docs | generate | image [--profile dev|release] \
    | test [CARGO ARG ...] [-- TEST ARG ...]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = if docs::is_rustdoc() { docs::rustdoc(&arguments) } else { dispatch(&arguments) };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether no check found anything.
fn dispatch(arguments: &[String]) -> Result<bool> {
    let Some((verb, rest)) = arguments.split_first() else { bail!(USAGE) };
    let repo = Repo::find()?;
    match verb.as_str() {
        "check" => checks::run(&repo, rest),
        "docs" => docs::run(&repo),
        "generate" => generate::write(&repo).map(|()| true),
        "image" => image::build(&repo, rest).map(|()| true),
        "test" => test::run(&repo, rest),
        _ => bail!("unknown verb {verb:?}\n{USAGE}"),
    }
}
