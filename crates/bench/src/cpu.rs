use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};

/// The kernel's unit; the same on every Linux that we run on.
const TICK: Duration = Duration::from_millis(10);

/// In user mode and in the kernel, of all threads.
pub(crate) fn of_process(id: u32) -> Result<Duration> {
    let path = PathBuf::from(format!("/proc/{id}/stat"));
    let stat = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    parse(&stat)
}

fn parse(stat: &str) -> Result<Duration> {
    // The name of the program stands in parentheses and may contain anything.
    let (_, fields) = stat.rsplit_once(')').context("no name in the stat of the process")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || -> Result<u32> {
        Ok(fields.next().context("no times in the stat of the process")?.parse()?)
    };
    Ok(TICK * (ticks()? + ticks()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added_whatever_the_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 150 25 0 0 20 0 4 0 1 2 3";
        assert_eq!(parse(stat).unwrap(), Duration::from_millis(1750));
        assert!(parse("7 (x) S").is_err());
    }
}
