//! The pure stages of a controller stay pure: they see a snapshot and a time, and nothing else.
//!
//! `snapshot`, `decide`, `plan` and `report` of every controller (files, or folders once a stage grows) must not name the runtime, a
//! client, an async runtime, a clock, randomness or the operating system, nor the two stages that do IO. This is what makes a
//! decision repeatable: the same input gives the same plan, in a test and in `machinist plan`.

use anyhow::Result;

use crate::finding::Finding;
use crate::repo::Repo;
use crate::source::{CodePath, paths, tokens};

const FOLDER: &str = "crates/controllers/src";
const STAGES: &[&str] = &["snapshot", "decide", "plan", "report"];

/// Crates and modules that a pure stage may not name, and what to do instead.
const BANNED_ROOTS: &[(&str, &str)] = &[
    ("machinist_runtime", "the runtime belongs to observe and act; put shared types into domain"),
    ("kube", "clients belong to the runtime"),
    ("tokio", "a pure stage is synchronous"),
    ("futures", "a pure stage is synchronous"),
    ("rand", "randomness is an input: put it into the snapshot"),
    ("fastrand", "randomness is an input: put it into the snapshot"),
    ("std::env", "put what is needed into the snapshot"),
    ("std::fs", "put what is needed into the snapshot"),
    ("std::net", "put what is needed into the snapshot"),
    ("std::process", "put what is needed into the snapshot"),
    ("std::thread", "a pure stage is synchronous"),
    ("super::act", "a pure stage does not know how plans are carried out"),
    ("super::observe", "a pure stage does not know where its snapshot comes from"),
];

/// Parts of paths that are banned wherever they stand.
const BANNED_PARTS: &[(&str, &str)] = &[
    ("std::time::SystemTime", "time is an argument: `now`"),
    ("std::time::Instant", "time is an argument: `now`"),
    ("SystemTime::now", "time is an argument: `now`"),
    ("Instant::now", "time is an argument: `now`"),
    ("Timestamp::now", "time is an argument: `now`"),
    ("Zoned::now", "time is an argument: `now`"),
    ("async", "a pure stage is synchronous"),
];

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in repo.rust_files(FOLDER)? {
        if is_pure_stage(&file) {
            findings.extend(inspect(&file, &repo.read(&file)?));
        }
    }
    Ok(findings)
}

fn is_pure_stage(file: &str) -> bool {
    let below = file.strip_prefix(FOLDER).unwrap_or(file);
    below.split('/').any(|part| STAGES.contains(&part.strip_suffix(".rs").unwrap_or(part)))
}

fn inspect(file: &str, text: &str) -> Vec<Finding> {
    paths(&tokens(text))
        .iter()
        .filter_map(|path| {
            let advice = verdict(path)?;
            Some(Finding::at(
                file,
                path.line,
                format!("`{}` in a pure stage: {advice}", path.text()),
            ))
        })
        .collect()
}

fn verdict(path: &CodePath) -> Option<&'static str> {
    let root = BANNED_ROOTS.iter().find(|(root, _)| path.starts_with(root));
    let part = || BANNED_PARTS.iter().find(|(part, _)| path.contains(part));
    root.or_else(part).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        inspect("decide.rs", text).into_iter().filter_map(|finding| finding.line).collect()
    }

    #[test]
    fn a_pure_stage_passes() {
        let text = r#"
            //! Uses no kube, no tokio; Timestamp::now is not for us.
            use jiff::Timestamp;
            use machinist_domain::{annotations, labels};
            use std::time::Duration;
            use super::{plan::Plan, snapshot::Snapshot};
            pub(crate) fn decide(snapshot: &Snapshot, now: Timestamp) -> Plan { plan(snapshot, now, "tokio::spawn") }
        "#;
        assert_eq!(inspect("decide.rs", text), []);
    }

    #[test]
    fn every_way_out_is_found() {
        assert_eq!(lines("use machinist_runtime::Writer;"), [1]);
        assert_eq!(lines("use kube::{\n Api,\n Client,\n};"), [2, 3]);
        assert_eq!(lines("fn f() {\n tokio::time::sleep(d);\n}"), [2]);
        assert_eq!(lines("use std::time::{Duration, Instant};"), [1]);
        assert_eq!(lines("use std::time;\nlet t = time::SystemTime::now();"), [2]);
        assert_eq!(lines("let now = jiff::Timestamp::now();"), [1]);
        assert_eq!(lines("let dice = fastrand::u8(..);"), [1]);
        assert_eq!(lines("use super::act;\nuse super::observe::Observe;"), [1, 2]);
        assert_eq!(lines("pub(crate) async fn decide() {}"), [1]);
    }

    #[test]
    fn the_advice_names_the_offence() {
        let finding = &inspect("decide.rs", "use kube::Client;")[0];
        assert_eq!(
            finding.to_string(),
            "decide.rs:1: `kube::Client` in a pure stage: clients belong to the runtime"
        );
    }

    #[test]
    fn stages_are_files_or_folders() {
        assert!(is_pure_stage("crates/controllers/src/annotator/decide.rs"));
        assert!(is_pure_stage("crates/controllers/src/machine/decide/deleting.rs"));
        assert!(!is_pure_stage("crates/controllers/src/annotator/act.rs"));
        assert!(!is_pure_stage("crates/controllers/src/planner/mod.rs"));
    }
}
