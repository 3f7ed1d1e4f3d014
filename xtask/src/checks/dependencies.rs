//! The dependency policy of `deny.toml`, enforced without cargo-deny.
//!
//! cargo-deny reads the same file and is the tool for advisories, but it takes minutes to compile on a small machine; the gate must
//! not be skipped for that, so it reads bans, licences and sources itself. Keys that it does not know are an error: a rule that
//! only one of the two readers obeys would be worse than none.
//!
//! The graph comes from `cargo tree`, not from the lock file or `cargo metadata`: these two also list optional dependencies
//! that no feature switches on (ring, behind rustls-webpki, for one).

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::spdx;
use crate::cargo::{self, Metadata, Package};
use crate::finding::Finding;
use crate::repo::Repo;

const FILE: &str = "deny.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    graph: Graph,
    bans: Bans,
    licenses: Licenses,
    sources: Sources,
    /// For cargo-deny alone.
    #[serde(rename = "advisories")]
    _advisories: toml::Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Graph {
    targets: Vec<String>,
    all_features: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    multiple_versions: Level,
    wildcards: Level,
    allow_wildcard_paths: bool,
    deny: Vec<Ban>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    unknown_registry: Level,
    unknown_git: Level,
    allow_registry: Vec<String>,
    allow_git: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    Allow,
    Warn,
    Deny,
}

/// A crate of the graph as `cargo tree` prints it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Linked {
    name: String,
    version: String,
    license: String,
}

#[derive(Debug, Deserialize)]
struct LockFile {
    package: Vec<Locked>,
}

#[derive(Debug, Deserialize)]
struct Locked {
    name: String,
    source: Option<String>,
}

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let policy: Policy =
        toml::from_str(&repo.read(FILE)?).with_context(|| format!("failed to read {FILE}"))?;
    let lock: LockFile =
        toml::from_str(&repo.read("Cargo.lock")?).context("failed to read Cargo.lock")?;
    let linked = linked(&tree(repo, &policy.graph)?);
    ensure!(
        !linked.is_empty(),
        "cargo tree printed nothing that could be read: its format has changed"
    );

    let mut findings = bans(&policy.bans, &linked);
    findings.extend(versions(&policy.bans, &linked));
    findings.extend(wildcards(&policy.bans, &Metadata::of(repo)?.packages));
    findings.extend(licences(&policy.licenses, &linked));
    findings.extend(sources(&policy.sources, &lock));
    Ok(findings)
}

fn tree(repo: &Repo, graph: &Graph) -> Result<String> {
    let mut arguments =
        vec!["tree", "--workspace", "--edges", "normal,build,dev", "--prefix", "none"];
    arguments.extend(["--format", "{p}\t{l}"]);
    for target in &graph.targets {
        arguments.extend(["--target", target]);
    }
    if graph.all_features {
        arguments.push("--all-features");
    }
    cargo::output(repo, &arguments)
}

fn linked(tree: &str) -> BTreeSet<Linked> {
    tree.lines()
        .filter_map(|line| {
            let (package, license) = line.split_once('\t')?;
            let mut words = package.split_whitespace();
            Some(Linked {
                name: words.next()?.to_owned(),
                version: words.next()?.to_owned(),
                license: license.trim_end_matches("(*)").trim().to_owned(),
            })
        })
        .collect()
}

fn bans(bans: &Bans, linked: &BTreeSet<Linked>) -> Vec<Finding> {
    let banned = |linked: &Linked| {
        let ban = bans.deny.iter().find(|ban| ban.name == linked.name)?;
        let advice = format!(
            "{} {} is linked in, but banned: {}; `cargo tree --workspace -i {}` shows by whom",
            linked.name, linked.version, ban.reason, linked.name
        );
        Some(Finding::of(FILE, advice))
    };
    linked.iter().filter_map(banned).collect()
}

fn versions(bans: &Bans, linked: &BTreeSet<Linked>) -> Vec<Finding> {
    let mut by_name: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for linked in linked {
        by_name.entry(&linked.name).or_default().insert(&linked.version);
    }
    by_name
        .into_iter()
        .filter(|(_, versions)| versions.len() > 1)
        .filter_map(|(name, versions)| {
            let versions: Vec<&str> = versions.into_iter().collect();
            at(
                bans.multiple_versions,
                "Cargo.lock",
                format!("{name} is linked in as {}", versions.join(" and ")),
            )
        })
        .collect()
}

fn wildcards(bans: &Bans, packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.req == "*") {
            if dependency.path.is_none() || !bans.allow_wildcard_paths {
                let advice = format!("{} accepts any version: name one", dependency.name);
                findings.extend(at(bans.wildcards, &format!("crate {}", package.name), advice));
            }
        }
    }
    findings
}

fn licences(licenses: &Licenses, linked: &BTreeSet<Linked>) -> Vec<Finding> {
    linked
        .iter()
        .filter(|linked| !spdx::is_allowed(&linked.license, &licenses.allow))
        .map(|linked| {
            let advice = format!(
                "{} {} has the licence {:?}, which [licenses] does not allow: replace the crate, or allow it with a reason",
                linked.name, linked.version, linked.license
            );
            Finding::of(FILE, advice)
        })
        .collect()
}

fn sources(sources: &Sources, lock: &LockFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &lock.package {
        // Without a source it is a folder of the workspace.
        let Some(source) = &package.source else {
            continue;
        };
        let (level, known) = match source.split_once('+') {
            Some(("git", url)) => (
                sources.unknown_git,
                sources.allow_git.iter().any(|allowed| url.starts_with(allowed)),
            ),
            Some((_, url)) => (
                sources.unknown_registry,
                sources.allow_registry.iter().any(|allowed| url == allowed),
            ),
            None => (Level::Deny, false),
        };
        if !known {
            findings.extend(at(
                level,
                "Cargo.lock",
                format!("{} comes from {source}: use crates.io", package.name),
            ));
        }
    }
    findings
}

fn at(level: Level, place: &str, advice: String) -> Option<Finding> {
    match level {
        Level::Allow => None,
        Level::Warn => Some(Finding::warning(place, advice)),
        Level::Deny => Some(Finding::of(place, advice)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"
        [graph]
        targets = []
        all-features = true
        [bans]
        multiple-versions = "warn"
        wildcards = "deny"
        allow-wildcard-paths = true
        deny = [{ crate = "chrono", reason = "time is jiff" }]
        [licenses]
        allow = ["MIT"]
        [sources]
        unknown-registry = "deny"
        unknown-git = "deny"
        allow-registry = ["https://example.org/index"]
        allow-git = []
        [advisories]
        ignore = []
    "#;

    fn policy() -> Policy {
        toml::from_str(POLICY).unwrap()
    }

    #[test]
    fn a_key_that_is_not_understood_is_an_error() {
        let odd = POLICY.replace("wildcards", "wildcardz");
        assert!(toml::from_str::<Policy>(&odd).is_err());
    }

    #[test]
    fn the_tree_is_read_once_per_crate() {
        let found = linked(
            "a v1.0.0 (/some/path)\tMIT\nb v2.0.0\tMIT OR ISC\nb v2.0.0\tMIT OR ISC (*)\nc v1.0.0 (proc-macro)\t\n",
        );
        let names: Vec<&str> = found.iter().map(|linked| linked.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(found.first().unwrap().license, "MIT");
    }

    #[test]
    fn bans_say_why() {
        let findings = bans(&policy().bans, &linked("chrono v0.4.45\tMIT\njiff v0.2.0\tMIT\n"));
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0].is_error() && findings[0].advice.contains("time is jiff"),
            "{findings:?}"
        );
    }

    #[test]
    fn two_versions_are_a_warning() {
        let findings =
            versions(&policy().bans, &linked("a v1.0.0\tMIT\na v2.0.0\tMIT\nb v1.0.0\tMIT\n"));
        assert_eq!(findings.len(), 1);
        assert!(!findings[0].is_error());
    }

    #[test]
    fn a_licence_that_is_not_listed_or_missing_is_an_error() {
        let findings =
            licences(&policy().licenses, &linked("a v1.0.0\tGPL-3.0\nb v1.0.0\t\nc v1.0.0\tMIT\n"));
        let advice: Vec<&str> = findings.iter().map(|finding| finding.advice.as_str()).collect();
        assert_eq!(advice.len(), 2, "{advice:?}");
    }

    #[test]
    fn sources_are_the_named_registry_and_the_workspace() {
        let lock = |source: &str| LockFile {
            package: vec![
                Locked { name: "own".into(), source: None },
                Locked { name: "a".into(), source: Some(source.into()) },
            ],
        };
        assert_eq!(sources(&policy().sources, &lock("registry+https://example.org/index")), []);
        assert_eq!(
            sources(&policy().sources, &lock("registry+https://example.com/other")).len(),
            1
        );
        assert_eq!(sources(&policy().sources, &lock("git+https://example.org/a?rev=1#1")).len(), 1);
    }
}
