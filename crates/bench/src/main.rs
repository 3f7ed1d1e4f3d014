//! `make bench`: ratios against a limit that is measured in the same run, one JSON file per benchmark. A missed target
//! is no failure without `--enforce`: a busy machine must not break a build.

mod allocations;
mod annotator;
mod audit_window;
mod aws;
mod bed;
mod cpu;
mod fleet;
mod machines;
mod machinist;
mod manifests;
mod memory;
mod raw;
mod recycler;
mod report;
mod statistics;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, ValueEnum};

/// Measures machinist against a real API server on this machine.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    /// What to measure; without any, everything.
    #[arg(value_enum)]
    benchmarks: Vec<Benchmark>,
    #[command(flatten)]
    options: Options,
    /// End with 1 when a target is missed.
    #[arg(long)]
    enforce: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Benchmark {
    /// Annotating MachineSets.
    Annotator,
    /// Machines from nothing to Running and back.
    Machines,
    /// MachineDeployments: creation, rollout, rest.
    Deployment,
    /// Machines on EC2 from nothing to Provisioned.
    Aws,
    /// Events, from their arrival to a decision.
    Recycler,
}

/// How to measure. The defaults are what figures are quoted with.
#[derive(Debug, Clone, Args)]
struct Options {
    /// How many machines; what is measured once is measured with the first of these. Each must be a multiple of the
    /// first.
    #[arg(long, value_delimiter = ',', default_value = "500,5000")]
    machines: Vec<usize>,
    /// How many machines on EC2; the targets are for 500.
    #[arg(long, value_delimiter = ',', default_value = "50,500")]
    launches: Vec<usize>,
    /// How many Events; latency, polling and rest are measured with the first of these.
    #[arg(long, value_delimiter = ',', default_value = "10000,100000")]
    events: Vec<usize>,
    /// How many MachineSets to annotate; what is measured once is measured with the first of these.
    #[arg(long, value_delimiter = ',', default_value = "1000,10000")]
    objects: Vec<usize>,
    /// How many runs of ours are compared, each between two of the bare client. Sizes after the first get one less.
    /// With 0 nothing is compared, and only memory and calls of one run are measured.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// How long after the last write memory is read.
    #[arg(long, default_value_t = 10)]
    settle_seconds: u64,
    /// How long requests of the settled program are counted; it begins 30 s after the last write.
    #[arg(long, default_value_t = 60)]
    idle_seconds: u64,
    /// The program; by default the one beside this one.
    #[arg(long, value_name = "PATH")]
    machinist: Option<PathBuf>,
    /// One more flag for `machinist run`, such as --flag=--workers=annotator=8. Can be repeated.
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    flags: Vec<String>,
    /// One more variable for its environment, such as --env=MIMALLOC_PURGE_DELAY=10. Can be repeated.
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    environment: Vec<(String, String)>,
}

fn variable(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("must be NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Options {
    fn settle(&self) -> Duration {
        Duration::from_secs(self.settle_seconds)
    }

    fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds)
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let benchmarks = if cli.benchmarks.is_empty() {
        Benchmark::value_variants().to_vec()
    } else {
        cli.benchmarks
    };
    let mut met = true;
    for benchmark in benchmarks {
        let report = match benchmark {
            Benchmark::Annotator => annotator::run(&cli.options).await?,
            Benchmark::Machines => machines::run(&cli.options).await?,
            Benchmark::Deployment => machines::run_deployment(&cli.options).await?,
            Benchmark::Aws => aws::run(&cli.options).await?,
            Benchmark::Recycler => recycler::run(&cli.options).await?,
        };
        let path = report.write(&bed::output_folder()?)?;
        println!("{}\nwritten to {}", report.table(), path.display());
        met &= report.is_met();
    }
    Ok(if cli.enforce && !met { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
