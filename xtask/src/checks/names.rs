//! No file is called after nothing: a module named `util` says only that its author did not know where things belong.

use anyhow::Result;

use crate::cargo::Metadata;
use crate::finding::Finding;
use crate::repo::Repo;

const EMPTY_NAMES: &[&str] =
    &["common", "helper", "helpers", "misc", "shared", "stuff", "util", "utils"];

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in Metadata::of(repo)?.packages {
        let Some(folder) = package.manifest_path.parent() else {
            continue;
        };
        for file in repo.rust_files(&format!("{}/src", repo.relative(folder)))? {
            findings.extend(inspect(&file));
        }
    }
    Ok(findings)
}

fn inspect(file: &str) -> Option<Finding> {
    let below = file.split_once("/src/").map_or(file, |(_, below)| below);
    let empty = below
        .split('/')
        .map(|part| part.strip_suffix(".rs").unwrap_or(part))
        .find(|part| EMPTY_NAMES.contains(part))?;
    Some(Finding::of(file, format!("{empty:?} says nothing: name the module after what is in it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_found_as_files_and_folders() {
        assert!(inspect("crates/runtime/src/util.rs").is_some());
        assert!(inspect("crates/runtime/src/helpers/retry.rs").is_some());
    }

    #[test]
    fn names_that_say_something_pass() {
        assert_eq!(inspect("crates/runtime/src/backoff.rs"), None);
        assert_eq!(inspect("crates/domain/src/utilisation.rs"), None);
        assert_eq!(inspect("shared/src/lib.rs"), None);
    }
}
