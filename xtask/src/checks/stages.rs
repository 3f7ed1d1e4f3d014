//! Every controller has the same files, so that who knows one knows all of them.
//!
//! A stage that grew may be a folder with a `mod.rs` instead of a file.

use std::fs;

use anyhow::Result;

use crate::finding::Finding;
use crate::repo::Repo;

const FOLDER: &str = "crates/controllers/src";
const STAGES: &[&str] = &["mod", "observe", "snapshot", "decide", "plan", "act", "report", "error"];

/// Folders that hold no controller: what the caches store, and whom to ask in a cloud, is shared by all of them.
const OTHER_FOLDERS: &[&str] = &["clouds", "kinds", "platform", "realms"];

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if repo.path(FOLDER).is_dir() {
        for entry in fs::read_dir(repo.path(FOLDER))? {
            let path = entry?.path();
            let is_other = path
                .file_name()
                .is_some_and(|name| OTHER_FOLDERS.iter().any(|other| name == *other));
            if path.is_dir() && !is_other {
                findings.extend(missing(repo, &repo.relative(&path)));
            }
        }
    }
    Ok(findings)
}

fn missing(repo: &Repo, controller: &str) -> Vec<Finding> {
    STAGES
        .iter()
        .filter(|stage| {
            let file = repo.path(&format!("{controller}/{stage}.rs"));
            let folder = repo.path(&format!("{controller}/{stage}/mod.rs"));
            !file.is_file() && !folder.is_file()
        })
        .map(|stage| {
            let advice = format!("has no {stage}.rs: every controller has {}", STAGES.join(", "));
            Finding::of(controller, advice)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repo::at(folder.path());
        for file in files {
            let path = repo.path(&format!("{FOLDER}/{file}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        check(&repo).unwrap().into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_whole_controller_passes_and_what_lies_beside_it_does_not_matter() {
        let files = [
            "lib.rs",
            "kinds/mod.rs",
            "a/mod.rs",
            "a/observe.rs",
            "a/snapshot.rs",
            "a/decide/mod.rs",
            "a/decide/deleting.rs",
            "a/plan.rs",
            "a/act.rs",
            "a/report.rs",
            "a/error.rs",
        ];
        assert_eq!(findings(&files), Vec::<String>::new());
    }

    #[test]
    fn a_missing_stage_is_named() {
        let files = [
            "a/mod.rs",
            "a/observe.rs",
            "a/snapshot.rs",
            "a/decide.rs",
            "a/plan.rs",
            "a/act.rs",
            "a/error.rs",
        ];
        let found = findings(&files);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/controllers/src/a: has no report.rs"), "{found:?}");
    }
}
