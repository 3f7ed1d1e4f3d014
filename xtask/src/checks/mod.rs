//! The checks, by name. A new one is a file with `check(&Repo) -> Result<Vec<Finding>>` and a row in [`CHECKS`].

mod dead_files;
mod dependencies;
mod drift;
mod file_length;
mod image;
mod layers;
mod names;
mod pure_stages;
mod review;
mod spdx;
mod stages;
mod wording;
mod writes;

use anyhow::{Context, Result, bail};

use crate::finding::Finding;
use crate::repo::Repo;

type Check = fn(&Repo) -> Result<Vec<Finding>>;

/// Every check: the name on the command line, and what it looks at.
const CHECKS: &[(&str, Check)] = &[
    ("drift", drift::check),
    ("dead-files", dead_files::check),
    ("file-length", file_length::check),
    ("names", names::check),
    ("stages", stages::check),
    ("pure-stages", pure_stages::check),
    ("layers", layers::check),
    ("dependencies", dependencies::check),
    ("writes", writes::check),
    ("review", review::check),
    ("wording", wording::check),
    ("image", image::check),
];

/// Runs all checks or the named ones, prints what they find, and returns whether no error was among it.
pub(crate) fn run(repo: &Repo, names: &[String]) -> Result<bool> {
    let mut clean = true;
    for (name, check) in select(names)? {
        let findings = check(repo).with_context(|| format!("check {name} could not run"))?;
        for finding in &findings {
            println!("{finding}");
        }
        let errors = findings.iter().filter(|finding| finding.is_error()).count();
        match errors {
            0 => println!("{name}: ok"),
            1 => println!("{name}: 1 error"),
            _ => println!("{name}: {errors} errors"),
        }
        clean &= errors == 0;
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
            bail!("{name:?} is not a check; there are: {}", known.join(", "));
        };
        chosen.push(*check);
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_is_answered_with_the_right_ones() {
        let error = select(&["pure".into()]).unwrap_err().to_string();
        assert!(error.contains("pure-stages"), "{error}");
    }

    #[test]
    fn no_name_means_all() {
        assert_eq!(select(&[]).unwrap().len(), CHECKS.len());
        assert_eq!(select(&["wording".into()]).unwrap()[0].0, "wording");
    }
}
