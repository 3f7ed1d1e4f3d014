//! Files stay short enough to be read in one go. Tests are exempt: a table of cases is long and easy to read.

use anyhow::Result;

use crate::cargo::Metadata;
use crate::finding::Finding;
use crate::repo::Repo;

/// Above this a file is long: printed, not fatal.
const SOFT: usize = 400;
/// Above this it is a mistake.
const HARD: usize = 800;

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in Metadata::of(repo)?.packages {
        let Some(folder) = package.manifest_path.parent() else {
            continue;
        };
        for file in repo.rust_files(&repo.relative(folder))? {
            findings.extend(inspect(&file, &repo.read(&file)?));
        }
    }
    Ok(findings)
}

fn inspect(file: &str, text: &str) -> Option<Finding> {
    if is_test_file(file) {
        return None;
    }
    match code_lines(text) {
        lines if lines > HARD => Some(Finding::of(
            file,
            format!("{lines} lines of code, more than {HARD}: split it by what it does"),
        )),
        lines if lines > SOFT => Some(Finding::warning(
            file,
            format!("{lines} lines of code, more than {SOFT}: consider a split"),
        )),
        _ => None,
    }
}

/// Lines before the test module, which by custom is the last item of a file.
fn code_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .windows(2)
        .position(|pair| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
        })
        .unwrap_or(lines.len())
}

fn is_test_file(file: &str) -> bool {
    file.split('/').any(|part| part == "tests" || part == "tests.rs")
        || file.ends_with("_test.rs")
        || file.ends_with("_tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: usize) -> String {
        "x\n".repeat(lines)
    }

    #[test]
    fn limits_are_inclusive() {
        assert_eq!(inspect("a.rs", &text(SOFT)), None);
        assert!(!inspect("a.rs", &text(SOFT + 1)).unwrap().is_error());
        assert!(!inspect("a.rs", &text(HARD)).unwrap().is_error());
        assert!(inspect("a.rs", &text(HARD + 1)).unwrap().is_error());
    }

    #[test]
    fn tests_do_not_count() {
        let with_tests = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", text(SOFT), text(HARD));
        assert_eq!(inspect("a.rs", &with_tests), None);
        assert_eq!(inspect("crates/a/tests/b.rs", &text(HARD + 1)), None);
        assert_eq!(inspect("crates/a/src/b/tests.rs", &text(HARD + 1)), None);
    }

    #[test]
    fn an_outlined_test_module_does_not_end_the_count() {
        let outlined = format!("#[cfg(test)]\nmod tests;\n{}", text(HARD));
        assert!(inspect("a.rs", &outlined).unwrap().is_error());
    }
}
