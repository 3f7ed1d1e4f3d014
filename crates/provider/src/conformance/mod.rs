//! What every provider must do, as tests that run against its cloud or a stand-in for it.
//!
//! A provider crate implements [`Bed`] (its cloud, and ways to make it misbehave) and runs all checks with one line:
//!
//! ```ignore
//! conformance::run(&bed).await.unwrap();
//! ```
//!
//! The checks know nothing of any cloud. What really exists is told by the bed ([`Bed::truth`]), past the provider and past whatever the
//! cloud hides from callers: a provider cannot pass by believing itself. Every check makes machines of its own, so they may share a cloud.

mod bed;
mod checks;
mod scene;

use std::fmt;

pub use self::bed::{Bed, Found, Weather};
use self::checks::CHECKS;
use self::scene::Scene;

/// The names of the checks that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed(pub Vec<&'static str>);

/// What went wrong: the names of the checks, and what each saw.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub struct Failures(pub Vec<(&'static str, String)>);

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} checks failed:", self.0.len(), CHECKS.len())?;
        self.0.iter().try_for_each(|(name, reason)| writeln!(f, "- {name}: {reason}"))
    }
}

/// As for people: this is what `unwrap` prints.
impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Runs every check, one after the other, also when some fail.
pub async fn run(bed: &dyn Bed) -> Result<Passed, Failures> {
    let mut passed = Vec::new();
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        let scene = Scene::new(bed, name);
        bed.weather(Weather::Fair).await;
        let limit = bed.patience() * 4;
        let result = tokio::time::timeout(limit, check(&scene)).await;
        match result.unwrap_or_else(|_| Err(format!("no end after {limit:?}"))) {
            Ok(()) => passed.push(*name),
            Err(reason) => failed.push((*name, reason)),
        }
    }
    bed.weather(Weather::Fair).await;
    if failed.is_empty() { Ok(Passed(passed)) } else { Err(Failures(failed)) }
}
