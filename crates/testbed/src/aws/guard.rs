//! A child process that cannot outlive us.
//!
//! A destructor does not run when a process is killed with -9, but the kernel closes its pipes.
//! So the child is started by a small shell that reads a pipe of which we hold the other end;
//! when the pipe ends, for whatever reason, the shell kills the child.
//!
//! In: a program and its environment. Out: its process id and what it printed so far.
//! Not here: restarting, and any polite way to end (a test has nothing to save).

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result};

/// Signals that a terminal sends to everybody are ignored: the pipe alone decides. The child must
/// not inherit the pipe, and prints to standard error because standard output carries its id.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
exec 3<&0
"$@" 3<&- </dev/null >&2 &
child=$!
{ read -r _; kill -9 "$child"; } <&3 3<&- >/dev/null 2>&1 &
watcher=$!
echo "$child"
exec 3<&- </dev/null >/dev/null
wait "$child"
kill -9 "$watcher"
"#;

/// A running child. Dropping it kills the child and waits for its end.
#[derive(Debug)]
pub(super) struct Guarded {
    shell: Child,
    pipe: Option<ChildStdin>,
    process_id: u32,
    output: File,
}

impl Guarded {
    /// Starts `program`; its output goes into a file that has no name and leaves no trace.
    pub(super) fn start(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Self> {
        let output = tempfile::tempfile().context("no file for the output of a child process")?;
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "guard"])
            .arg(program)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(output.try_clone()?)
            .process_group(0)
            .spawn()
            .context("cannot start sh, which guards child processes")?;
        let pipe = shell.stdin.take();
        let mut line = String::new();
        let answer = shell.stdout.take().context("the guard has no output")?;
        BufReader::new(answer).read_line(&mut line)?;
        let process_id = line
            .trim()
            .parse()
            .with_context(|| format!("the guard of {} printed {line:?}", program.display()))?;
        Ok(Self { shell, pipe, process_id, output })
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process_id
    }

    /// True when the child has ended by itself.
    pub(super) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.shell.try_wait()?.is_some())
    }

    /// Everything that the child printed so far.
    pub(super) fn output(&self) -> Result<String> {
        let length = usize::try_from(self.output.metadata()?.len())?;
        let mut bytes = vec![0; length];
        self.output.read_exact_at(&mut bytes, 0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.pipe.take());
        if let Err(error) = self.shell.wait() {
            tracing::warn!(%error, "the guard of a child process was lost");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, test_kill_process};

    fn is_alive(process_id: u32) -> bool {
        let pid = Pid::from_raw(i32::try_from(process_id).unwrap()).unwrap();
        test_kill_process(pid).is_ok()
    }

    #[test]
    fn dropping_ends_the_child() {
        let child = Guarded::start(Path::new("sleep"), &["600"], &[]).unwrap();
        let process_id = child.process_id();
        assert!(is_alive(process_id));
        drop(child);
        assert!(!is_alive(process_id));
    }

    #[test]
    fn output_and_end_are_seen() {
        let script = "echo \"$GREETING\"; exit 3";
        let environment = [("GREETING", "hello")];
        let mut child = Guarded::start(Path::new("sh"), &["-c", script], &environment).unwrap();
        while !child.has_ended().unwrap() {
            std::thread::yield_now();
        }
        assert_eq!(child.output().unwrap(), "hello\n");
    }
}
