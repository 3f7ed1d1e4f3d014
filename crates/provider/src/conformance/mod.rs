//! The conformance suite that every provider passes.
//!
//! A provider crate implements [`Bed`] and runs `conformance::run(&bed).await.unwrap()`. The checks compare the
//! provider's answers with [`Bed::truth`]. Every check uses machines of its own, so checks may share a cloud.

mod bed;
mod checks;
mod scene;

use std::fmt;

pub use self::bed::{Bed, Fault, Found};
use self::checks::CHECKS;
use self::scene::Scene;

/// The checks that failed, with their messages.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub struct Failures(pub Vec<(&'static str, String)>);

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} of {} checks failed:", self.0.len(), CHECKS.len())?;
        self.0.iter().try_for_each(|(name, reason)| writeln!(f, "- {name}: {reason}"))
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Runs every check. Returns the names of those that passed, which are all.
pub async fn run(bed: &dyn Bed) -> Result<Vec<&'static str>, Failures> {
    let mut passed = Vec::new();
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        let scene = Scene::new(bed, name);
        bed.set_fault(Fault::None).await;
        let limit = bed.patience() * 4;
        let result = tokio::time::timeout(limit, check(&scene)).await;
        match result.unwrap_or_else(|_| Err(format!("no end after {limit:?}"))) {
            Ok(()) => passed.push(*name),
            Err(reason) => failed.push((*name, reason)),
        }
    }
    bed.set_fault(Fault::None).await;
    if failed.is_empty() { Ok(passed) } else { Err(Failures(failed)) }
}
