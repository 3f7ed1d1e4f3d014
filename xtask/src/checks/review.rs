//! What `docs/review.md` promises is there: every `path.rs::name` in it is a function in that file.
//!
//! A row whose test is still `pending` is printed as a warning.

use anyhow::Result;

use crate::finding::Finding;
use crate::repo::Repo;
use crate::source::{Kind, tokens};

const FILE: &str = "docs/review.md";

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let text = repo.read(FILE)?;
    Ok(inspect(&text, |file| repo.read(file).ok()))
}

fn inspect(text: &str, read: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut pending = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for (file, name) in promises(line) {
            let problem = match read(file) {
                None => format!("{file} does not exist"),
                Some(source) if !has_function(&source, name) => {
                    format!("{file} has no function {name}")
                }
                Some(_) => continue,
            };
            findings.push(Finding::at(
                FILE,
                number + 1,
                format!("{problem}: name the test that shows it now"),
            ));
        }
        if let Some(remark) = pending_remark(line) {
            pending.push(remark);
        }
    }
    if !pending.is_empty() {
        findings.push(Finding::warning(
            FILE,
            format!("no test is named yet for {}", pending.join(", ")),
        ));
    }
    findings
}

/// Every `path.rs::name` between backticks.
fn promises(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split('`').skip(1).step_by(2).filter_map(|code| {
        let (file, name) = code.rsplit_once("::")?;
        file.strip_suffix(".rs").map(|_| (file, name))
    })
}

/// The number of a row whose last cell says `pending`.
fn pending_remark(line: &str) -> Option<&str> {
    let mut cells = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim);
    let remark = cells.next()?;
    cells
        .next_back()?
        .split_whitespace()
        .any(|word| word.trim_matches(',') == "pending")
        .then_some(remark)
}

fn has_function(source: &str, name: &str) -> bool {
    tokens(source).windows(2).any(|pair| {
        let is = |index: usize, word: &str| matches!(&pair[index].kind, Kind::Name(found) if found == word);
        is(0, "fn") && is(1, name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str) -> Option<String> {
        (file == "a/b.rs").then(|| "#[test]\nfn there() {}\n// fn gone() {}".to_owned())
    }

    #[test]
    fn a_test_that_exists_passes() {
        assert_eq!(inspect("| R1 | remark | what | `a/b.rs::there`, `make lint` |", read), []);
    }

    #[test]
    fn a_test_that_was_renamed_or_moved_is_found() {
        let text = "head\n| R1 | remark | what | `a/b.rs::gone` and `a/c.rs::there` |";
        let found: Vec<String> = inspect(text, read).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("docs/review.md:2: a/b.rs has no function gone"), "{found:?}");
        assert!(found[1].contains("a/c.rs does not exist"), "{found:?}");
    }

    #[test]
    fn pending_rows_are_counted_once_and_do_not_fail() {
        let text = "| R1 | x | y | pending |\n| R2 | pending | y | with webhooks |\n| R3 | x | y | `a/b.rs::there`, pending |";
        let found = inspect(text, read);
        assert_eq!(found.len(), 1);
        assert!(!found[0].is_error() && found[0].advice.ends_with("R1, R3"), "{found:?}");
    }
}
