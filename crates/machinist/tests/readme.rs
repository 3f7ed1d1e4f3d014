//! The README names what there is: every reason of an Event, every flag of `machinist run`, every verb of the Makefile; and its links lead somewhere.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::CommandFactory;
use machinist::cli::Cli;
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

#[test]
fn every_flag_of_run_is_described() -> Result<()> {
    let readme = readme()?;
    let rows = rows(&readme);
    let mut cli = Cli::command();
    // Hands global flags down.
    cli.build();
    let run = cli.find_subcommand("run").context("the verb run")?;
    let flags = run.get_arguments().filter(|flag| !flag.is_hide_set());
    for name in flags.filter_map(|flag| flag.get_long()).filter(|name| *name != "help") {
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

#[test]
fn links_lead_to_files() -> Result<()> {
    let readme = readme()?;
    let targets = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for target in targets.filter(|target| !target.starts_with("http")) {
        assert!(root().join(target).exists(), "{target} does not exist");
    }
    Ok(())
}
