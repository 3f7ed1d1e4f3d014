//! The docs are complete: every Event reason, flag, make command, phase and drain step is described, links work, and
//! the tests that answer a review exist.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::CommandFactory;
use machinist::cli::Cli;
use machinist_controllers::drain::Step;
use machinist_domain::machine::Phase;
use machinist_domain::report::EventReason;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> Result<String> {
    std::fs::read_to_string(root().join(name)).context(name.to_owned())
}

/// First cells of the rows of its tables.
fn rows(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).collect()
}

#[test]
fn every_reason_of_an_event_has_a_cause_and_a_cure() -> Result<()> {
    let troubleshooting = read("docs/guides/troubleshooting.md")?;
    let rows = rows(&troubleshooting);
    for reason in EventReason::ALL {
        let cell = format!("`{}`", reason.as_str());
        assert!(rows.contains(&cell.as_str()), "troubleshooting.md has no row for {cell}");
    }
    Ok(())
}

/// Flags of a verb that people see.
fn flags(verb: &str) -> Result<Vec<String>> {
    let mut cli = Cli::command();
    // Hands global flags down.
    cli.build();
    let verb = cli.find_subcommand(verb).with_context(|| format!("the verb {verb}"))?;
    let shown = verb.get_arguments().filter(|flag| !flag.is_hide_set());
    let names = shown.filter_map(|flag| flag.get_long()).filter(|name| *name != "help");
    Ok(names.map(ToOwned::to_owned).collect())
}

fn assert_described(verb: &str) -> Result<()> {
    let reference = read("docs/reference/cli.md")?;
    let rows = rows(&reference);
    for name in flags(verb)? {
        let flag = format!("`--{name}");
        let described = |row: &&str| {
            let rest = row.split_once(&flag).map(|(_, rest)| rest);
            rest.is_some_and(|rest| rest.starts_with(['`', ' ']))
        };
        assert!(rows.iter().any(described), "cli.md has no row for {flag}`");
    }
    Ok(())
}

#[test]
fn every_flag_of_run_is_described() -> Result<()> {
    assert_described("run")
}

#[cfg(feature = "playground")]
#[test]
fn every_flag_of_the_playground_is_described() -> Result<()> {
    assert_described("playground")
}

#[test]
fn the_life_of_a_machine_is_told_in_full() -> Result<()> {
    let (machines, drain) = (read("docs/concepts/machines.md")?, read("docs/concepts/drain.md")?);
    // These are about MachineSets and their annotations.
    let annotators = ["Annotated", "ArchitectureReplaced", "CatalogueUsed", "UserValueKept"];
    let reasons = EventReason::ALL.map(EventReason::as_str);
    let reasons = reasons.into_iter().filter(|reason| !annotators.contains(reason));
    // And these about EventRecyclers.
    let reasons = reasons.filter(|reason| !reason.contains("Recycle"));
    for word in reasons.chain(Phase::ALL.map(Phase::as_str)) {
        assert!(machines.contains(&format!("`{word}`")), "docs/concepts/machines.md has no {word}");
    }
    let rows = rows(&drain);
    for step in Step::ALL {
        let cell = format!("`{}`", step.as_str());
        assert!(rows.contains(&cell.as_str()), "no row of docs/concepts/drain.md is about {cell}");
    }
    Ok(())
}

#[test]
fn every_verb_of_the_makefile_is_described() -> Result<()> {
    let contributing = read("CONTRIBUTING.md")?;
    let rows = rows(&contributing);
    let makefile = std::fs::read_to_string(root().join("Makefile"))?;
    let verbs = makefile.lines().filter(|line| line.contains(": ") && line.contains("## "));
    let verbs: Vec<_> = verbs.filter_map(|line| line.split_once(':')).map(|it| it.0).collect();
    assert!(verbs.contains(&"test"), "{verbs:?}");
    for verb in verbs.into_iter().filter(|verb| !verb.starts_with('\t') && *verb != "help") {
        let cell = format!("`make {verb}`");
        assert!(rows.contains(&cell.as_str()), "CONTRIBUTING.md has no row for {cell}");
    }
    Ok(())
}

/// What a document links to, without the place in it.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files.filter(|target| !target.is_empty() && !target.starts_with("http"))
}

#[test]
fn every_link_in_the_docs_leads_to_a_file() -> Result<()> {
    let mut documents = Vec::new();
    let mut pending = ["README.md", "CONTRIBUTING.md", "docs"].map(|it| root().join(it)).to_vec();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(path)?.collect::<std::io::Result<Vec<_>>>()?;
            pending.extend(entries.into_iter().map(|entry| entry.path()));
        } else {
            documents.push(path);
        }
    }
    assert!(documents.len() > 20, "{documents:?}");
    for document in documents {
        let folder = document.parent().context("a document is in a folder")?;
        for target in links(&std::fs::read_to_string(&document)?) {
            assert!(folder.join(target).exists(), "{}: {target}", document.display());
        }
    }
    Ok(())
}

#[test]
fn every_test_that_answers_the_review_exists() -> Result<()> {
    let review = read("docs/internals/review.md")?;
    let remarks = [("R", 21), ("C", 22), ("B", 4)].into_iter();
    let remarks = remarks.flat_map(|(kind, last)| (1..=last).map(move |n| format!("{kind}{n}")));
    assert_eq!(rows(&review)[1..], remarks.collect::<Vec<_>>(), "a row for each remark");
    for test in review.split('`').filter(|code| code.contains(".rs::")) {
        let (path, function) = test.split_once("::").context("a path and a function")?;
        let exists = read(path)?.contains(&format!("fn {function}("));
        assert!(exists, "review.md: {path} has no function {function}");
    }
    Ok(())
}
