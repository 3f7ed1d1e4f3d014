//! Child processes that end with this process, even after `kill -9`. They inherit a mark in the environment. When this
//! process ends, the kernel closes a pipe, and the shell at its other end, the guard, kills all processes with the
//! mark. They are looked up at that moment, so a process id that was reused is never hit.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::LazyLock;

use crate::messages;

pub(crate) const OWNER: &str = "MACHINIST_OWNER";

const DISMISSED: &str = "dismissed\n";

/// `$1` is a folder to remove, or empty. Reads the mark from the pipe, because in its own command line or environment
/// it would match itself. Several rounds, since a process may be between fork and exec in the first one. Signals are
/// ignored: only the end of the pipe ends the guard.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r mark && [ -n "$mark" ] || exit 1
read -r word && [ "$word" = dismissed ] && exit 0
for round in 1 2 3 4 5; do
    if [ -r /proc/self/environ ]; then
        found=$(printf '%s' "$mark" | grep -lF -f - /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3)
    else
        found=$(ps -Eaxww -o pid=,command= | grep -F "$mark" | awk '{ print $1 }')
    fi
    [ -n "$found" ] && kill -9 $found 2>/dev/null
    sleep 0.1 2>/dev/null || sleep 1
done
[ -n "$1" ] && rm -rf "$1"
"#;

/// Dropping it dismisses the shell: the processes are gone.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    pub(crate) fn start(mark: &str, folder: Option<&Path>) -> io::Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "machinist-guard"])
            .arg(folder.unwrap_or(Path::new("")))
            // The guard outlives a process that is itself a guarded child.
            .env_remove(OWNER)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in a terminal signals the whole group; the guard must survive it.
            .process_group(0)
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), messages::no_shell(&error)))?;
        let mut pipe = shell.stdin.take();
        if let Some(pipe) = &mut pipe {
            pipe.write_all(format!("{mark}\n").as_bytes())?;
        }
        Ok(Self { shell, pipe })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // Fails only for a guard that has ended.
            pipe.write_all(DISMISSED.as_bytes()).ok();
        }
        self.shell.wait().ok();
    }
}

/// The mark and the guard of this process. Never dropped: the end of the process closes the pipe.
static OWN: LazyLock<io::Result<(String, Guard)>> = LazyLock::new(|| {
    let mark = format!("{}-{:016x}", std::process::id(), fastrand::u64(..));
    let guard = Guard::start(&mark, None)?;
    Ok((mark, guard))
});

/// Binds the life of the process to this one's. Call it after `env_clear`.
pub fn bind(command: &mut Command) -> io::Result<()> {
    let (mark, _) =
        OWN.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
    command.env(OWNER, mark);
    Ok(())
}

/// Starts a process that ends with this one, and at the latest when it is dropped.
pub fn spawn(command: &mut tokio::process::Command) -> io::Result<tokio::process::Child> {
    bind(command.as_std_mut())?;
    command.kill_on_drop(true).spawn()
}
