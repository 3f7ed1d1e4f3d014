//! Makes sure that nothing outlives us, not even after `kill -9`.
//!
//! A small POSIX shell holds the read end of a pipe whose write end is ours. When our process ends in whatever way,
//! the kernel closes the pipe; the shell then kills every process that has our `internal/` folder in its command line
//! and removes the temporary folder. Looking processes up at that moment, instead of remembering their numbers, leaves
//! no gap between starting one and registering it, and cannot hit a number that was reused.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::children::OWNER;
use crate::error::Error;
use crate::folder::Folder;

/// The word that tells the guard that all is cleaned up.
const DISMISSED: &str = "dismissed\n";

/// `$1` is the temporary folder, `$2` a file with the text to look for. The text comes from a file because `grep` must
/// not find itself; it is checked first, because an empty line would match every process. A few rounds, since a process
/// may be between fork and exec in the first one. Signals are ignored: only the end of the pipe ends the guard.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r word && [ "$word" = dismissed ] && exit 0
[ "$(cat "$2")" = "$1/internal/" ] || exit 1
for round in 1 2 3 4 5; do
    if [ -r /proc/self/cmdline ]; then
        found=$(grep -lF -f "$2" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3)
    else
        found=$(ps -axo pid=,command= | grep -F -f "$2" | awk '{ print $1 }')
    fi
    [ -n "$found" ] && kill -9 $found 2>/dev/null
    sleep 0.1 2>/dev/null || sleep 1
done
rm -rf "$1"
"#;

/// The guard of one control plane.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    pub(crate) fn new(folder: &Folder) -> Result<Self, Error> {
        let mark = format!("{}\n", folder.internal("").display());
        let mark = folder.write("guard-mark", &mark)?;
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "machinist-guard"])
            .arg(folder.root())
            .arg(&mark)
            // The guard outlives a process that is itself a guarded child.
            .env_remove(OWNER)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in a terminal goes to the whole group; the guard must survive it.
            .process_group(0)
            .spawn()
            .map_err(|source| Error::Spawn { program: "sh".into(), source })?;
        let pipe = shell.stdin.take();
        Ok(Self { shell, pipe })
    }
}

impl Drop for Guard {
    /// Called after the programs are gone: the guard may leave without looking.
    fn drop(&mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // A guard that is gone already needs no word.
            pipe.write_all(DISMISSED.as_bytes()).ok();
        }
        self.shell.wait().ok();
    }
}
