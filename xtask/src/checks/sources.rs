//! Rules for every Rust file: length, width of lines, length of the module docs, module names. And for every text file:
//! width of comments and prose, and words that the Kubernetes documentation does not use.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;

use crate::finding::Finding;
use crate::repo::{Repo, code_lines, is_test};

/// Lines of code per file; tests do not count.
const FILE_LENGTH: usize = 600;
/// Characters per line. rustfmt breaks code at 100; this bounds comments and strings.
const LINE_WIDTH: usize = 120;
/// Lines of module docs: purpose, inputs, outputs, invariants, what is not here.
const MODULE_DOCS: usize = 10;
const EMPTY_NAMES: &[&str] =
    &["common", "helper", "helpers", "misc", "shared", "stuff", "util", "utils"];
/// How the paths of files beside Rust end in which people write.
const TEXTS: &[&str] = &[
    ".md",
    ".py",
    ".toml",
    ".tsv",
    ".txt",
    ".yaml",
    ".ci/run",
    "Dockerfile",
    "Makefile",
    "pin-kubernetes",
];
const GENERATED: &str = "docs/reference/";
/// Assembled from halves, so that this file passes its own check.
const BANNED_WORDS: &[&str] = &[
    concat!("no", "body"),
    concat!("some", "body"),
    concat!("who", "ever"),
    concat!("wh", "om"),
    concat!("an", "ew"),
    concat!("me", "nd"),
];

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for folder in ["crates", "examples", "xtask"] {
        for file in repo.rust_files(folder)? {
            findings.extend(inspect(&file, &repo.read(&file)?));
        }
    }
    for file in repo.tracked_files()?.iter().filter(|file| is_text(file)) {
        let text = repo.read(file)?;
        findings.extend(banned_words(file, &text));
        if !file.starts_with(GENERATED) {
            findings.extend(wide_prose(file, &text));
        }
    }
    Ok(findings)
}

fn is_text(file: &str) -> bool {
    TEXTS.iter().any(|end| file.ends_with(end))
}

fn inspect(file: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let length = code_lines(text).count();
    if length > FILE_LENGTH && !is_test(file) {
        let advice = format!("{length} lines of code (limit {FILE_LENGTH}): split it by purpose");
        findings.push(Finding::of(file, advice));
    }
    let docs = text.lines().take_while(|line| line.starts_with("//!")).count();
    if docs > MODULE_DOCS {
        let advice = format!("{docs} lines of module docs (limit {MODULE_DOCS})");
        findings.push(Finding::of(file, advice));
    }
    let module = file.split_once("/src/").map_or("", |(_, module)| module);
    let mut parts = module.split(['/', '.']);
    if let Some(name) = parts.find(|part| EMPTY_NAMES.contains(part)) {
        let advice = format!("{name:?} does not say what is inside: name the module after it");
        findings.push(Finding::of(file, advice));
    }
    for (number, line) in text.lines().enumerate() {
        // A regular expression in a raw string cannot be broken.
        if !line.contains(" = r\"") {
            findings.extend(wide(file, number, line));
        }
    }
    findings.extend(banned_words(file, text));
    findings
}

/// Comments, prose of Markdown, and Python. Tables, code blocks and long addresses cannot be broken.
fn wide_prose(file: &str, text: &str) -> Vec<Finding> {
    let has_address = |line: &str| line.split(' ').any(|word| word.len() > LINE_WIDTH / 2);
    let mut code = false;
    let prose = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        match Path::new(file).extension().and_then(OsStr::to_str) {
            Some("md") => {
                code ^= line.starts_with("```");
                !code && !line.starts_with('|')
            }
            Some("py") => true,
            _ => line.starts_with('#'),
        }
    });
    let prose = prose.filter(|(_, line)| !has_address(line));
    prose.filter_map(|(number, line)| wide(file, number, line)).collect()
}

fn wide(file: &str, number: usize, line: &str) -> Option<Finding> {
    let width = line.chars().count();
    let advice = || format!("{width} characters (limit {LINE_WIDTH})");
    (width > LINE_WIDTH).then(|| Finding::at(file, number + 1, advice()))
}

fn banned_words(file: &str, text: &str) -> Vec<Finding> {
    let found = text.lines().enumerate().filter_map(|(number, line)| {
        let word = words(line).find(|word| BANNED_WORDS.contains(&word.as_str()))?;
        let advice = format!("{word:?}: name the actor, or use the Kubernetes term");
        Some(Finding::at(file, number + 1, advice))
    });
    found.collect()
}

/// Lower-case words; an identifier is one word, so names of tests may contain a banned one.
fn words(line: &str) -> impl Iterator<Item = String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.split(move |c| !is_part(c)).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_found_unless_they_are_tests() {
        let long = "x\n".repeat(FILE_LENGTH + 1);
        assert_eq!(inspect("a.rs", &long).len(), 1);
        assert_eq!(inspect("crates/a/tests/b.rs", &long), []);
        let with_tests = format!("x\n#[cfg(test)]\nmod tests {{\n{long}}}\n");
        assert_eq!(inspect("a.rs", &with_tests), []);
    }

    #[test]
    fn long_module_docs_are_found() {
        assert_eq!(inspect("a.rs", &"//! x\n".repeat(MODULE_DOCS)), []);
        assert_eq!(inspect("a.rs", &"//! x\n".repeat(MODULE_DOCS + 1)).len(), 1);
    }

    #[test]
    fn wide_lines_and_banned_words_are_found_with_their_line() {
        let text = format!(
            "ok\n// {}\n// {}!\nfn {}_else() {{}}\n",
            "x".repeat(118),
            BANNED_WORDS[0],
            BANNED_WORDS[0]
        );
        let lines: Vec<_> = inspect("a.rs", &text).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [Some(2), Some(3)]);
    }

    #[test]
    fn banned_words_are_found_in_other_text_files() {
        let texts = ["a.md", "b/Cargo.toml", "refusals.tsv", "d.yaml", ".ci/run", "Dockerfile"];
        assert_eq!(texts.map(is_text), [true; 6]);
        assert_eq!(["a.rs", "a.json", "LICENSE"].map(is_text), [false; 3]);
        let found = banned_words("a.md", &format!("ok\nAsk {}.\n", BANNED_WORDS[2]));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [Some(2)]);
    }

    #[test]
    fn wide_comments_and_prose_are_found_in_other_text_files() {
        let words = "word ".repeat(30);
        let lines = |file, text: &str| {
            let found = wide_prose(file, text);
            found.iter().filter_map(|finding| finding.line).collect::<Vec<_>>()
        };
        let text = format!("{words}\n# {words}\n| {words}\n```sh\n{words}\n```\n- {words}\n");
        assert_eq!(lines("a.md", &text), [1, 2, 7]);
        assert_eq!(lines("a.yaml", &text), [2]);
        assert_eq!(lines("a.py", &text), [1, 2, 3, 5, 7]);
        let address = "x".repeat(90);
        assert!(lines("a.md", &format!("See [it](https://{address}), {words}")).is_empty());
    }

    #[test]
    fn empty_module_names_are_found_as_files_and_folders() {
        assert_eq!(inspect("crates/a/src/util.rs", "").len(), 1);
        assert_eq!(inspect("crates/a/src/helpers/retry.rs", "").len(), 1);
        assert_eq!(inspect("crates/a/src/utilisation.rs", ""), []);
    }
}
