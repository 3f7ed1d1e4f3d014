//! The README names what there is: every reason of an Event, every flag of `machinist run` and of the playground, every verb of the Makefile. So do the
//! documents about machines. And all links lead somewhere.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::CommandFactory;
use machinist::cli::Cli;
use machinist_domain::drain::Step;
use machinist_domain::machine::Phase;
use machinist_domain::report::EventReason;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> Result<String> {
    Ok(std::fs::read_to_string(root().join("README.md"))?)
}

/// First cells of the rows of its tables.
fn rows(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).collect()
}

#[test]
fn every_reason_of_an_event_has_a_cause_and_a_cure() -> Result<()> {
    let readme = readme()?;
    let rows = rows(&readme);
    for reason in EventReason::ALL {
        let cell = format!("`{}`", reason.as_str());
        assert!(rows.contains(&cell.as_str()), "no row of the README is about {cell}");
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
    let readme = readme()?;
    let rows = rows(&readme);
    for name in flags(verb)? {
        let flag = format!("`--{name}");
        let described = |row: &&str| {
            let rest = row.split_once(&flag).map(|(_, rest)| rest);
            rest.is_some_and(|rest| rest.starts_with(['`', ' ']))
        };
        assert!(rows.iter().any(described), "no row of the README is about {flag}`");
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
    let read = |name: &str| std::fs::read_to_string(root().join("docs").join(name));
    let (machines, drain) = (read("machines.md")?, read("drain.md")?);
    // These are about MachineSets and their annotations.
    let annotators = ["Annotated", "ArchitectureReplaced", "CatalogueUsed", "UserValueKept"];
    let reasons = EventReason::ALL.map(EventReason::as_str);
    let reasons = reasons.into_iter().filter(|reason| !annotators.contains(reason));
    // And these about EventRecyclers.
    let reasons = reasons.filter(|reason| !reason.contains("Recycle"));
    for word in reasons.chain(Phase::ALL.map(Phase::as_str)) {
        assert!(machines.contains(&format!("`{word}`")), "docs/machines.md has no {word}");
    }
    let rows = rows(&drain);
    for step in Step::ALL {
        let cell = format!("`{}`", step.as_str());
        assert!(rows.contains(&cell.as_str()), "no row of docs/drain.md is about {cell}");
    }
    Ok(())
}

#[test]
fn every_verb_of_the_makefile_is_described() -> Result<()> {
    let readme = readme()?;
    let rows = rows(&readme);
    let makefile = std::fs::read_to_string(root().join("Makefile"))?;
    let verbs = makefile.lines().filter(|line| line.contains(": ") && line.contains("## "));
    let verbs: Vec<_> = verbs.filter_map(|line| line.split_once(':')).map(|it| it.0).collect();
    assert!(verbs.contains(&"test"), "{verbs:?}");
    for verb in verbs.into_iter().filter(|verb| !verb.starts_with('\t') && *verb != "help") {
        let cell = format!("`make {verb}`");
        assert!(rows.contains(&cell.as_str()), "no row of the README is about {cell}");
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
fn links_lead_to_files() -> Result<()> {
    let mut documents = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    for entry in std::fs::read_dir(root().join("docs"))? {
        documents.push(entry?.path());
    }
    assert!(documents.len() > 5, "{documents:?}");
    for document in documents {
        let folder = document.parent().context("a document is in a folder")?;
        for target in links(&std::fs::read_to_string(&document)?) {
            assert!(folder.join(target).exists(), "{}: {target}", document.display());
        }
    }
    Ok(())
}
