//! What a Dockerfile must say, read from its text.

use super::DOCKERFILE;
use super::dockerfile::Dockerfile;
use crate::finding::Finding;

/// Words that tie a step to one processor.
const PROCESSORS: &[&str] = &["amd64", "arm64", "x86_64", "aarch64"];

pub(super) fn check(file: &Dockerfile, workspace: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut must = |holds: bool, advice: &str| {
        if !holds {
            findings.push(Finding::of(DOCKERFILE, advice));
        }
    };
    let base = |name: &str| argument(file, name).unwrap_or_default();
    must(base("RUNTIME").contains("distroless"), "the image must be distroless: ARG RUNTIME");
    must(
        builder_is_new_enough(base("BUILDER"), workspace),
        "ARG BUILDER is older than rust-version in Cargo.toml",
    );
    let user = file.all("USER").last().and_then(|words| words.first());
    must(
        user.is_some_and(|user| is_unprivileged(user)),
        "the last USER must be a number, and not 0: a kubelet cannot tell that a name is not root",
    );
    let text = file.steps.iter().flat_map(|step| &step.1);
    let tied = text.clone().any(|word| PROCESSORS.iter().any(|name| word.contains(name)));
    must(!tied, "no step may name a processor: the same file builds for all of them");
    let arguments = file.cargo_build().unwrap_or_default();
    for flag in ["--locked", "--release", "--no-default-features"] {
        must(arguments.iter().any(|word| word == flag), &format!("cargo build must have {flag}"));
    }
    must(
        binary_arrives(file),
        "the binary must go from target/release through cp and COPY to the ENTRYPOINT",
    );
    findings
}

/// The default of an `ARG`.
fn argument<'a>(file: &'a Dockerfile, name: &str) -> Option<&'a str> {
    let mut words = file.all("ARG").filter_map(<[String]>::first);
    words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn builder_is_new_enough(builder: &str, workspace: &str) -> bool {
    let wanted = workspace.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let wanted = wanted.and_then(|value| version(value.trim_matches('"')));
    let given = builder.split_once("rust:").and_then(|(_, tag)| version(tag));
    wanted.zip(given).is_some_and(|(wanted, given)| given >= wanted)
}

/// Major and minor.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(['.', '-']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn is_unprivileged(user: &str) -> bool {
    let mut parts = user.split(':').map(str::parse::<u32>);
    parts.all(|part| part.is_ok_and(|number| number > 0))
}

/// From cargo's folder to what is started.
fn binary_arrives(file: &Dockerfile) -> bool {
    let commands = file.commands();
    let copied = commands.iter().find(|command| command.len() == 3 && command[0] == "cp");
    let taken = file.all("COPY").find(|words| words.len() == 3 && words[0].starts_with("--from"));
    let started = file.all("ENTRYPOINT").last().map(|words| words.join(" "));
    let (Some(copied), Some(taken), Some(started)) = (copied, taken, started) else { return false };
    copied[1] == "target/release/machinist"
        && copied[2] == taken[1]
        && started == format!("[\"{}\"]", taken[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "ARG BUILDER=x/rust:1.95-bookworm\nARG RUNTIME=x/distroless/cc:nonroot\n\
        RUN cargo build --release --locked --no-default-features && cp target/release/machinist /m\n\
        COPY --from=build /m /machinist\nUSER 65532:65532\nENTRYPOINT [\"/machinist\"]";
    const WORKSPACE: &str = "[workspace.package]\nrust-version = \"1.95\"\n";

    #[test]
    fn a_good_file_passes_and_every_rule_finds_its_offence() {
        let findings = |text: &str| check(&Dockerfile::parse(text), WORKSPACE);
        assert_eq!(findings(GOOD), []);
        for (good, bad, about) in [
            ("distroless/cc", "debian", "distroless"),
            ("rust:1.95", "rust:1.94", "BUILDER"),
            ("USER 65532:65532", "USER nonroot", "USER"),
            ("USER 65532:65532", "USER 0:65532", "USER"),
            ("rust:1.95", "amd64/rust:1.95", "processor"),
            (" --locked", "", "--locked"),
            (" --no-default-features", "", "--no-default-features"),
            ("/m\n", "/other\n", "ENTRYPOINT"),
        ] {
            let found = findings(&GOOD.replace(good, bad));
            assert_eq!(found.len(), 1, "{about}: {found:?}");
            assert!(found[0].advice.contains(about), "{}", found[0].advice);
        }
    }
}
