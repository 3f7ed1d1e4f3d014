//! Resident memory of the processes over time.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result};

/// How much more the last quarter may have than the second, in per cent.
const MORE: f64 = 5.0;

#[derive(Debug, Default)]
pub(crate) struct Memory(Vec<(Duration, u64)>);

impl Memory {
    pub(crate) fn note(&mut self, at: Duration, kib: u64) {
        self.0.push((at, kib));
    }

    pub(crate) fn quarters(&self, length: Duration) -> Quarters {
        let mean = |quarter: u32| {
            let (from, to) = (length / 4 * quarter, length / 4 * (quarter + 1));
            let within = self.0.iter().filter(|(at, _)| (from..to).contains(at));
            let sizes: Vec<f64> = within.map(|(_, kib)| mebibytes(*kib)).collect();
            sizes.iter().sum::<f64>() / f64::from(u32::try_from(sizes.len().max(1)).unwrap_or(1))
        };
        Quarters([0, 1, 2, 3].map(mean))
    }
}

fn mebibytes(kib: u64) -> f64 {
    f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1024.0
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = self.0.last().map_or(0, |(_, kib)| *kib);
        write!(f, "{:.1} MiB resident", mebibytes(now))
    }
}

/// The mean of each, in MiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quarters([f64; 4]);

impl Quarters {
    pub(crate) fn is_flat(self) -> bool {
        self.growth() <= MORE
    }

    fn growth(self) -> f64 {
        (self.0[3] / self.0[1].max(1.0) - 1.0) * 100.0
    }
}

impl fmt::Display for Quarters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quarters = self.0.map(|mean| format!("{mean:.1}")).join(", ");
        write!(f, "resident memory by quarters: {quarters} MiB; ")?;
        write!(f, "from the second to the last {:+.1} %", self.growth())
    }
}

pub(crate) fn resident_kib(process: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    let status = status.with_context(|| format!("process {process} has ended"))?;
    let mut lines = status.lines().filter_map(|line| line.strip_prefix("VmRSS:"));
    let size = lines.next().and_then(|size| size.trim().strip_suffix(" kB"));
    Ok(size.context("no VmRSS")?.trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quarters(sizes: [u64; 4]) -> Quarters {
        let mut memory = Memory::default();
        for (second, kib) in (0..).zip(sizes.into_iter().flat_map(|size| [size; 10])) {
            memory.note(Duration::from_secs(second), kib);
        }
        memory.quarters(Duration::from_secs(40))
    }

    #[test]
    fn growth_is_judged_from_the_second_quarter_on() {
        assert!(quarters([10_240, 102_400, 102_400, 106_000]).is_flat());
        assert!(!quarters([102_400, 102_400, 105_000, 108_000]).is_flat());
        let text = quarters([102_400, 102_400, 102_400, 112_640]).to_string();
        assert!(text.ends_with("100.0, 110.0 MiB; from the second to the last +10.0 %"), "{text}");
    }
}
