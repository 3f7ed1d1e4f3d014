//! Dependencies point one way. The table below *is* the architecture's picture; a new arrow is a change of it, made on purpose.

use anyhow::Result;

use crate::cargo::{self, Metadata, Package};
use crate::finding::Finding;
use crate::repo::Repo;

/// A crate, and the crates of the workspace that it may use.
struct Layer {
    name: &'static str,
    uses: &'static [&'static str],
    /// In addition, in its tests.
    tests_use: &'static [&'static str],
}

const fn layer(
    name: &'static str,
    uses: &'static [&'static str],
    tests_use: &'static [&'static str],
) -> Layer {
    Layer { name, uses, tests_use }
}

const REAL_PARTS: &[&str] = &["machinist-control-plane", "machinist-testbed"];

/// From the bottom to the top.
const LAYERS: &[Layer] = &[
    layer("machinist-api", &[], &["machinist-control-plane"]),
    layer("machinist-domain", &["machinist-api"], &[]),
    layer("machinist-provider", &["machinist-api", "machinist-domain"], &[]),
    layer("machinist-aws-spec", &["machinist-api", "machinist-domain", "machinist-provider"], &[]),
    layer(
        "machinist-provider-aws",
        &["machinist-api", "machinist-aws-spec", "machinist-domain", "machinist-provider"],
        &["machinist-runtime", "machinist-testbed"],
    ),
    layer(
        "machinist-provider-sim",
        &["machinist-api", "machinist-domain", "machinist-provider"],
        &["machinist-control-plane"],
    ),
    layer("machinist-runtime", &["machinist-api", "machinist-domain"], REAL_PARTS),
    layer(
        "machinist-controllers",
        &["machinist-api", "machinist-domain", "machinist-provider", "machinist-runtime"],
        &[
            "machinist-aws-spec",
            "machinist-control-plane",
            "machinist-provider-sim",
            "machinist-testbed",
        ],
    ),
    layer("machinist-control-plane", &[], &[]),
    layer(
        "machinist-testbed",
        &[
            "machinist-api",
            "machinist-control-plane",
            "machinist-domain",
            "machinist-provider-sim",
            "machinist-runtime",
        ],
        &[],
    ),
    layer(
        "machinist",
        &[
            "machinist-api",
            "machinist-aws-spec",
            "machinist-control-plane",
            "machinist-controllers",
            "machinist-domain",
            "machinist-provider",
            "machinist-provider-aws",
            "machinist-provider-sim",
            "machinist-runtime",
        ],
        &["machinist-testbed"],
    ),
    layer(
        "machinist-bench",
        &[
            "machinist-api",
            "machinist-aws-spec",
            "machinist-control-plane",
            "machinist-controllers",
            "machinist-domain",
            "machinist-provider",
            "machinist-provider-aws",
            "machinist-provider-sim",
            "machinist-runtime",
            "machinist-testbed",
        ],
        &[],
    ),
    layer("xtask", &["machinist-api"], &[]),
];

/// Crates that build in seconds because they do no IO, and what would end that. A trailing `*` stands for any rest.
const LIGHT: &[&str] =
    &["machinist-api", "machinist-domain", "machinist-provider", "machinist-aws-spec"];
const HEAVY: &[&str] =
    &["tokio", "kube-client", "kube-runtime", "hyper", "hyper-*", "rustls", "aws-*"];

/// The only crate that may name the AWS SDK, and the one that measures against it.
const SDK_OWNER: &str = "machinist-provider-aws";
const SDK_RIVAL: &str = "machinist-bench";
const SDK: &[&str] = &["aws-config", "aws-sdk-*"];

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let packages = Metadata::of(repo)?.packages;
    let mut findings: Vec<Finding> = packages.iter().flat_map(arrows).collect();
    for name in LIGHT {
        let tree = cargo::output(
            repo,
            &["tree", "--package", name, "--edges", "normal", "--prefix", "none"],
        )?;
        findings.extend(weight(name, &tree));
    }
    Ok(findings)
}

/// The direct dependencies of one crate against the table.
fn arrows(package: &Package) -> Vec<Finding> {
    let place = format!("crate {}", package.name);
    let Some(layer) = LAYERS.iter().find(|layer| layer.name == package.name) else {
        return vec![Finding::of(
            place,
            "is not in the table of xtask/src/checks/layers.rs: add its row",
        )];
    };
    let mut findings = Vec::new();
    for dependency in &package.dependencies {
        let name = dependency.name.as_str();
        let in_tests = dependency.kind.as_deref() == Some("dev");
        let allowed = layer.uses.contains(&name) || (in_tests && layer.tests_use.contains(&name));
        if dependency.path.is_some() && !allowed {
            let advice = format!(
                "must not depend on {name}: dependencies point one way (docs/architecture.md)"
            );
            findings.push(Finding::of(&place, advice));
        }
        let may_name_sdk = [SDK_OWNER, SDK_RIVAL].contains(&package.name.as_str());
        if SDK.iter().any(|pattern| matches(pattern, name)) && !may_name_sdk {
            let advice = format!("must not depend on {name}: only {SDK_OWNER} sees the AWS SDK");
            findings.push(Finding::of(&place, advice));
        }
    }
    findings
}

/// Everything that a light crate pulls in, as `cargo tree` prints it, against the list of heavy crates.
fn weight(name: &str, tree: &str) -> Vec<Finding> {
    let mut heavy: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|dependency| HEAVY.iter().any(|pattern| matches(pattern, dependency)))
        .collect();
    heavy.sort_unstable();
    heavy.dedup();
    heavy
        .into_iter()
        .map(|dependency| {
            let advice =
                format!("pulls in {dependency}, but does no IO: see `cargo tree -p {name} -i {dependency} -e normal`");
            Finding::of(format!("crate {name}"), advice)
        })
        .collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::Dependency;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependency = |(name, kind): &(&str, Option<&str>)| Dependency {
            name: (*name).to_owned(),
            req: "*".to_owned(),
            kind: kind.map(str::to_owned),
            path: (name.starts_with("machinist")).then(|| "somewhere".into()),
        };
        Package {
            name: name.to_owned(),
            version: "0.0.0".to_owned(),
            manifest_path: "Cargo.toml".into(),
            dependencies: dependencies.iter().map(dependency).collect(),
            targets: Vec::new(),
        }
    }

    #[test]
    fn arrows_down_pass_and_arrows_up_fail() {
        assert_eq!(
            arrows(&package("machinist-domain", &[("machinist-api", None), ("serde", None)])),
            []
        );
        let findings = arrows(&package("machinist-domain", &[("machinist-runtime", None)]));
        assert_eq!(findings.len(), 1);
        assert!(findings[0].advice.contains("machinist-runtime"), "{findings:?}");
    }

    #[test]
    fn tests_may_use_the_real_parts_and_the_code_may_not() {
        assert_eq!(
            arrows(&package("machinist-runtime", &[("machinist-testbed", Some("dev"))])),
            []
        );
        assert_eq!(arrows(&package("machinist-runtime", &[("machinist-testbed", None)])).len(), 1);
    }

    #[test]
    fn a_crate_without_a_row_is_a_question() {
        assert!(arrows(&package("machinist-new", &[]))[0].advice.contains("add its row"));
    }

    #[test]
    fn the_sdk_has_one_owner() {
        assert_eq!(arrows(&package("machinist-runtime", &[("aws-sdk-ec2", None)])).len(), 1);
        assert_eq!(arrows(&package("machinist-runtime", &[("aws-lc-rs", None)])), []);
    }

    #[test]
    fn heavy_crates_are_found_in_a_tree() {
        let tree = "machinist-api v0.1.0 (/x)\nserde v1.0.0\ntokio v1.0.0\ntokio v1.0.0 (*)\naws-lc-rs v1.0.0\n";
        let advice: Vec<String> =
            weight("machinist-api", tree).into_iter().map(|finding| finding.advice).collect();
        assert_eq!(advice.len(), 2);
        assert!(advice[0].contains("aws-lc-rs") && advice[1].contains("tokio"), "{advice:?}");
        assert_eq!(weight("machinist-api", "kube-core v5.0.0\ntokio-stub v1.0.0\n"), []);
    }

    #[test]
    fn the_table_has_no_cycles() {
        for (rank, layer) in LAYERS.iter().enumerate() {
            for used in layer.uses {
                let below = LAYERS.iter().position(|other| other.name == *used);
                assert!(below.is_some_and(|below| below < rank), "{} uses {used}", layer.name);
            }
        }
    }
}
