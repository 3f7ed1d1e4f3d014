//! Bans, licences and sources of `deny.toml`, as far as `cargo tree` and the lock file show them.
//!
//! cargo-deny reads the same file and does more (advisories, every SPDX expression). It takes minutes to compile, so
//! the gate does not run it; CONTRIBUTING.md says who does. `cargo tree` and not the lock file lists the crates: the
//! lock file also has optional dependencies that no feature enables.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::cargo;
use crate::finding::Finding;
use crate::repo::Repo;

const FILE: &str = "deny.toml";

#[derive(Debug, Deserialize)]
struct Policy {
    graph: Graph,
    bans: Bans,
    licenses: Licenses,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Debug, Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let policy: Policy =
        toml::from_str(&repo.read(FILE)?).with_context(|| format!("failed to read {FILE}"))?;
    let mut arguments = vec!["tree", "--workspace", "--all-features", "--prefix", "none"];
    arguments.extend(["--edges", "normal,build,dev", "--format", "{p}\t{l}"]);
    for target in &policy.graph.targets {
        arguments.extend(["--target", target]);
    }
    Ok(inspect(&policy, &cargo::output(repo, &arguments)?, &repo.read("Cargo.lock")?))
}

fn inspect(policy: &Policy, tree: &str, lock: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines: BTreeSet<&str> = tree
        .lines()
        .map(|line| line.trim_end_matches("(*)").trim_end())
        .filter(|line| !line.is_empty())
        .collect();
    for line in lines {
        let (package, licence) = line.split_once('\t').unwrap_or((line, ""));
        let name = package.split(' ').next().unwrap_or_default();
        if let Some(ban) = policy.bans.deny.iter().find(|ban| ban.name == name) {
            let advice = format!("{package} is banned: {}; see `cargo tree -i {name}`", ban.reason);
            findings.push(Finding::of(FILE, advice));
        }
        if !is_allowed(licence, &policy.licenses.allow) {
            let advice = format!("{package}: licence {licence:?} is not in [licenses]");
            findings.push(Finding::of(FILE, advice));
        }
    }
    for source in lock.lines().filter_map(|line| line.strip_prefix("source = ")) {
        let url = source.trim_matches('"').trim_start_matches("registry+");
        if !policy.sources.allow_registry.iter().any(|allowed| allowed == url) {
            findings.push(Finding::of("Cargo.lock", format!("{source} is not in [sources]")));
        }
    }
    findings
}

/// Groups joined by `AND`, of which each needs one allowed alternative.
fn is_allowed(licence: &str, allowed: &[String]) -> bool {
    let alternatives = |group: &str| {
        let plain = group.replace(['(', ')'], "").replace('/', " OR ");
        plain.split(" OR ").any(|name| allowed.iter().any(|allowed| allowed == name.trim()))
    };
    licence.split(" AND ").all(alternatives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bans_licences_and_sources_are_compared_with_the_policy() {
        let policy: Policy = toml::from_str(
            "[graph]\ntargets = []\n[bans]\ndeny = [{ crate = \"chrono\", reason = \"use jiff\" }]\n\
             [licenses]\nallow = [\"MIT\", \"ISC\"]\n[sources]\nallow-registry = [\"https://a\"]\n",
        )
        .unwrap();
        let lock = "source = \"registry+https://a\"\n";
        let advice = |tree: &str, lock: &str| -> Vec<String> {
            inspect(&policy, tree, lock).into_iter().map(|finding| finding.advice).collect()
        };
        assert!(advice("a v1\tMIT\na v1\tMIT (*)\n\nb v1 (proc-macro)\tISC", lock).is_empty());
        assert!(advice("chrono v0.4\tMIT", lock)[0].contains("use jiff"));
        assert_eq!(advice("a v1\tGPL-3.0\nb v1\t\n", lock).len(), 2);
        assert_eq!(advice("", "source = \"git+https://a\"\n").len(), 1);
    }

    #[test]
    fn licence_expressions() {
        let allowed = |licence: &str| is_allowed(licence, &["MIT".into(), "ISC".into()]);
        assert!(allowed("GPL-3.0 OR MIT") && allowed("GPL-3.0/MIT"));
        assert!(allowed("ISC AND (GPL-3.0 OR MIT)"));
        assert!(!allowed("GPL-3.0 AND MIT") && !allowed("(ISC OR MIT) AND GPL-3.0"));
    }
}
