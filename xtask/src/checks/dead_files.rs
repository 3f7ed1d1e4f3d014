//! Every `.rs` file is compiled by somebody: it is the root of a target, or a `mod` leads to it.
//!
//! A file that no `mod` names is never built, so it rots unseen, and its tests never run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;

use crate::cargo::Metadata;
use crate::finding::Finding;
use crate::repo::Repo;
use crate::source::{Kind, Token, tokens};

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in Metadata::of(repo)?.packages {
        let Some(folder) = package.manifest_path.parent() else {
            continue;
        };
        let folder = repo.relative(folder);
        let roots: Vec<PathBuf> =
            package.targets.into_iter().map(|target| target.src_path).collect();
        findings.extend(unreachable(repo, &folder, &roots)?);
    }
    Ok(findings)
}

fn unreachable(repo: &Repo, folder: &str, roots: &[PathBuf]) -> Result<Vec<Finding>> {
    let reached: BTreeSet<String> =
        reachable(roots).iter().map(|path| repo.relative(path)).collect();
    let findings = repo
        .rust_files(folder)?
        .into_iter()
        .filter(|file| !reached.contains(file))
        .map(|file| {
            Finding::of(
                file,
                "no `mod` leads to this file, so it is never compiled: declare it or delete it",
            )
        })
        .collect();
    Ok(findings)
}

/// The roots and every file that they declare, directly or not.
fn reachable(roots: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<(PathBuf, bool)> = roots.iter().map(|root| (root.clone(), true)).collect();
    while let Some((file, is_root)) = pending.pop() {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        if !reached.insert(file.clone()) {
            continue;
        }
        for children in declared(&file, is_root, &tokens(&text)) {
            pending.extend(children.into_iter().map(|child| (child, false)));
        }
    }
    reached
}

/// For each `mod name;` the places where the compiler would look for it.
fn declared(file: &Path, is_root: bool, tokens: &[Token]) -> Vec<Vec<PathBuf>> {
    let beside = file.parent().unwrap_or(Path::new("")).to_path_buf();
    let owns_folder = is_root || file.file_name().is_some_and(|name| name == "mod.rs");
    let below = if owns_folder { beside.clone() } else { file.with_extension("") };

    let mut found = Vec::new();
    // Inline modules that are open here: the depth of their brace, and their name.
    let mut inline: Vec<(usize, String)> = Vec::new();
    let mut depth = 0_usize;
    let mut explicit: Option<String> = None;
    for (at, token) in tokens.iter().enumerate() {
        let ahead = |steps: usize| tokens.get(at + steps).map(|token| &token.kind);
        match &token.kind {
            Kind::Mark('{') => depth += 1,
            Kind::Mark('}') => {
                depth = depth.saturating_sub(1);
                inline.retain(|(opened, _)| *opened < depth);
            }
            Kind::Name(word) if word == "path" && ahead(1) == Some(&Kind::Mark('=')) => {
                if let Some(Kind::Text(path)) = ahead(2) {
                    explicit = Some(path.clone());
                }
            }
            Kind::Name(word) if word == "include" && ahead(1) == Some(&Kind::Mark('!')) => {
                if let Some(Kind::Text(path)) = ahead(3) {
                    found.push(vec![beside.join(path)]);
                }
            }
            Kind::Name(word) if word == "mod" => {
                let Some(Kind::Name(name)) = ahead(1) else {
                    continue;
                };
                let mut folder = below.clone();
                folder.extend(inline.iter().map(|(_, name)| name));
                match (ahead(2), explicit.take()) {
                    (Some(Kind::Mark(';')), Some(path)) => {
                        found.push(vec![without_detours(&beside.join(path))]);
                    }
                    (Some(Kind::Mark(';')), None) => {
                        found.push(vec![
                            folder.join(format!("{name}.rs")),
                            folder.join(name).join("mod.rs"),
                        ]);
                    }
                    (Some(Kind::Mark('{')), _) => inline.push((depth, name.clone())),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    found
}

/// The path without `..`: tests that share a file name it from the folder beside.
fn without_detours(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
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
        let findings = unreachable(&Repo::at(folder.path()), "", &roots).unwrap();
        findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn modules_are_followed_in_both_layouts() {
        let files = [
            ("src/lib.rs", "pub mod a;\n#[cfg(test)]\nmod b;"),
            ("src/a.rs", "mod inner;"),
            ("src/a/inner.rs", ""),
            ("src/b/mod.rs", "pub(crate) mod leaf;"),
            ("src/b/leaf.rs", ""),
        ];
        assert_eq!(dead(&files), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_nobody_declares_is_found() {
        let files = [
            ("src/lib.rs", "// mod a;\nconst X: &str = \"mod a;\";"),
            ("src/a.rs", ""),
            ("src/tests/server.rs", ""),
        ];
        assert_eq!(dead(&files), ["src/a.rs", "src/tests/server.rs"]);
    }

    #[test]
    fn inline_modules_and_explicit_paths_count() {
        let files = [
            ("src/lib.rs", "mod outer { mod a; }\nmod b;\n#[path = \"odd/place.rs\"]\nmod c;"),
            ("src/outer/a.rs", ""),
            ("src/b.rs", "#[path = \"../shared/d.rs\"]\nmod d;"),
            ("shared/d.rs", ""),
            ("src/odd/place.rs", ""),
        ];
        assert_eq!(dead(&files), Vec::<String>::new());
    }

    #[test]
    fn an_inline_module_ends_with_its_brace() {
        let files = [("src/lib.rs", "mod outer { fn f() { {} } }\nmod b;"), ("src/outer/b.rs", "")];
        assert_eq!(dead(&files), ["src/outer/b.rs"]);
    }
}
