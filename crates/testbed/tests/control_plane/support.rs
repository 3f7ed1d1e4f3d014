//! What several tests need: which processes belong to a control plane, and waiting for them to go.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Command lines of living etcd and kube-apiserver processes that use the folder. A process that is dead but not yet
/// reaped has an empty one.
pub(crate) fn programs_in(folder: &Path) -> Result<Vec<String>> {
    let mark = format!("{}/internal/", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        // Processes come and go while we look.
        let Ok(bytes) = std::fs::read(entry?.path().join("cmdline")) else {
            continue;
        };
        let line = String::from_utf8_lossy(&bytes).replace('\0', " ");
        if line.contains(&mark) {
            found.push(line);
        }
    }
    Ok(found)
}

/// Waits until nothing of a control plane is left.
pub(crate) fn wait_gone(folder: &Path, limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        let programs = programs_in(folder)?;
        if programs.is_empty() && !folder.exists() {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "left after {limit:?}: {programs:?}, {}",
            folder.display()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}
