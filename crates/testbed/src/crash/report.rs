//! What a harness run has found.

use std::{fmt, time::Duration};

use anyhow::{Result, bail};

use super::{CrashPoint, Fault};

/// A run whose end differs from the undisturbed one.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Where the fault struck.
    pub point: CrashPoint,
    /// Which one it was.
    pub fault: Fault,
    /// What went wrong on the way: a step that never came true, a subject that ended by itself.
    pub problems: Vec<String>,
    /// Unified diff of the end states, undisturbed against disturbed; empty when only the way was wrong.
    pub diff: String,
    /// The subject's writes in this world, one per line.
    pub writes: String,
    /// How long the run took.
    pub duration: Duration,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { point, fault, problems, diff, writes, duration } = self;
        writeln!(f, "{point}: {fault} ({:.1} s)", duration.as_secs_f64())?;
        for problem in problems {
            writeln!(f, "  {problem}")?;
        }
        f.write_str(diff)?;
        writeln!(f, "  writes of the subject:")?;
        writes.lines().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// What a harness run has found. `Display` begins with the summary line.
#[derive(Debug, Clone)]
pub struct Report {
    /// Name of the scenario.
    pub scenario: String,
    /// Every write of the undisturbed run.
    pub points: Vec<CrashPoint>,
    /// Faults that were tried.
    pub faults: Vec<Fault>,
    /// How many pairs of point and fault were run.
    pub runs: usize,
    /// Runs that ended differently.
    pub differences: Vec<Difference>,
    /// Pairs whose point was not met again: nothing was proven about them, which is a failure.
    pub unmet: Vec<(CrashPoint, Fault)>,
    /// How long all of it took.
    pub duration: Duration,
}

impl Report {
    /// `N crash points × M faults, K differ`
    pub fn summary(&self) -> String {
        let (points, faults) = (self.points.len(), self.faults.len());
        format!("{points} crash points × {faults} faults, {} differ", self.differences.len())
    }

    /// Fails with the whole report unless every run met its point and ended as the undisturbed one.
    pub fn check(&self) -> Result<()> {
        if !self.differences.is_empty() || !self.unmet.is_empty() || self.runs == 0 {
            bail!("{self}");
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (runs, seconds) = (self.runs, self.duration.as_secs_f64());
        writeln!(f, "{}", self.summary())?;
        write!(f, "{}: {runs} runs in {seconds:.1} s", self.scenario)?;
        writeln!(f, ", {} points not met again", self.unmet.len())?;
        for (point, fault) in &self.unmet {
            writeln!(f, "\nnot met again: {point}: {fault}")?;
        }
        self.differences.iter().try_for_each(|difference| write!(f, "\n{difference}"))
    }
}
