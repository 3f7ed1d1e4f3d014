//! Every `.rs` file is the root of a target, or a `mod` leads to it. A file that is never compiled rots unseen.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cargo::Metadata;
use crate::finding::Finding;
use crate::repo::Repo;

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in Metadata::of(repo)?.packages {
        let Some(folder) = package.manifest_path.parent() else { continue };
        let roots = package.targets.into_iter().map(|target| target.src_path).collect();
        findings.extend(unreachable(repo, &repo.relative(folder), roots)?);
    }
    Ok(findings)
}

fn unreachable(repo: &Repo, folder: &str, roots: Vec<PathBuf>) -> Result<Vec<Finding>> {
    let reached = reachable(roots);
    let mut files = repo.rust_files(folder)?;
    files.retain(|file| {
        fs::canonicalize(repo.path(file)).is_ok_and(|path| !reached.contains(&path))
    });
    let advice = "no `mod` leads to this file, so it is never compiled: declare it or delete it";
    Ok(files.into_iter().map(|file| Finding::of(file, advice)).collect())
}

/// The roots and every file that they declare, directly or not.
fn reachable(roots: Vec<PathBuf>) -> BTreeSet<PathBuf> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<(PathBuf, bool)> = roots.into_iter().map(|root| (root, true)).collect();
    while let Some((file, is_root)) = pending.pop() {
        let Ok(file) = fs::canonicalize(file) else { continue };
        let Ok(text) = fs::read_to_string(&file) else { continue };
        if reached.insert(file.clone()) {
            pending.extend(declared(&file, is_root, &text).into_iter().map(|path| (path, false)));
        }
    }
    reached
}

/// The places where the compiler looks for each `mod name;`, one declaration per line as rustfmt writes it.
fn declared(file: &Path, is_root: bool, text: &str) -> Vec<PathBuf> {
    let beside = file.parent().unwrap_or(Path::new(""));
    let owns_folder = is_root || file.file_name().is_some_and(|name| name == "mod.rs");
    let below = if owns_folder { beside.to_path_buf() } else { file.with_extension("") };
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(path) = line.strip_prefix("#[path = \"") {
            found.push(beside.join(path.trim_end_matches("\"]")));
        } else if let Some(name) = module(line) {
            found.push(below.join(format!("{name}.rs")));
            found.push(below.join(name).join("mod.rs"));
        }
    }
    found
}

fn module(line: &str) -> Option<&str> {
    let visibility = line.split_once("mod ").map_or("", |(before, _)| before);
    let is_declaration = visibility.is_empty() || visibility.starts_with("pub");
    is_declaration.then_some(())?;
    line.strip_prefix(visibility)?.strip_prefix("mod ")?.strip_suffix(';')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate with the given files; the first is its root.
    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let roots = vec![folder.path().join(files[0].0)];
        let findings = unreachable(&Repo::at(folder.path()), "", roots).unwrap();
        findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn modules_are_followed_in_both_layouts_and_by_path() {
        let files = [
            ("src/lib.rs", "pub mod a;\n#[cfg(test)]\nmod b;\n#[path = \"odd/place.rs\"]\nmod c;"),
            ("src/a.rs", "mod inner;"),
            ("src/a/inner.rs", "#[path = \"../../tests/d.rs\"]\nmod d;"),
            ("src/b/mod.rs", "pub(crate) mod leaf;"),
            ("src/b/leaf.rs", ""),
            ("src/odd/place.rs", ""),
            ("tests/d.rs", ""),
        ];
        assert_eq!(dead(&files), Vec::<String>::new());
    }

    #[test]
    fn undeclared_files_are_found() {
        let files = [("src/lib.rs", "// mod a;"), ("src/a.rs", ""), ("src/tests/server.rs", "")];
        assert_eq!(dead(&files), ["src/a.rs", "src/tests/server.rs"]);
    }
}
