//! The checks, by name. A new one is a file with `check(&Repo) -> Result<Vec<Finding>>` and a row in [`CHECKS`].

mod dead_files;
mod dependencies;
mod drift;
mod image;
mod imports;
mod layers;
mod messages;
mod sources;
mod stages;

use anyhow::{Context, Result, bail};

use crate::finding::Finding;
use crate::repo::Repo;

type Check = fn(&Repo) -> Result<Vec<Finding>>;

const CHECKS: &[(&str, Check)] = &[
    ("drift", drift::check),
    ("dead-files", dead_files::check),
    ("sources", sources::check),
    ("stages", stages::check),
    ("imports", imports::check),
    ("layers", layers::check),
    ("messages", messages::check),
    ("dependencies", dependencies::check),
    ("image", image::check),
];

/// Runs all checks or the named ones, prints their findings and returns whether there are none.
pub(crate) fn run(repo: &Repo, names: &[String]) -> Result<bool> {
    let mut clean = true;
    for (name, check) in select(names)? {
        let findings = check(repo).with_context(|| format!("check {name} could not run"))?;
        for finding in &findings {
            println!("{finding}");
        }
        match findings.len() {
            0 => println!("{name}: ok"),
            count => println!("{name}: {count} errors"),
        }
        clean &= findings.is_empty();
    }
    Ok(clean)
}

fn select(names: &[String]) -> Result<Vec<(&'static str, Check)>> {
    if names.is_empty() {
        return Ok(CHECKS.to_vec());
    }
    let mut chosen = Vec::new();
    for name in names {
        let Some(check) = CHECKS.iter().find(|(known, _)| known == name) else {
            let known: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
            bail!("no check is named {name:?}; checks: {}", known.join(", "));
        };
        chosen.push(*check);
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = select(&["import".into()]).unwrap_err().to_string();
        assert!(error.contains("imports"), "{error}");
    }

    #[test]
    fn no_name_selects_all() {
        assert_eq!(select(&[]).unwrap().len(), CHECKS.len());
        assert_eq!(select(&["sources".into()]).unwrap()[0].0, "sources");
    }
}
