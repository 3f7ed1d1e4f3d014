//! Reads the files of `-f`.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::messages;

#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) text: String,
}

const STDIN: &str = "-";
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// Reads files, folders (sorted by name, not recursive), and stdin for `-`.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.as_os_str() == STDIN {
            inputs.push(stdin()?);
        } else if path.is_dir() {
            for file in manifests_in(path)? {
                inputs.push(read_file(&file)?);
            }
        } else {
            inputs.push(read_file(path)?);
        }
    }
    Ok(inputs)
}

fn stdin() -> Result<Input> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("stdin")?;
    Ok(Input { name: "stdin".to_owned(), text: without_mark(text) })
}

fn read_file(path: &Path) -> Result<Input> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| name.clone())?;
    Ok(Input { name, text: without_mark(text) })
}

/// A byte order mark inside of a stream would be an error.
fn without_mark(text: String) -> String {
    text.strip_prefix('\u{feff}').map(ToOwned::to_owned).unwrap_or(text)
}

fn manifests_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let name = || folder.display().to_string();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(name)? {
        let path = entry.with_context(name)?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) && path.is_file() {
            files.push(path);
        }
    }
    ensure!(!files.is_empty(), messages::no_manifests(&name()));
    files.sort();
    Ok(files)
}
