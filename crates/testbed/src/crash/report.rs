use std::{fmt, time::Duration};

use anyhow::{Result, bail};

use super::{CrashPoint, Fault};

#[derive(Debug, Clone)]
pub struct Difference {
    pub point: CrashPoint,
    pub fault: Fault,
    /// On the way: a step that never came true, a subject that ended by itself.
    pub problems: Vec<String>,
    /// Empty when only the way was wrong.
    pub diff: String,
    pub writes: String,
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

#[derive(Debug, Clone)]
pub struct Report {
    pub scenario: String,
    pub points: Vec<CrashPoint>,
    pub faults: Vec<Fault>,
    pub runs: usize,
    pub differences: Vec<Difference>,
    /// The point was not met again: nothing was proven, which is a failure.
    pub unmet: Vec<(CrashPoint, Fault)>,
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
