//! Dependencies between crates point one way. The table is the picture in docs/internals/architecture.md; a new arrow
//! is a change of the architecture.

use anyhow::Result;

use crate::cargo::{self, Metadata, Package};
use crate::finding::Finding;
use crate::repo::Repo;

/// A crate, the workspace crates that it may use, and those that only its tests may use. From the bottom to the top;
/// `machinist-` is left out.
const LAYERS: &[(&str, &str, &str)] = &[
    ("api", "", "control-plane testbed"),
    ("domain", "api", ""),
    ("provider", "api domain", ""),
    ("aws-spec", "api domain provider", ""),
    ("provider-aws", "api aws-spec domain provider", "runtime testbed"),
    ("provider-sim", "api domain provider", "control-plane"),
    ("runtime", "api domain", "control-plane testbed"),
    ("controllers", "api domain provider runtime", "aws-spec control-plane provider-sim testbed"),
    ("control-plane", "", ""),
    ("testbed", "api control-plane domain provider-sim runtime", ""),
    (
        "machinist",
        "api aws-spec control-plane controllers domain provider provider-aws provider-sim runtime",
        "testbed",
    ),
    (
        "bench",
        "api aws-spec control-plane controllers domain provider provider-aws provider-sim runtime testbed",
        "",
    ),
    ("xtask", "api controllers domain machinist runtime", ""),
];

/// Crates that do no IO build in seconds; these dependencies would end that. A trailing `*` matches any rest.
const LIGHT: &[&str] =
    &["machinist-api", "machinist-domain", "machinist-provider", "machinist-aws-spec"];
const HEAVY: &[&str] =
    &["tokio", "kube-client", "kube-runtime", "hyper", "hyper-*", "rustls", "aws-*"];

/// External crates that a crate must not name outside of its tests. Controllers without a client cannot write past the
/// gateway.
const FORBIDDEN: &[(&str, &[&str])] =
    &[("controllers", &["kube", "kube-*", "http", "hyper", "axum"])];
const SDK: &[&str] = &["aws-config", "aws-sdk-*"];
const SDK_USERS: &[&str] = &["provider-aws", "bench"];

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let packages = Metadata::of(repo)?.packages;
    let mut findings: Vec<Finding> = packages.iter().flat_map(arrows).collect();
    for name in LIGHT {
        let tree = ["tree", "--package", name, "--edges", "normal", "--prefix", "none"];
        findings.extend(weight(name, &cargo::output(repo, &tree)?));
    }
    Ok(findings)
}

/// Compares the direct dependencies of one crate with the table.
fn arrows(package: &Package) -> Vec<Finding> {
    let place = format!("crate {}", package.name);
    let own = short(&package.name);
    let Some((_, uses, tests_use)) = LAYERS.iter().find(|(name, ..)| *name == own) else {
        return vec![Finding::of(place, "add its row to xtask/src/checks/layers.rs")];
    };
    let forbidden = FORBIDDEN.iter().filter(|(name, _)| *name == own).flat_map(|(_, names)| *names);
    let forbidden: Vec<&str> = forbidden.copied().collect();
    let mut findings = Vec::new();
    for dependency in &package.dependencies {
        let name = dependency.name.as_str();
        let is_test = dependency.kind.as_deref() == Some("dev");
        let has = |list: &str| list.split(' ').any(|used| used == short(name));
        if dependency.path.is_some() && !has(uses) && !(is_test && has(tests_use)) {
            let advice = format!("must not depend on {name}: see docs/internals/architecture.md");
            findings.push(Finding::of(&place, advice));
        }
        if matches(SDK, name) && !SDK_USERS.contains(&own) {
            let advice = format!("must not depend on {name}: only provider-aws uses the AWS SDK");
            findings.push(Finding::of(&place, advice));
        }
        if matches(&forbidden, name) && !is_test {
            findings
                .push(Finding::of(&place, format!("must not depend on {name}: use the runtime")));
        }
    }
    findings
}

/// Compares the output of `cargo tree` for a light crate with the list of heavy ones.
fn weight(name: &str, tree: &str) -> Vec<Finding> {
    let mut heavy: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|it| matches(HEAVY, it))
        .collect();
    heavy.sort_unstable();
    heavy.dedup();
    let advice =
        |it: &str| format!("pulls in {it}, but does no IO: see `cargo tree -p {name} -i {it}`");
    heavy.into_iter().map(|it| Finding::of(format!("crate {name}"), advice(it))).collect()
}

fn short(name: &str) -> &str {
    name.strip_prefix("machinist-").unwrap_or(name)
}

fn matches(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cargo::Dependency;

    fn findings(name: &str, dependency: &str, kind: Option<&str>) -> usize {
        let dependency = Dependency {
            name: dependency.to_owned(),
            kind: kind.map(str::to_owned),
            path: dependency.starts_with("machinist").then(|| "folder".into()),
        };
        let package = Package {
            name: name.to_owned(),
            version: "0.0.0".to_owned(),
            manifest_path: "Cargo.toml".into(),
            dependencies: vec![dependency],
            features: BTreeMap::new(),
            targets: Vec::new(),
        };
        arrows(&package).len()
    }

    #[test]
    fn arrows_point_down_and_only_tests_use_the_testbed() {
        assert_eq!(findings("machinist-domain", "machinist-api", None), 0);
        assert_eq!(findings("machinist-domain", "machinist-runtime", None), 1);
        assert_eq!(findings("machinist-runtime", "machinist-testbed", Some("dev")), 0);
        assert_eq!(findings("machinist-runtime", "machinist-testbed", None), 1);
        assert_eq!(findings("machinist-new", "serde", None), 1);
    }

    #[test]
    fn the_sdk_and_the_client_have_one_user_each() {
        assert_eq!(findings("machinist-runtime", "aws-sdk-ec2", None), 1);
        assert_eq!(findings("machinist-runtime", "aws-lc-rs", None), 0);
        assert_eq!(findings("machinist-controllers", "kube", None), 1);
        assert_eq!(findings("machinist-controllers", "kube", Some("dev")), 0);
    }

    #[test]
    fn heavy_crates_are_found_in_a_tree() {
        let tree = "machinist-api v0.1.0 (/x)\ntokio v1.0.0\ntokio v1.0.0 (*)\naws-lc-rs v1.0.0\n";
        assert_eq!(weight("machinist-api", tree).len(), 2);
        assert_eq!(weight("machinist-api", "kube-core v5.0.0\ntokio-stub v1.0.0\n"), []);
    }

    #[test]
    fn the_table_has_no_cycles() {
        for (rank, (name, uses, _)) in LAYERS.iter().enumerate() {
            for used in uses.split_whitespace() {
                let below = LAYERS.iter().position(|(other, ..)| *other == used);
                assert!(below.is_some_and(|below| below < rank), "{name} uses {used}");
            }
        }
    }
}
