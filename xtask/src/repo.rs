//! The working tree: where it is, which files are in it.
//!
//! Paths that leave this module are relative to the root and use `/`, so that findings read the same everywhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The root of the working tree.
#[derive(Debug)]
pub(crate) struct Repo {
    root: PathBuf,
}

impl Repo {
    /// Walks up from the current folder. Not from a path known at compile time: that would put a machine's path into
    /// the binary.
    pub(crate) fn find() -> Result<Self> {
        let here = std::env::current_dir().context("no current folder")?;
        for folder in here.ancestors() {
            if folder.join("xtask/Cargo.toml").is_file() {
                return Ok(Self { root: folder.to_path_buf() });
            }
        }
        bail!("run xtask inside the machinist repository")
    }

    /// A tree at a given place, for tests.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    pub(crate) fn read(&self, relative: &str) -> Result<String> {
        fs::read_to_string(self.path(relative))
            .with_context(|| format!("failed to read {relative}"))
    }

    /// A path below the root as findings show it.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().replace('\\', "/")
    }

    /// Every `.rs` file below a folder, sorted; none if the folder does not exist.
    pub(crate) fn rust_files(&self, folder: &str) -> Result<Vec<String>> {
        let is_rust = |name: &str| Path::new(name).extension().is_some_and(|it| it == "rs");
        self.files_below(folder, is_rust)
    }

    /// Every file below a folder whose path matches, sorted, without `target`; none if the folder does not exist.
    pub(crate) fn files_below(
        &self,
        folder: &str,
        matches: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut pending = vec![self.path(folder)];
        while let Some(folder) = pending.pop() {
            if !folder.is_dir() {
                continue;
            }
            for entry in fs::read_dir(&folder)
                .with_context(|| format!("failed to list {}", folder.display()))?
            {
                let path = entry?.path();
                if path.is_dir() {
                    if path.file_name().is_some_and(|name| name != "target") {
                        pending.push(path);
                    }
                } else {
                    found.push(self.relative(&path));
                }
            }
        }
        found.retain(|file| matches(file));
        found.sort();
        Ok(found)
    }

    /// Files that are, or are about to be, under version control: new ones count before they are added.
    pub(crate) fn tracked_files(&self) -> Result<Vec<String>> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&self.root)
            .output()
            .context("failed to run git, which knows the files of the repository")?;
        ensure!(
            output.status.success(),
            "git ls-files: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        let mut files: Vec<String> = String::from_utf8_lossy(&output.stdout)
            .split('\0')
            // A file that is deleted but not yet committed is still listed.
            .filter(|name| !name.is_empty() && self.path(name).is_file())
            .map(str::to_owned)
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }
}

/// The lines before the test module, which by custom is the last item of a file.
pub(crate) fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find("\n#[cfg(test)]\nmod tests {").map_or(text.len(), |end| end + 1);
    let end = if text.starts_with("#[cfg(test)]\nmod tests {") { 0 } else { end };
    text[..end].lines()
}

/// Whether the whole file is test code.
pub(crate) fn is_test(file: &str) -> bool {
    let is_test_part =
        |part: &str| part == "tests" || part == "tests.rs" || part.ends_with("_tests.rs");
    file.split('/').any(is_test_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_rust_files_below_a_folder_and_skips_target() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/src/lib.rs", "a/src/deep/b.rs", "a/target/c.rs", "a/readme.md"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let repo = Repo::at(folder.path());
        assert_eq!(repo.rust_files("a").unwrap(), ["a/src/deep/b.rs", "a/src/lib.rs"]);
        assert_eq!(repo.rust_files("nothing").unwrap(), Vec::<String>::new());
    }
}
