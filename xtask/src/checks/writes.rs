//! Writes to a cluster leave through one gateway: the runtime's `writer`, which knows about leases, dry runs and preconditions.
//!
//! A write needs a client and a verb, so the check follows these two words instead of guessing at method names:
//!
//! * `kube` (the client) is named only where sessions are made, and by the playground, which sets up a cluster of its own, and by the
//!   simulated kubelets, which play the part of the cloud;
//! * `Method::POST` and its like (the verbs) are named only by the writer;
//! * controllers name neither of them, nor any other way to speak HTTP.
//!
//! The crates for tests (`testbed`, `bench`, `control-plane`) and everything below a `tests` folder are free: they play the users.

use anyhow::Result;

use crate::finding::Finding;
use crate::repo::Repo;
use crate::source::{CodePath, paths, tokens};

/// Something that only some places may name.
struct Rule {
    /// Below which folder the rule holds.
    within: &'static str,
    /// The places (path prefixes) that are free.
    except: &'static [&'static str],
    names: Names,
    advice: &'static str,
}

enum Names {
    /// Paths that begin with one of these.
    Roots(&'static [&'static str]),
    /// Paths that have one of these in them.
    Parts(&'static [&'static str]),
}

const VERBS: &[&str] = &["Method::POST", "Method::PUT", "Method::PATCH", "Method::DELETE"];

const RULES: &[Rule] = &[
    Rule {
        within: "crates/controllers/src/",
        except: &[],
        names: Names::Roots(&["kube", "http", "hyper", "axum", "std::net", "tokio::net"]),
        advice: "controllers reach a cluster through the runtime: read a cache, hand a write to the writer",
    },
    Rule {
        within: "crates/runtime/src/",
        except: &["crates/runtime/src/cluster/"],
        names: Names::Roots(&["kube"]),
        advice: "the client lives in `cluster`: ask a `Session`",
    },
    Rule {
        within: "crates/runtime/src/",
        except: &["crates/runtime/src/writer/"],
        names: Names::Parts(VERBS),
        advice: "only `writer` writes: it knows about leases, dry runs and preconditions",
    },
    Rule {
        within: "crates/machinist/src/",
        except: &["crates/machinist/src/verbs/playground"],
        names: Names::Roots(&["kube"]),
        advice: "verbs reach a cluster through the runtime; only the playground has a cluster of its own",
    },
    Rule {
        within: "crates/provider-sim/src/",
        except: &["crates/provider-sim/src/kubelet/"],
        names: Names::Roots(&["kube"]),
        advice: "a provider knows no cluster; only the simulated kubelets do, which play the part of the cloud",
    },
];

pub(crate) fn check(repo: &Repo) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in repo.rust_files("crates")? {
        if RULES.iter().any(|rule| rule.holds_for(&file)) {
            findings.extend(inspect(&file, &repo.read(&file)?));
        }
    }
    Ok(findings)
}

fn inspect(file: &str, text: &str) -> Vec<Finding> {
    let paths = paths(&tokens(text));
    let rules = RULES.iter().filter(|rule| rule.holds_for(file));
    rules
        .flat_map(|rule| {
            paths.iter().filter(|path| rule.forbids(path)).map(move |path| (rule, path))
        })
        .map(|(rule, path)| {
            Finding::at(file, path.line, format!("`{}`: {}", path.text(), rule.advice))
        })
        .collect()
}

impl Rule {
    fn holds_for(&self, file: &str) -> bool {
        let is_test = file.split('/').any(|part| part == "tests" || part == "tests.rs");
        file.starts_with(self.within)
            && !is_test
            && !self.except.iter().any(|place| file.starts_with(place))
    }

    fn forbids(&self, path: &CodePath) -> bool {
        match self.names {
            Names::Roots(roots) => roots.iter().any(|root| path.starts_with(root)),
            Names::Parts(parts) => parts.iter().any(|part| path.contains(part)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str, text: &str) -> Vec<usize> {
        inspect(file, text).into_iter().filter_map(|finding| finding.line).collect()
    }

    #[test]
    fn controllers_have_no_client() {
        let file = "crates/controllers/src/annotator/act.rs";
        assert_eq!(
            lines(file, "use machinist_runtime::writer::Writer;\nwriter.patch(x);"),
            Vec::<usize>::new()
        );
        assert_eq!(lines(file, "use a;\nuse kube::{Api, api::Patch};"), [2, 2]);
        assert_eq!(lines(file, "let m = http::Method::PATCH;"), [1]);
    }

    #[test]
    fn the_runtime_has_one_place_for_each() {
        let verb = "use http::Method;\nlet m = Method::PATCH;";
        assert_eq!(lines("crates/runtime/src/writer/mod.rs", verb), Vec::<usize>::new());
        assert_eq!(lines("crates/runtime/src/cache/list.rs", verb), [2]);
        assert_eq!(
            lines("crates/runtime/src/cache/list.rs", "let m = Method::GET;"),
            Vec::<usize>::new()
        );

        let client = "use kube::Client;";
        assert_eq!(lines("crates/runtime/src/cluster/session.rs", client), Vec::<usize>::new());
        assert_eq!(lines("crates/runtime/src/writer/mod.rs", client), [1]);
    }

    #[test]
    fn tests_and_the_playground_are_free() {
        let client = "use kube::Client;";
        assert_eq!(lines("crates/runtime/tests/api_cache.rs", client), Vec::<usize>::new());
        assert_eq!(
            lines("crates/machinist/src/verbs/playground/mod.rs", client),
            Vec::<usize>::new()
        );
        assert_eq!(lines("crates/machinist/src/verbs/run.rs", client), [1]);
        assert_eq!(lines("crates/testbed/src/lib.rs", client), Vec::<usize>::new());
    }
}
