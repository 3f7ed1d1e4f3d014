//! Who writes which field: what `docs/concepts/ownership.md` claims against what the API server's audit log saw.
//!
//! | file | what |
//! |---|---|
//! | `claims` | the tables of the document, parsed |
//! | `touches` | what the writes in an audit log touched |
//! | `fields` | objects as paths and values |
//!
//! A test runs a controller through everything that it can write, on a control plane whose log has bodies ([`control_plane`]), and calls
//! [`compare`]: a write that no row covers is a failure, and so is a row that nobody needed.
//!
//! Paths read like `spec.replicas`, `metadata.annotations[example.com/x]`, `status.conditions[Ready].status`. The `labels` annotation of
//! cluster-autoscaler is a list of pairs that belong to different parties: `metadata.annotations[…/labels][kubernetes.io/arch]`.

mod claims;
mod fields;
mod touches;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use machinist_control_plane::{ControlPlane, POLICY_WITH_BODIES};
use tempfile::NamedTempFile;

pub use self::claims::{Claim, claims};
pub use self::touches::{Touch, touches};

/// A control plane whose audit log has the bodies of writes.
pub async fn control_plane() -> Result<ControlPlane> {
    let policy = NamedTempFile::new()?;
    std::fs::write(policy.path(), POLICY_WITH_BODIES)?;
    let flag = format!("--audit-policy-file={}", policy.path().display());
    // The API server reads the file once, when it starts.
    ControlPlane::builder().api_server_flag(flag).start().await.context("control plane")
}

/// Fails where a controller wrote what it does not claim, or claims what it never wrote.
pub fn compare(claims: &BTreeSet<Claim>, touches: &BTreeSet<Touch>) -> Result<()> {
    let mut report = String::new();
    for touch in touches.iter().filter(|touch| !claims.iter().any(|claim| claim.covers(touch))) {
        writeln!(report, "written, but in no table: {touch}")?;
    }
    for claim in claims.iter().filter(|claim| !touches.iter().any(|touch| claim.covers(touch))) {
        writeln!(report, "in a table, but nobody wrote it: {claim}")?;
    }
    ensure!(report.is_empty(), "docs/concepts/ownership.md is not what happens:\n{report}");
    Ok(())
}
