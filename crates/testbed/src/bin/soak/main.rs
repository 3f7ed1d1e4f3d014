//! `make soak`: hundreds of machines on the simulated cloud for an hour, while everything goes wrong: random sizes and
//! deletions, lost, refused and late requests, a cloud in trouble, leaders that are cut off or killed. In the end there
//! are exactly the machines that are wanted, no machine has had two instances, and memory has not grown.
//!
//! `soak [MINUTES [MACHINES [SEED]]]`; the program `machinist` is beside this one.

mod fleet;
mod memory;
mod troubles;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::fleet::Fleet;
use self::memory::Memory;
use self::troubles::Troubles;

/// Memory of a shorter soak is still growing into its caches and is not judged.
const SHORTEST: Duration = Duration::from_mins(20);
const BETWEEN_LINES: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
struct Settings {
    length: Duration,
    machines: usize,
    seed: u64,
}

impl Settings {
    fn parse(words: &[String]) -> Result<Self> {
        let number = |at: usize, default: u64| -> Result<u64> {
            let Some(word) = words.get(at) else { return Ok(default) };
            word.parse()
                .with_context(|| format!("{word:?}: usage: soak [MINUTES [MACHINES [SEED]]]"))
        };
        Ok(Self {
            length: Duration::from_mins(number(0, 60)?),
            machines: usize::try_from(number(1, 500)?)?,
            seed: number(2, fastrand::u64(..1_000_000))?,
        })
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match Settings::parse(&words) {
        Ok(settings) => soak(settings).await,
        Err(error) => Err(error),
    };
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    // There is no other place to report that stderr is closed.
    writeln!(io::stderr(), "{error:#}").ok();
    ExitCode::FAILURE
}

async fn soak(settings: Settings) -> Result<()> {
    let Settings { length, machines, seed } = settings;
    say(&format!("{machines} machines for {length:?}, seed {seed}"))?;
    let mut fleet = Fleet::start(machines).await?;
    fleet.scale(machines).await?;
    fleet.until_settled(machines).await.context("before anything went wrong")?;
    let (start, mut troubles) = (Instant::now(), Troubles::new(seed, machines));
    let (mut memory, mut next_line) = (Memory::default(), start);
    while start.elapsed() < length {
        troubles.next(&mut fleet).await?;
        memory.note(start.elapsed(), fleet.resident_kib()?);
        fleet.no_machine_has_two_instances()?;
        if Instant::now() >= next_line {
            say(&line(start, &fleet, &troubles, &memory))?;
            next_line += BETWEEN_LINES;
        }
    }
    Troubles::end(&fleet);
    for size in [machines, 0] {
        fleet.scale(size).await?;
        fleet.until_settled(size).await.with_context(|| format!("in the end, seed {seed}"))?;
    }
    fleet.no_machine_has_two_instances()?;
    say(&line(start, &fleet, &troubles, &memory))?;
    say(&format!("counts are exact: {machines}, then 0; {}", fleet.lease_changes().await?))?;
    let quarters = memory.quarters(length);
    say(&quarters.to_string())?;
    if length < SHORTEST {
        return say("too short to judge memory");
    }
    if !quarters.is_flat() {
        bail!("memory is not flat: {quarters}");
    }
    Ok(())
}

fn line(start: Instant, fleet: &Fleet, troubles: &Troubles, memory: &Memory) -> String {
    let (seconds, instances) = (start.elapsed().as_secs(), fleet.instances_ever_made());
    format!("{seconds:>5} s: {instances} instances made, {troubles}; {memory}")
}

fn say(text: &str) -> Result<()> {
    writeln!(io::stdout(), "{text}").context("stdout")
}
