//! `xtask test [CARGO ARG ...] [-- TEST ARG ...]`: builds all tests once, then runs the test binaries side by side.
//!
//! The output of a binary is printed whole when it ends, the failures again at the end, and the last line counts:
//! `N passed, N failed`. Without arguments, doc tests and the example crate run as well. The binary of the image is
//! built first, for the tests that run it.
//! `MACHINIST_TEST_JOBS` sets how many binaries run at once.

mod job;

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use self::job::{Job, Outcome};
use crate::image;
use crate::repo::Repo;

const EXAMPLE: &str = "examples/machine-api-provider-example/Cargo.toml";

/// The binaries that take longest, which start first, and how many of its tests each runs at once.
const LONGEST: [(&str, usize); 8] = [
    ("machinist/crash", 2),
    ("machinist-controllers/crash", 2),
    // Half of them wait for their turn at the one OpenShift cluster.
    ("machinist/program", 8),
    ("machinist-controllers/cluster", 2),
    ("machinist-provider-aws/ec2", 2),
    ("machinist-testbed/testbed", 2),
    ("machinist-api/definitions", 2),
    ("machinist-testbed/control_plane", 2),
];

/// Returns whether all tests passed.
pub(crate) fn run(repo: &Repo, arguments: &[String]) -> Result<bool> {
    let (for_cargo, for_tests) = match arguments.iter().position(|argument| argument == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    let flags = std::env::var("CARGO_FLAGS").unwrap_or_default();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let extra: Vec<&str> = for_cargo.iter().map(String::as_str).collect();
    if arguments.is_empty() || extra.contains(&"program") {
        // Before the tests are built, because it replaces the binary with their features.
        image::for_tests(repo)?;
    }
    let mut jobs = build(repo, &[&flags[..], &["--workspace"], &extra].concat())?;
    if arguments.is_empty() {
        let example = ["--manifest-path", EXAMPLE, "--target-dir", "target"];
        jobs.extend(build(repo, &[&flags[..], &example].concat())?);
        let mut command = cargo(repo);
        command.args(["test", "--workspace", "--doc", "--color=never"]).args(&flags);
        jobs.push(Job::new("doc tests".to_owned(), command));
    }
    for job in &mut jobs {
        // The API server, in Go, uses most of the CPU: collect its garbage a quarter as often.
        job.command.args(for_tests).env("GOGC", "400");
        if let Some((_, threads)) = LONGEST.iter().find(|(name, _)| *name == job.name)
            && std::env::var_os("RUST_TEST_THREADS").is_none()
        {
            job.command.env("RUST_TEST_THREADS", threads.to_string());
        }
    }
    jobs.sort_by_key(|job| {
        LONGEST.iter().position(|(name, _)| *name == job.name).unwrap_or(LONGEST.len())
    });
    let outcomes = side_by_side(jobs, &repo.path("target/test-logs"))?;
    summarize(&outcomes)
}

fn cargo(repo: &Repo) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(repo.root());
    cargo
}

/// Builds the tests and returns one job per binary. Cargo's progress goes to the terminal.
fn build(repo: &Repo, arguments: &[&str]) -> Result<Vec<Job>> {
    let mut child = cargo(repo)
        .args(["test", "--no-run", "--message-format=json-render-diagnostics"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .context("failed to run cargo")?;
    let mut jobs = Vec::new();
    for line in BufReader::new(child.stdout.take().context("cargo has no output")?).lines() {
        jobs.extend(test_binary(&serde_json::from_str(&line?)?));
    }
    ensure!(child.wait()?.success(), "the tests do not compile");
    Ok(jobs)
}

/// The job that a message of cargo names, if it is about a test binary.
fn test_binary(message: &Value) -> Option<Job> {
    let program = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    let folder = manifest.parent()?;
    let package = package_name(message["package_id"].as_str()?);
    let target = message["target"]["name"].as_str()?;
    let mut command = Command::new(program);
    // As `cargo test` does.
    command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
    Some(Job::new(format!("{package}/{target}"), command))
}

/// `path+file:///folder#name@0.1.0`, or `path+file:///folder/name#0.1.0`.
fn package_name(id: &str) -> &str {
    let (place, version) = id.rsplit_once('#').unwrap_or((id, ""));
    match version.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or(place),
    }
}

fn side_by_side(jobs: Vec<Job>, logs: &Path) -> Result<Vec<Outcome>> {
    std::fs::create_dir_all(logs)?;
    let at_once = match std::env::var("MACHINIST_TEST_JOBS") {
        Ok(text) => text.parse().context("MACHINIST_TEST_JOBS must be a number")?,
        // One more than there are cores: most of them wait more than they compute.
        Err(_) => thread::available_parallelism()?.get() + 1,
    };
    let started = Instant::now();
    println!("{} test binaries, {at_once} at once; logs in {}", jobs.len(), logs.display());
    // The crash suites keep all cores busy with several worlds each; beside anything else, deadlines are missed.
    let (alone, others): (Vec<_>, Vec<_>) =
        jobs.into_iter().partition(|job| job.name.ends_with("/crash"));
    let mut ended = in_lanes(alone, 1, logs);
    ended.extend(in_lanes(others, at_once, logs));
    println!("all binaries: {}s", started.elapsed().as_secs());
    Ok(ended)
}

fn in_lanes(jobs: Vec<Job>, at_once: usize, logs: &Path) -> Vec<Outcome> {
    let waiting = Mutex::new(VecDeque::from(jobs));
    let ended = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..at_once.max(1) {
            scope.spawn(|| {
                loop {
                    let next = lock(&waiting).pop_front();
                    let Some(job) = next else { break };
                    let outcome = job.run(logs);
                    let mut ended = lock(&ended);
                    // A closed terminal is no reason to stop the tests.
                    writeln!(std::io::stdout(), "{outcome}").ok();
                    ended.push(outcome);
                }
            });
        }
    });
    ended.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints what failed, and the count as the last line.
fn summarize(outcomes: &[Outcome]) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    for outcome in outcomes.iter().filter(|outcome| outcome.failed > 0) {
        writeln!(out, "\n=== FAILED: {}\n{}", outcome.name, outcome.failures())?;
    }
    let passed: usize = outcomes.iter().map(|outcome| outcome.passed).sum();
    let failed: usize = outcomes.iter().map(|outcome| outcome.failed).sum();
    writeln!(out, "{passed} passed, {failed} failed")?;
    Ok(failed == 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_about_a_test_binary_becomes_a_job() {
        let mut message = json!({
            "reason": "compiler-artifact",
            "package_id": "path+file:///r/crates/machinist#0.1.0",
            "manifest_path": "/r/crates/machinist/Cargo.toml",
            "target": {"name": "crash", "kind": ["test"]},
            "profile": {"test": true},
            "executable": "/r/target/debug/deps/crash-1",
        });
        let job = test_binary(&message).unwrap();
        assert_eq!(job.name, "machinist/crash");
        assert_eq!(job.command.get_current_dir(), Some(Path::new("/r/crates/machinist")));
        message["profile"]["test"] = json!(false);
        assert!(test_binary(&message).is_none());
        assert!(test_binary(&json!({"reason": "build-finished"})).is_none());
    }

    #[test]
    fn both_forms_of_a_package_id_have_a_name() {
        assert_eq!(package_name("path+file:///r/crates/api#machinist-api@0.1.0"), "machinist-api");
        assert_eq!(package_name("path+file:///r/crates/machinist#0.1.0"), "machinist");
    }
}
