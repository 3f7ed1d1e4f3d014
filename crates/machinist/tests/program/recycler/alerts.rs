//! The alerts of `deploy/recycler/alerts`: what they ask for, and where they are explained.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Fails unless every alert asks for metrics that a process shows which recycles something, then or later, and has a
/// section in the runbook.
pub(crate) fn ask_for_what_is_shown(metrics: &str) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("deploy/recycler/alerts/prometheus-rule.yaml"))?;
    let document: Value = serde_saphyr::from_str(&text)?;
    let runbook = std::fs::read_to_string(root.join("docs/guides/recycler.md"))?;
    let shown: BTreeSet<_> = metrics.lines().filter_map(|line| words(line).next()).collect();
    let rules = document["spec"]["groups"][0]["rules"].as_array().context("no rules")?;
    ensure!(!rules.is_empty(), "there are no alerts");
    for rule in rules {
        let alert = rule["alert"].as_str().context("a name")?;
        let asks = rule["expr"].as_str().context("an expression")?;
        let names: Vec<_> = words(asks).filter(|word| word.starts_with("machinist_")).collect();
        ensure!(!names.is_empty(), "{alert} asks for nothing");
        for name in names {
            ensure!(shown.contains(name), "{alert}: no metric {name}\n{metrics}");
        }
        ensure!(runbook.contains(&format!("**{alert}.**")), "{alert} is not explained");
    }
    Ok(())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
}
