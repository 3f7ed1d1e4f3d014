//! One test binary: run to its end with its output in a log file, then counted.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A binary that runs longer hangs.
const LIMIT: Duration = Duration::from_mins(30);
const POLL: Duration = Duration::from_millis(50);

/// A test binary that has not run yet.
#[derive(Debug)]
pub(super) struct Job {
    /// Package and target.
    pub(super) name: String,
    pub(super) command: Command,
}

/// How a test binary ended.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) name: String,
    pub(super) passed: usize,
    pub(super) failed: usize,
    took: Duration,
    log: PathBuf,
    output: String,
}

impl Job {
    pub(super) fn new(name: String, command: Command) -> Self {
        Self { name, command }
    }

    /// Runs to the end. What goes wrong counts as a failed test.
    pub(super) fn run(mut self, logs: &Path) -> Outcome {
        let started = Instant::now();
        let log = logs.join(format!("{}.log", self.name.replace(['/', ' '], "-")));
        let status = self.finish(&log);
        let mut output = std::fs::read(&log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
        let (mut passed, mut failed) = count(&output);
        let problem = match status {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("ended with {status}\n")),
            Err(error) => Some(format!("{error:#}\n")),
        };
        match &problem {
            // A test with a `main` of its own prints no counts.
            None => passed += usize::from(!output.contains(" passed;")),
            Some(_) => failed = failed.max(1),
        }
        output.extend(problem);
        Outcome { name: self.name, passed, failed, took: started.elapsed(), log, output }
    }

    fn finish(&mut self, log: &Path) -> Result<ExitStatus> {
        let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut child = self
            .command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot start {}", self.name))?;
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                child.kill()?;
                child.wait()?;
                bail!("killed after {LIMIT:?}");
            }
            sleep(POLL);
        }
    }
}

/// Passed and failed tests, from lines like `test result: ok. 12 passed; 0 failed; 1 ignored; …`.
fn count(output: &str) -> (usize, usize) {
    let number = |line: &str, what: &str| {
        let (before, _) = line.split_once(what)?;
        before.rsplit([' ', ';']).next()?.parse::<usize>().ok()
    };
    let results = output.lines().filter_map(|line| line.strip_prefix("test result: "));
    results.fold((0, 0), |(passed, failed), line| {
        let more = number(line, " passed").unwrap_or_default();
        (passed + more, failed + number(line, " failed").unwrap_or_default())
    })
}

impl Outcome {
    /// What the binary printed about its failures: names and output of the tests, or all if there is no such part.
    pub(super) fn failures(&self) -> String {
        let from = self.output.find("\nfailures:\n").unwrap_or_default();
        format!("{}log: {}", self.output[from..].trim_start(), self.log.display())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let result = if self.failed == 0 { "ok" } else { "FAILED" };
        writeln!(f, "=== {}: {result} in {}s", self.name, self.took.as_secs())?;
        f.write_str(self.output.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> Outcome {
        let logs = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Job::new("a/b c".to_owned(), command).run(logs.path())
    }

    #[test]
    fn results_of_several_binaries_add_up() {
        let output = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\n\
                      test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured\n";
        assert_eq!(count(output), (15, 2));
    }

    #[test]
    fn a_main_without_counts_is_one_test() {
        let outcome = run("echo done");
        assert_eq!((outcome.passed, outcome.failed), (1, 0));
        let outcome = run("echo; echo 'test result: ok. 0 passed; 0 failed'");
        assert_eq!((outcome.passed, outcome.failed), (0, 0));
    }

    #[test]
    fn a_binary_that_dies_has_failed_whatever_it_printed() {
        let outcome = run("echo 'test a ... ok'; kill -9 $$");
        assert_eq!((outcome.passed, outcome.failed), (0, 1));
        assert!(outcome.failures().contains("signal: 9"), "{}", outcome.failures());
    }

    #[test]
    fn failures_are_shown_without_what_passed() {
        let script = "printf 'test a ... ok\\n\\nfailures:\\n\\n---- b stdout ----\\nno\\n\\n\
                      test result: FAILED. 1 passed; 1 failed\\n'; exit 101";
        let outcome = run(script);
        assert_eq!((outcome.passed, outcome.failed), (1, 1));
        let shown = outcome.failures();
        assert!(shown.starts_with("failures:") && !shown.contains("test a"), "{shown}");
    }
}
