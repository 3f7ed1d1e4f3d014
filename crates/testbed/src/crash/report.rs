use std::{fmt, time::Duration};

use anyhow::{Result, bail, ensure};

use super::{CrashPoint, Fault, Strike};

#[derive(Debug, Clone)]
pub struct Difference {
    /// Two in a run with two faults.
    pub strikes: Vec<Strike>,
    /// On the way: a step that never came true, a subject that ended by itself.
    pub problems: Vec<String>,
    /// Empty when only the way was wrong.
    pub diff: String,
    pub writes: String,
    pub duration: Duration,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { strikes, problems, diff, writes, duration } = self;
        let strikes: Vec<String> = strikes.iter().map(ToString::to_string).collect();
        writeln!(f, "{} ({:.1} s)", strikes.join("; then "), duration.as_secs_f64())?;
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
    /// Writes that one undisturbed run made more often than the other: these are no points.
    pub dropped: Vec<CrashPoint>,
    /// With one fault each.
    pub runs: usize,
    /// Runs with two faults.
    pub doubles: usize,
    pub differences: Vec<Difference>,
    /// The point was not met again: nothing was proven, which is a failure.
    pub unmet: Vec<Strike>,
    pub duration: Duration,
}

impl Report {
    /// `N crash points × M faults, K differ`
    pub fn summary(&self) -> String {
        let (points, faults) = (self.points.len(), self.faults.len());
        format!("{points} crash points × {faults} faults, {} differ", self.differences.len())
    }

    /// As [`check`](Self::check), with so many points: fewer mean that the scenario shows less than it did.
    pub fn check_with(&self, least_points: usize) -> Result<()> {
        self.check()?;
        let points = self.points.len();
        ensure!(points >= least_points, "{points} crash points, at least {least_points} expected");
        Ok(())
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
        write!(f, "{}: {runs} runs", self.scenario)?;
        write!(f, " and {} with two faults in {seconds:.1} s", self.doubles)?;
        writeln!(f, ", {} points not met again", self.unmet.len())?;
        for point in &self.dropped {
            writeln!(f, "dropped, because only one of two undisturbed runs has it: {point}")?;
        }
        for strike in &self.unmet {
            writeln!(f, "\nnot met again: {strike}")?;
        }
        self.differences.iter().try_for_each(|difference| write!(f, "\n{difference}"))
    }
}
