//! Every controller has the same files. A stage that grew may be a folder with a `mod.rs`.

use std::fs;

use anyhow::Result;

use crate::finding::Finding;
use crate::repo::Repo;

const FOLDER: &str = "crates/controllers/src";
const STAGES: &[&str] =
    &["declaration", "observe", "snapshot", "decide", "plan", "act", "report", "error", "messages"];

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for entry in fs::read_dir(repo.path(FOLDER))? {
        let folder = repo.relative(&entry?.path());
        let module = repo.read(&format!("{folder}/mod.rs")).unwrap_or_default();
        if !module.contains("Controller for ") {
            continue;
        }
        for stage in STAGES {
            let file = repo.path(&format!("{folder}/{stage}.rs"));
            let nested = repo.path(&format!("{folder}/{stage}/mod.rs"));
            if !file.is_file() && !nested.is_file() {
                let advice =
                    format!("{stage}.rs is missing: a controller has {}", STAGES.join(", "));
                findings.push(Finding::of(&folder, advice));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_stage_is_found_in_controllers_only() {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repo::at(folder.path());
        let write = |file: &str, text: &str| {
            let path = repo.path(&format!("{FOLDER}/{file}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("kinds/mod.rs", "");
        write("a/mod.rs", "impl Controller for A {}");
        write("a/decide/mod.rs", "");
        for stage in ["declaration", "observe", "snapshot", "plan", "act", "report", "messages"] {
            write(&format!("a/{stage}.rs"), "");
        }
        let found = check(&repo).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].advice.starts_with("error.rs is missing"), "{found:?}");
    }
}
