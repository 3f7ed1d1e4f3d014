//! Feeds mutated documents to code that reads bytes from a cluster or a file. It must not panic, and the memory of the
//! process is limited. A reader is added with a test whose name begins with `fuzz_`:
//!
//! `fuzz::feed(&[r#"{"a": 1}"#], |bytes| fuzz::done(serde_json::from_slice::<Value>(bytes)))`
//!
//! A sample should have every field that is read. `MACHINIST_FUZZ=10` feeds each reader for ten minutes.

mod input;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

/// At a time; without a duration, once.
const CASES: u32 = 400;
const MINUTES: &str = "MACHINIST_FUZZ";
/// Inputs are much smaller, so this much is kept or built by a reader.
const MOST_MEMORY_KIB: u64 = 1024 * 1024;

/// The error has the smallest input that was found.
pub fn feed(samples: &[&str], read: impl Fn(&[u8])) -> Result<()> {
    let end = minutes()?.map(|time| Instant::now() + time);
    let mut inputs = 0_u64;
    loop {
        let config = Config {
            cases: CASES,
            failure_persistence: None,
            max_shrink_iters: 4096,
            ..Config::default()
        };
        let outcome = TestRunner::new(config).run(&input::input(), |input| {
            let bytes = input.bytes(samples);
            catch_unwind(AssertUnwindSafe(|| read(&bytes))).map_err(|_| {
                TestCaseError::fail(format!("a panic on {:?}", String::from_utf8_lossy(&bytes)))
            })
        });
        outcome.map_err(|error| anyhow!("{error}"))?;
        inputs += u64::from(CASES);
        if end.is_none_or(|end| Instant::now() >= end) {
            break;
        }
    }
    let peak = peak_memory_kib()?;
    tracing::info!(inputs, peak, "fed");
    if end.is_some() {
        println!("{inputs} inputs, {peak} KiB at most");
    }
    ensure!(peak < MOST_MEMORY_KIB, "{peak} KiB of memory after {inputs} inputs");
    Ok(())
}

/// The end of what a reader has made.
pub fn done<T>(read: T) {
    drop(read);
}

fn minutes() -> Result<Option<Duration>> {
    let Ok(text) = std::env::var(MINUTES) else { return Ok(None) };
    let minutes: f64 = text.parse().with_context(|| format!("{MINUTES} must be minutes"))?;
    let time = Duration::try_from_secs_f64(minutes * 60.0);
    Ok(Some(time.with_context(|| format!("{MINUTES} must be minutes (got {text:?})"))?))
}

fn peak_memory_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("the peak of memory")?;
    let mut lines = status.lines().filter_map(|line| line.strip_prefix("VmHWM:"));
    let peak = lines.next().and_then(|line| line.trim().strip_suffix(" kB"));
    peak.context("no VmHWM")?.trim().parse().context("VmHWM")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const SAMPLE: &str = r#"{"size": 3, "names": ["a", "b"]}"#;

    #[test]
    fn a_careful_reader_passes() {
        feed(&[SAMPLE], |bytes| done(serde_json::from_slice::<Value>(bytes))).unwrap();
    }

    /// Each trusts something else: the type of a field, its size, that it is there, that bytes are text.
    #[test]
    fn careless_readers_are_caught_with_a_small_input() {
        let readers: [fn(&[u8]); 4] = [
            |bytes| {
                let value = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
                let numbers = value["size"].as_u64();
                assert!(numbers.is_none_or(|size| size < u64::MAX), "too large");
            },
            |bytes| {
                if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
                    assert!(value["names"].is_array(), "no names");
                }
            },
            |bytes| {
                if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
                    let text = value["names"][0].as_str().unwrap_or_default();
                    assert!(text.len() < 1000, "a long text");
                }
            },
            |bytes| assert!(std::str::from_utf8(bytes).is_ok(), "no text"),
        ];
        for (number, read) in readers.into_iter().enumerate() {
            // A case is found by chance.
            let found = (0..40).find_map(|_| feed(&[SAMPLE], read).err());
            let error = found.unwrap_or_else(|| panic!("reader {number} was not caught"));
            assert!(error.to_string().contains("a panic on"), "{error}");
        }
    }
}
