//! Names that only some folders may mention: pure stages stay pure, and writes leave through the writer.
//!
//! Compares text line by line, without comments and tests. It finds honest mistakes, not hidden calls. What crate
//! boundaries (`layers`) or clippy (`disallowed-methods`: clocks, bare spawns) enforce is not repeated here.

use anyhow::Result;

use crate::finding::Finding;
use crate::repo::{Repo, code_lines, is_test};

struct Rule {
    within: &'static str,
    /// Files or folders below `within`, by name; empty for all.
    only: &'static [&'static str],
    /// Path prefixes that are exempt.
    except: &'static [&'static str],
    names: &'static [&'static str],
    advice: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        within: "crates/controllers/src/",
        only: &["snapshot", "decide", "plan", "report"],
        except: &[],
        names: &[
            "machinist_runtime",
            "tokio",
            "futures",
            "fastrand",
            "std::env",
            "std::fs",
            "std::net",
            "std::process",
            "std::thread",
            "super::act",
            "super::observe",
            "async",
        ],
        advice: "a pure stage sees its arguments only: no IO, no randomness, no async; pass it in the snapshot",
    },
    Rule {
        within: "crates/controllers/src/",
        only: &[],
        except: &[],
        names: &["\"aws\"", "\"aws://"],
        advice: "controllers know no provider: ask the Provider trait",
    },
    Rule {
        within: "crates/runtime/src/",
        only: &[],
        except: &["crates/runtime/src/cluster/"],
        names: &["kube"],
        advice: "only `cluster` uses the client: use a Session",
    },
    Rule {
        within: "crates/runtime/src/",
        only: &[],
        // A review is a POST request that stores nothing.
        except: &["crates/runtime/src/writer/", "crates/runtime/src/cluster/review.rs"],
        names: &["Method::POST", "Method::PUT", "Method::PATCH", "Method::DELETE"],
        advice: "only `writer` writes: it enforces lease, dry run and preconditions",
    },
    Rule {
        within: "crates/machinist/src/",
        only: &[],
        except: &["crates/machinist/src/verbs/playground"],
        names: &["kube"],
        advice: "verbs reach a cluster through the runtime; only the playground sets one up",
    },
    Rule {
        within: "crates/provider-sim/src/",
        only: &[],
        except: &["crates/provider-sim/src/kubelet/"],
        names: &["kube"],
        advice: "a provider has no cluster; only the simulated kubelets write Nodes",
    },
];

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in repo.rust_files("crates")? {
        if RULES.iter().any(|rule| rule.covers(&file)) {
            findings.extend(inspect(&file, &repo.read(&file)?));
        }
    }
    Ok(findings)
}

fn inspect(file: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.covers(file)) {
        for (number, line) in code_lines(text).enumerate() {
            let code = line.split(" // ").next().unwrap_or(line);
            let code = if code.trim_start().starts_with("//") { "" } else { code };
            if let Some(name) = rule.names.iter().find(|name| mentions(code, name)) {
                findings.push(Finding::at(file, number + 1, format!("`{name}`: {}", rule.advice)));
            }
        }
    }
    findings
}

impl Rule {
    fn covers(&self, file: &str) -> bool {
        let Some(below) = file.strip_prefix(self.within) else { return false };
        let named = |part: &str| self.only.contains(&part.trim_end_matches(".rs"));
        (self.only.is_empty() || below.split('/').any(named))
            && !is_test(file)
            && !self.except.iter().any(|place| file.starts_with(place))
    }
}

/// Whether the code contains the name as whole words. A path segment counts only at the beginning of a path.
fn mentions(code: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(start, _)| {
        let before = code[..start].chars().next_back();
        let after = code[start + name.len()..].chars().next();
        let is_path = name.contains("::") || name == "async" || name.starts_with('"');
        !before.is_some_and(is_word)
            && (name.ends_with('/') || !after.is_some_and(is_word))
            && (is_path || after == Some(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str, text: &str) -> Vec<usize> {
        inspect(file, text).into_iter().filter_map(|finding| finding.line).collect()
    }

    const NONE: [usize; 0] = [];

    #[test]
    fn pure_stages_do_no_io() {
        let pure = "crates/controllers/src/machine/decide/deleting.rs";
        assert_eq!(
            lines(pure, "use jiff::Timestamp; // tokio::spawn\nuse super::actions::A;"),
            NONE
        );
        assert_eq!(lines(pure, "use machinist_runtime::Writer;\nuse super::act;"), [1, 2]);
        assert_eq!(lines(pure, "pub(crate) async fn decide() {}"), [1]);
        assert_eq!(lines(pure, "let provider = \"aws\";\nlet id = \"aws:///a\";"), [1, 2]);
        assert_eq!(lines(pure, "#[cfg(test)]\nmod tests {\nuse tokio::time;\n}"), NONE);
        assert_eq!(lines("crates/controllers/src/machine/act.rs", "use tokio::time;"), NONE);
    }

    #[test]
    fn the_runtime_has_one_place_for_the_client_and_one_for_writes() {
        assert_eq!(lines("crates/runtime/src/cluster/session.rs", "use kube::Client;"), NONE);
        assert_eq!(lines("crates/runtime/src/cache/list.rs", "use kube::Client;"), [1]);
        assert_eq!(lines("crates/runtime/src/writer/mod.rs", "Method::PATCH"), NONE);
        assert_eq!(lines("crates/runtime/src/cluster/review.rs", "Method::POST"), NONE);
        assert_eq!(lines("crates/runtime/src/cluster/session.rs", "Method::POST"), [1]);
        assert_eq!(lines("crates/runtime/src/cache/list.rs", "Method::GET;\nMethod::PATCH;"), [2]);
        assert_eq!(lines("crates/runtime/tests/api_cache.rs", "use kube::Client;"), NONE);
    }
}
