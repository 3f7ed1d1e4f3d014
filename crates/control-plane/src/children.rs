//! Child processes that end with this process, even after `kill -9`.
//!
//! Every child carries a mark of this process in its environment and passes it on to its own children. One shell per
//! process holds the read end of a pipe. When this process ends, the kernel closes the pipe, and the shell kills all
//! processes with the mark. Processes are looked up at that moment, so a process id that was reused is never hit.
//!
//! Not here: the programs of a control plane; their guard also removes the temporary folder.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::LazyLock;

/// The variable that carries the mark.
pub(crate) const OWNER: &str = "MACHINIST_OWNER";

/// Reads the mark from the pipe, because in its own command line or environment it would match itself. Several rounds,
/// since a process may be between fork and exec in the first one.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r mark && [ -n "$mark" ] || exit 1
read -r _
for round in 1 2 3 4 5; do
    if [ -r /proc/self/environ ]; then
        found=$(printf '%s' "$mark" | grep -lF -f - /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3)
    else
        found=$(ps -Eaxww -o pid=,command= | grep -F "$mark" | awk '{ print $1 }')
    fi
    [ -n "$found" ] && kill -9 $found 2>/dev/null
    sleep 0.1 2>/dev/null || sleep 1
done
"#;

/// Never dropped: the end of the process closes the pipe.
static GUARD: LazyLock<io::Result<Guard>> = LazyLock::new(Guard::start);

#[derive(Debug)]
struct Guard {
    mark: String,
    _pipe: Option<ChildStdin>,
}

impl Guard {
    fn start() -> io::Result<Self> {
        let mark = format!("{}-{:016x}", std::process::id(), fastrand::u64(..));
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "machinist-children"])
            .env_remove(OWNER)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in a terminal signals the whole group; the guard must survive it.
            .process_group(0)
            .spawn()?;
        let mut pipe = shell.stdin.take();
        if let Some(pipe) = &mut pipe {
            pipe.write_all(format!("{mark}\n").as_bytes())?;
        }
        Ok(Self { mark, _pipe: pipe })
    }
}

/// Binds the life of the process to this one's. Call it after `env_clear`.
pub fn bind(command: &mut Command) -> io::Result<()> {
    match &*GUARD {
        Ok(guard) => {
            command.env(OWNER, &guard.mark);
            Ok(())
        }
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot start sh: {error}"))),
    }
}

/// Starts a process that ends with this one, and at the latest when it is dropped.
pub fn spawn(command: &mut tokio::process::Command) -> io::Result<tokio::process::Child> {
    bind(command.as_std_mut())?;
    command.kill_on_drop(true).spawn()
}
