//! The image can be built: the Dockerfile's rules, and its `cargo build` without a container engine.
//!
//! The build command runs in the dev profile. With the features of the image the dependencies have the same features as
//! in the workspace, so only crates of this repository are compiled. The binary must have the features that
//! `crates/machinist/Cargo.toml` names, and start in an image of its own. Tests run it as the manifests do
//! (`crates/machinist/tests/program/image`).

use anyhow::{Context, Result};
use serde_json::Value;

use crate::cargo::Metadata;
use crate::finding::Finding;
use crate::image::dockerfile::{self, FILE as DOCKERFILE, cargo_build};
use crate::image::{self, Build};
use crate::repo::Repo;

/// What cargo reads; `.dockerignore` may not leave out any of it.
const SOURCES: &[&str] = &[".cargo/", "Cargo.", "crates/", "tools/", "xtask/"];
/// Steps that bring the binary from cargo's folder to the entry point.
const STEPS: &[&str] = &[
    "COPY . .\n",
    " cp target/release/machinist /machinist\n",
    "COPY --from=build /machinist /machinist\n",
    "ENTRYPOINT [\"/machinist\"]\n",
];
const ARCHITECTURES: &[&str] = &["amd64", "arm64", "x86_64", "aarch64"];
const MANIFEST: &str = "crates/machinist/Cargo.toml";
/// The feature that names all others of the image.
const FEATURE: &str = "image";

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let dockerfile = repo.read(DOCKERFILE)?;
    let mut findings = rules(&dockerfile, &repo.read("Cargo.toml")?);
    let ignored = repo.read(".dockerignore")?;
    let missing = repo
        .tracked_files()?
        .into_iter()
        .filter(|file| is_needed(file) && is_ignored(file, &ignored));
    findings.extend(
        missing
            .map(|file| Finding::of(file, "the build needs it: .dockerignore must not match it")),
    );
    match image::for_tests(repo).and_then(|build| start(repo, &build)) {
        Ok(more) => findings.extend(more),
        Err(error) => findings.push(Finding::of(DOCKERFILE, format!("{error:#}"))),
    }
    Ok(findings)
}

fn rules(dockerfile: &str, manifest: &str) -> Vec<Finding> {
    let steps = dockerfile::steps(dockerfile).join("\n") + "\n";
    let value = |prefix: &str| steps.lines().rev().find_map(|line| line.strip_prefix(prefix));
    let number = |text: &str| text.parse::<u32>().is_ok_and(|id| id > 0);
    let mut findings = Vec::new();
    let mut must = |holds: bool, advice: &str| {
        if !holds {
            findings.push(Finding::of(DOCKERFILE, advice));
        }
    };
    let distroless = value("ARG RUNTIME=").is_some_and(|image| image.contains("distroless"));
    must(distroless, "ARG RUNTIME must be a distroless image");
    let builder = value("ARG BUILDER=").and_then(|image| version(image.split_once("rust:")?.1));
    let minimum = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""));
    let new_enough = builder.is_some() && builder >= minimum.and_then(version);
    must(new_enough, "ARG BUILDER is older than rust-version in Cargo.toml");
    let unprivileged = value("USER ").is_some_and(|user| user.split(':').all(number));
    must(
        unprivileged,
        "USER must be numeric and not 0: a kubelet cannot verify that a name is not root",
    );
    must(
        !ARCHITECTURES.iter().any(|name| steps.contains(name)),
        "no step may name an architecture",
    );
    let build = cargo_build(dockerfile);
    for flag in ["--locked", "--release", "--no-default-features"] {
        must(build.iter().any(|it| it == flag), &format!("cargo build lacks {flag}"));
    }
    let named = build.iter().skip_while(|it| *it != "--features").skip(1).take(1);
    must(
        named.eq([FEATURE]) && build.iter().filter(|it| it.starts_with("--features")).count() == 1,
        "cargo build must have `--features image` and no other feature: crates/machinist/Cargo.toml names them",
    );
    for step in STEPS {
        must(steps.contains(step), &format!("the step `{}` is missing", step.trim()));
    }
    findings
}

/// Major and minor.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// `.dockerignore` has two forms of patterns: `/place` and `**/*.ending`.
fn is_ignored(file: &str, patterns: &str) -> bool {
    patterns.lines().any(|pattern| {
        match (pattern.strip_prefix('/'), pattern.strip_prefix("**/*")) {
            (Some(place), _) => {
                file.strip_prefix(place).is_some_and(|it| it.is_empty() || it.starts_with('/'))
            }
            (_, Some(ending)) => file.ends_with(ending),
            _ => false,
        }
    })
}

fn is_needed(file: &str) -> bool {
    SOURCES.iter().any(|source| file.starts_with(source))
}

/// Starts the binary here, and in an image.
fn start(repo: &Repo, build: &Build) -> Result<Option<Finding>> {
    let printed = build.output(&["version", "-o", "json"])?;
    let printed: Value = serde_json::from_str(&printed).context("machinist version -o json")?;
    let features = Metadata::of(repo)?.package("machinist")?.features;
    let expected = features.get(FEATURE).with_context(|| format!("no feature {FEATURE}"))?;
    let finding = differs(&printed, expected, &build.commit);
    image::assemble(repo, build)?;
    Ok(finding.map(|advice| Finding::of(MANIFEST, advice)))
}

fn differs(printed: &Value, features: &[String], commit: &str) -> Option<String> {
    let wanted = serde_json::json!(features);
    if printed["features"] != wanted {
        let found = &printed["features"];
        return Some(format!(
            "the feature {FEATURE} is {wanted}, but `machinist version` of such a binary lists {found}"
        ));
    }
    let found = &printed["commit"];
    (found != commit)
        .then(|| format!("the build names commit {commit:?}, `machinist version` {found}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GOOD: &str = "ARG BUILDER=x/rust:1.95-bookworm\nARG RUNTIME=x/distroless/cc:nonroot\nCOPY . .\n\
        RUN cargo build --release --locked --no-default-features --features image \\\n\
        \x20&& cp target/release/machinist /machinist\n\
        COPY --from=build /machinist /machinist\nUSER 65532:65532\nENTRYPOINT [\"/machinist\"]\n";

    #[test]
    fn every_rule_finds_its_violation() {
        let findings = |text: &str| rules(text, "rust-version = \"1.95\"\n");
        assert_eq!(findings(GOOD), []);
        for (good, bad, about) in [
            ("distroless/cc", "debian", "distroless"),
            ("rust:1.95", "rust:1.94", "BUILDER"),
            ("USER 65532:65532", "USER nonroot", "USER"),
            ("USER 65532:65532", "USER 0:65532", "USER"),
            ("rust:1.95", "amd64/rust:1.95", "architecture"),
            (" --locked", "", "--locked"),
            (" --no-default-features", "", "--no-default-features"),
            (" --features image", "", "--features image"),
            (" --features image", " --features aws", "--features image"),
            (" --features image", " --features image --features=playground", "--features image"),
            ("[\"/machinist\"]", "[\"/other\"]", "ENTRYPOINT"),
        ] {
            let found = findings(&GOOD.replace(good, bad));
            assert_eq!(found.len(), 1, "{about}: {found:?}");
            assert!(found[0].advice.contains(about), "{}", found[0].advice);
        }
    }

    #[test]
    fn the_binary_must_list_the_features_and_the_commit_of_its_build() {
        let printed = json!({"features": ["aws"], "commit": "abc"});
        let features = ["aws".to_owned()];
        assert_eq!(differs(&printed, &features, "abc"), None);
        assert!(differs(&printed, &[], "abc").unwrap().contains("lists [\"aws\"]"));
        assert!(differs(&printed, &features, "def").unwrap().contains("\"abc\""));
    }

    #[test]
    fn ignores_places_and_endings() {
        let ignored = |file: &str| is_ignored(file, "# why\n/target\n**/*.new\n");
        assert!(ignored("target/a") && ignored("x/y.new"));
        assert!(!ignored("targets") && !ignored("crates/target.rs"));
        assert!(
            is_needed("crates/target.rs") && is_needed("Cargo.lock") && !is_needed("docs/a.md")
        );
    }
}
