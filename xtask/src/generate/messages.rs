//! The page with every message that a user can meet, from the snapshots of each `messages.rs`.

use anyhow::{Context, Result};

use super::heading;
use crate::repo::Repo;

const INTRODUCTION: &str = "Events, conditions and errors of the command line, with sample values. \
    Each section is a snapshot of a test in the `messages.rs` beside it.";

pub(super) fn page(repo: &Repo) -> Result<String> {
    let mut text = heading("Messages", "the snapshots of messages", INTRODUCTION);
    for file in repo.files_below("crates", |name| name.ends_with("__messages.snap"))? {
        let content = repo.read(&file)?;
        let table = content.splitn(3, "---\n").nth(2);
        let table = table.with_context(|| format!("{file} is not a snapshot of insta"))?;
        text.extend([format!("\n## {}\n\n{}\n", title(&file), table.trim())]);
    }
    Ok(text)
}

/// The folder of a snapshot without what all of them have: `controllers/machine`.
fn title(file: &str) -> String {
    let folder = file.rsplit_once("/snapshots/").map_or(file, |(folder, _)| folder);
    let parts = folder.split('/').filter(|part| !["crates", "src", "verbs"].contains(part));
    parts.collect::<Vec<_>>().join("/")
}
