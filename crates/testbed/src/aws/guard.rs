use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use machinist_control_plane::children;

/// Its output is kept, and it cannot outlive this process. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub(super) struct Guarded {
    child: Child,
    output: File,
}

impl Guarded {
    pub(super) fn start(
        program: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Self> {
        let output = tempfile::tempfile().context("no file for the output of a child process")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            // Ctrl-C in a terminal signals the whole group; only the owner decides when the child ends.
            .process_group(0);
        children::bind(&mut command)?;
        let child =
            command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self { child, output })
    }

    pub(super) fn process_id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    pub(super) fn output(&self) -> Result<String> {
        let length = usize::try_from(self.output.metadata()?.len())?;
        let mut bytes = vec![0; length];
        self.output.read_exact_at(&mut bytes, 0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Both fail only for a child that has ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, test_kill_process};

    use super::*;

    fn is_alive(process_id: u32) -> bool {
        let pid = Pid::from_raw(i32::try_from(process_id).unwrap()).unwrap();
        test_kill_process(pid).is_ok()
    }

    #[test]
    fn drop_ends_the_child() {
        let child = Guarded::start(Path::new("sleep"), &["600"], &[]).unwrap();
        let process_id = child.process_id();
        assert!(is_alive(process_id));
        drop(child);
        assert!(!is_alive(process_id));
    }

    #[test]
    fn output_and_end_are_visible() {
        let script = "echo \"$GREETING\"; exit 3";
        let environment = [("GREETING", "hello")];
        let mut child = Guarded::start(Path::new("sh"), &["-c", script], &environment).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while !child.has_ended().unwrap() {
            assert!(Instant::now() < deadline, "the child does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(child.output().unwrap(), "hello\n");
    }
}
