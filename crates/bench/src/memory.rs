//! Anonymous memory is what the program itself asked for; the rest of the total is mostly pages of the executable,
//! which the kernel can drop at will and shares between processes.

use std::path::PathBuf;

use anyhow::{Context, Result};

/// In MiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Memory {
    /// `RssAnon`.
    pub(crate) anonymous: f64,
    /// `VmRSS`.
    pub(crate) total: f64,
    /// `VmHWM`: the highest total so far.
    pub(crate) peak: f64,
}

impl Memory {
    pub(crate) fn of_process(id: u32) -> Result<Self> {
        let path = PathBuf::from(format!("/proc/{id}/status"));
        let status = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&status)
    }

    fn parse(status: &str) -> Result<Self> {
        let mebibytes = |field: &str| -> Result<f64> {
            let kibibytes: f64 = status
                .lines()
                .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
                .and_then(|value| value.split_whitespace().next())
                .with_context(|| format!("no {field} in the status of the process"))?
                .parse()?;
            Ok(kibibytes / 1024.0)
        };
        Ok(Self {
            anonymous: mebibytes("RssAnon")?,
            total: mebibytes("VmRSS")?,
            peak: mebibytes("VmHWM")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_three_fields_and_misses_none() {
        let status = "Name:\tx\nVmHWM:\t   4096 kB\nVmRSS:\t   2048 kB\nRssAnon:\t    512 kB\n";
        let memory = Memory::parse(status).unwrap();
        let expected = Memory { anonymous: 0.5, total: 2.0, peak: 4.0 };
        assert_eq!(memory, expected);
        assert!(Memory::parse("VmRSS:\t1 kB\n").is_err());
    }
}
