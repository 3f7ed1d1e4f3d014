//! The image can be built: the Dockerfile's rules, and its `cargo build` without a container engine.
//!
//! The build command runs in the dev profile. With the features of the image the dependencies have the same features as
//! in the workspace, so only crates of this repository are compiled. Then the binary is started.

use std::process::Command;

use anyhow::{Context, Result};

use crate::finding::Finding;
use crate::repo::Repo;

const DOCKERFILE: &str = "Dockerfile";
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
    findings.extend(build_and_start(repo, &cargo_build(&dockerfile))?);
    Ok(findings)
}

fn rules(dockerfile: &str, manifest: &str) -> Vec<Finding> {
    let lines = dockerfile.lines().filter(|line| !line.trim_start().starts_with('#'));
    let steps = lines.collect::<Vec<_>>().join("\n") + "\n";
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
    for flag in ["--locked", "--release", "--no-default-features", "aws"] {
        must(
            cargo_build(dockerfile).iter().any(|it| it == flag),
            &format!("cargo build lacks {flag}"),
        );
    }
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

/// The arguments of `cargo build`.
fn cargo_build(dockerfile: &str) -> Vec<String> {
    let command = dockerfile.split_once("cargo build").map_or("", |(_, rest)| rest);
    let words = command.lines().next().unwrap_or_default().split_whitespace();
    words.take_while(|word| *word != "&&").filter(|word| *word != "\\").map(str::to_owned).collect()
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

fn build_and_start(repo: &Repo, arguments: &[String]) -> Result<Option<Finding>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments: Vec<&String> = arguments.iter().filter(|word| *word != "--release").collect();
    let mut build = Command::new(&cargo);
    build.arg("build").args(&arguments);
    let mut start = Command::new(cargo);
    start.arg("run").args(&arguments).args(["--", "version"]);
    for mut command in [build, start] {
        let output = command.current_dir(repo.root()).output().context("failed to run cargo")?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Ok(Some(Finding::of(DOCKERFILE, format!("{command:?} fails:\n{errors}"))));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "ARG BUILDER=x/rust:1.95-bookworm\nARG RUNTIME=x/distroless/cc:nonroot\nCOPY . .\n\
        RUN cargo build --release --locked --no-default-features --features aws \\\n\
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
            (" --features aws", "", "aws"),
            ("[\"/machinist\"]", "[\"/other\"]", "ENTRYPOINT"),
        ] {
            let found = findings(&GOOD.replace(good, bad));
            assert_eq!(found.len(), 1, "{about}: {found:?}");
            assert!(found[0].advice.contains(about), "{}", found[0].advice);
        }
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
