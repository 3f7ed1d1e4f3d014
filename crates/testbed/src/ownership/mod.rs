//! Compares the fields that a controller declares with those that it wrote, from an audit log with bodies: a write that
//! is not declared is a failure, and so is a declaration without a write. Paths read like `spec.replicas` or
//! `metadata.annotations[…/labels][kubernetes.io/arch]`: cluster-autoscaler's annotation is a list of pairs.

mod claims;
mod fields;
mod touches;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use machinist_control_plane::{ControlPlane, Options};
use tempfile::NamedTempFile;

use crate::audit::POLICY_WITH_BODIES;

pub use self::claims::{Claim, claims};
pub use self::touches::{Touch, touches};

pub async fn control_plane() -> Result<ControlPlane> {
    let policy = NamedTempFile::new()?;
    std::fs::write(policy.path(), POLICY_WITH_BODIES)?;
    let flag = format!("--audit-policy-file={}", policy.path().display());
    // The API server reads the file once, when it starts.
    let options = Options { api_server_flags: vec![flag], ..Options::default() };
    ControlPlane::start_with(options).await.context("control plane")
}

pub fn compare(claims: &BTreeSet<Claim>, touches: &BTreeSet<Touch>) -> Result<()> {
    let mut report = String::new();
    for touch in touches.iter().filter(|touch| !claims.iter().any(|claim| claim.covers(touch))) {
        writeln!(report, "written, but not declared: {touch}")?;
    }
    for claim in claims.iter().filter(|claim| !touches.iter().any(|touch| claim.covers(touch))) {
        writeln!(report, "declared, but not written: {claim}")?;
    }
    ensure!(report.is_empty(), "the declaration does not match the audit log:\n{report}");
    Ok(())
}
