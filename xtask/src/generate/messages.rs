//! The page with every message that a user can meet, from the snapshots of each `messages.rs`.

use anyhow::{Context, Result};

use super::heading;
use crate::repo::Repo;

const INTRODUCTION: &str = "Events, conditions and errors of the command line, with sample values. \
    A heading names the folder below `crates` (without `src` and `verbs`) whose `messages.rs` has the texts; \
    those of `aws-spec/config` are in `aws-spec/src/messages.rs`. To find a text, search for its constant part. \
    For provider specs and CRDs, `reason` is the field; for recycles, `status.recycles[].failure`.";

pub(super) fn page(repo: &Repo) -> Result<String> {
    let mut text = heading("Messages", "the snapshots of messages", INTRODUCTION);
    for file in repo.files_below("crates", |name| name.ends_with("_messages.snap"))? {
        let content = repo.read(&file)?;
        let table = content.splitn(3, "---\n").nth(2);
        let table = table.with_context(|| format!("{file} is not a snapshot of insta"))?;
        text.extend([format!("\n## {}\n\n{}\n", title(&file), table.trim())]);
    }
    Ok(text)
}

/// The folder of a snapshot without what all of them have, and the test if the folder has several:
/// `controllers/machine`, `aws-spec/config, host`.
fn title(file: &str) -> String {
    let (folder, snapshot) = file.rsplit_once("/snapshots/").unwrap_or((file, ""));
    let parts = folder.split('/').filter(|part| !["crates", "src", "verbs"].contains(part));
    let title = parts.collect::<Vec<_>>().join("/");
    let test = snapshot.trim_end_matches("messages.snap").rsplit("__").next();
    match test.map(|test| test.trim_end_matches('_')) {
        None | Some("") => title,
        Some(test) => format!("{title}, {test}"),
    }
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn a_title_is_the_folder_and_the_test_if_it_has_a_name() {
        let title_of = |folder: &str, test: &str| {
            title(&format!("crates/{folder}/snapshots/a__tests__{test}.snap"))
        };
        assert_eq!(title_of("controllers/src/drain", "messages"), "controllers/drain");
        assert_eq!(title_of("machinist/src/verbs/run", "messages"), "machinist/run");
        assert_eq!(title_of("aws-spec/src/config", "host_messages"), "aws-spec/config, host");
    }
}
