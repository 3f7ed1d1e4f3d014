//! Generated files are what the generator would write today, and nothing else lies beside them.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Result;

use crate::finding::Finding;
use crate::generate;
use crate::repo::Repo;

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    compare(repo, &generate::files(repo)?)
}

fn compare(repo: &Repo, expected: &BTreeMap<String, String>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (file, wanted) in expected {
        match repo.read(file) {
            Err(_) => findings.push(Finding::of(file, "is missing: run `make fmt` and commit it")),
            Ok(found) if found != *wanted => {
                findings.push(Finding::at(
                    file,
                    first_difference(&found, wanted),
                    "is out of date: run `make fmt`",
                ));
            }
            Ok(_) => {}
        }
    }
    findings.extend(strays(repo, expected)?);
    Ok(findings)
}

fn strays(repo: &Repo, expected: &BTreeMap<String, String>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let folders = generate::FOLDERS.map(|folder| repo.path(folder));
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for entry in fs::read_dir(folder)? {
            let file = repo.relative(&entry?.path());
            if !expected.contains_key(&file) {
                findings.push(Finding::of(file, "is not generated any more: delete it"));
            }
        }
    }
    Ok(findings)
}

/// The one-based number of the first line that differs.
fn first_difference(found: &str, wanted: &str) -> usize {
    found.lines().zip(wanted.lines()).take_while(|(found, wanted)| found == wanted).count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_changed_and_stray_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repo::at(folder.path());
        let [first, second] = generate::FOLDERS;
        for folder in generate::FOLDERS {
            fs::create_dir_all(repo.path(folder)).unwrap();
        }
        let name = |name: &str| format!("{first}/{name}");
        let other = format!("{second}/stray");
        let expected: BTreeMap<String, String> =
            [("same", "1\n"), ("changed", "1\n2\n3\n"), ("missing", "")]
                .map(|(file, content)| (name(file), content.to_owned()))
                .into();
        fs::write(repo.path(&name("same")), "1\n").unwrap();
        fs::write(repo.path(&name("changed")), "1\nx\n3\n").unwrap();
        fs::write(repo.path(&name("stray")), "").unwrap();
        fs::write(repo.path(&other), "").unwrap();

        let places: Vec<(String, Option<usize>)> = compare(&repo, &expected)
            .unwrap()
            .into_iter()
            .map(|finding| (finding.place, finding.line))
            .collect();
        assert_eq!(
            places,
            [
                (name("changed"), Some(2)),
                (name("missing"), None),
                (name("stray"), None),
                (other, None)
            ]
        );
    }
}
