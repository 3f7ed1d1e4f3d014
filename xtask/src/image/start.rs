//! Starts an unpacked image with nothing but its own files.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Only root may change the root folder; others are root in a user namespace of their own.
const WAYS: [&[&str]; 2] = [&["chroot"], &["unshare", "--map-root-user", "chroot"]];
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What `machinist version` prints in the image.
pub(super) fn version(root: &Path) -> Result<String> {
    let mut errors = Vec::new();
    for way in WAYS {
        let mut command = Command::new(way[0]);
        command.args(&way[1..]).arg(root).args(["/machinist", "version"]);
        command.env_clear().env("PATH", PATH);
        let output = command.output().with_context(|| format!("failed to run {}", way[0]))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        errors.push(format!("{}: {error}", way.join(" ")));
    }
    bail!(
        "the image does not start (this needs root, or user namespaces: \
         kernel.apparmor_restrict_unprivileged_userns=0):\n{}",
        errors.join("\n")
    )
}
