//! No text of the repository names a place on somebody's machine: such a path is wrong everywhere else.

use anyhow::Result;

use crate::finding::Finding;
use crate::repo::Repo;

/// Top-level folders that hold people's own files. They are put together with their slashes below, so that this file passes.
const PRIVATE_ROOTS: &[&str] = &["home", "root", "work", "Users"];

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in repo.tracked_files()? {
        // What is not text has no wording.
        if let Ok(text) = repo.read(&file) {
            findings.extend(inspect(&file, &text));
        }
    }
    Ok(findings)
}

fn inspect(file: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for path in private_paths(line) {
            let advice = format!(
                "{path:?} exists on one machine only; use a path relative to the repository"
            );
            findings.push(Finding::at(file, number + 1, advice));
        }
    }
    findings
}

fn private_paths(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for root in PRIVATE_ROOTS {
        let pattern = format!("/{root}/");
        for (start, _) in line.match_indices(&pattern) {
            // `$HOME/work/`, `https://host/root/`, `./home/` are parts of something else.
            let is_absolute = line[..start].chars().next_back().is_none_or(|before| {
                !(before.is_alphanumeric()
                    || matches!(before, '_' | '-' | '.' | '~' | '/' | '}' | ')' | '*'))
            });
            if is_absolute {
                let end = line[start..]
                    .find([' ', '"', '\'', '`', ')', ','])
                    .map_or(line.len(), |length| start + length);
                found.push(&line[start..end]);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts the slashes in at run time, for the same reason as above.
    fn absolute(text: &str) -> String {
        text.replace('|', "/")
    }

    #[test]
    fn absolute_paths_of_a_machine_are_found() {
        let text = absolute("ok\ncd |root|project && make\nsee `|home|me|notes.md`\n|Users|me|x");
        let lines: Vec<Option<usize>> =
            inspect("a.md", &text).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [Some(2), Some(3), Some(4)]);
        assert!(inspect("a.md", &text)[1].advice.contains("notes.md\" exists"));
    }

    #[test]
    fn parts_of_other_paths_pass() {
        let text =
            absolute("https:||host|home|x $HOME|work|y .|root|z {base}|work|q |tmp|a |usr|local|b");
        assert_eq!(inspect("a.md", &text), []);
    }
}
