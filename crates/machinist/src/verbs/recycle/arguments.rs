//! Flags of `machinist recycle`. Parsing only.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

use crate::cli::duration;
pub use crate::verbs::output::Format;

/// Flags of `machinist recycle`.
#[derive(Debug, Clone, Args)]
pub struct RecycleArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: RecycleCommand,
    /// Path of the kubeconfig file; by default it is resolved as kubectl does.
    #[arg(long, short, global = true, env = "KAWS_KUBECONFIG", value_name = "PATH")]
    pub kubeconfig: Option<String>,
    /// Path of kaws's config file (kubeconfig, namespace, verbose). Default: ~/.kaws.yaml, else ./.kaws.yaml, if there.
    #[arg(long, global = true, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// Log what is done, also set by KAWS_VERBOSE=true. RUST_LOG has precedence.
    #[arg(long, short, global = true)]
    pub verbose: bool,
    /// The AWS region; by default $AWS_REGION, $AWS_DEFAULT_REGION, or the region of the Nodes.
    #[arg(long, short, global = true, value_name = "REGION")]
    pub region: Option<String>,
}

/// A command line of a test.
#[cfg(test)]
#[derive(Debug, clap::Parser)]
pub(super) struct Line {
    #[command(flatten)]
    pub(super) recycle: RecycleArguments,
}

/// What to do about node groups.
#[derive(Debug, Clone, Subcommand)]
pub enum RecycleCommand {
    /// Find Events by their message, with the Nodes that they happened on. Exit 1 if there are none.
    Search(SearchArguments),
    /// Show which node groups instances belong to. Exit 1 if one of them is unknown.
    Groups(GroupsArguments),
    /// Replace every instance of node groups, one group after the other. After an interruption, the same command
    /// resumes.
    Run(RunArguments),
    /// Watch Events and recycle the node groups behind them, without an EventRecycler in the cluster, until Ctrl-C.
    Watch(WatchArguments),
}

/// Flags of `machinist recycle search`.
#[derive(Debug, Clone, Args)]
pub struct SearchArguments {
    /// Show Events whose message has this text in it. Can be repeated; one match is enough.
    #[arg(long, short, required = true, value_parser = NonEmptyStringValueParser::new(), value_name = "TERM")]
    pub search: Vec<String>,
    /// Only this namespace.
    #[arg(long, short, env = "KAWS_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Show the instance of each Node.
    #[arg(long)]
    pub show_instance_id: bool,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub output: Format,
}

/// Flags of `machinist recycle groups`.
#[derive(Debug, Clone, Args)]
pub struct GroupsArguments {
    /// Instances, as i-0123456789abcdef0; "-" reads them from stdin.
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    /// Show instances of this cluster only.
    #[arg(long, short, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub output: Format,
}

/// Flags of `machinist recycle run`.
#[derive(Debug, Clone, Args)]
pub struct RunArguments {
    /// Auto Scaling groups, by name.
    #[arg(required = true, value_name = "GROUP")]
    pub groups: Vec<String>,
    /// How to do it.
    #[command(flatten)]
    pub how: How,
    /// Use AWS alone: nodes are neither drained nor waited for. Needs a region.
    #[arg(long, conflicts_with = "drain_timeout")]
    pub no_cluster: bool,
    /// Print what would be done, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    pub yes: bool,
    /// Output format of the results. Progress goes to stderr.
    #[arg(long, short, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub output: Format,
}

/// How a group is recycled.
#[derive(Debug, Clone, Copy, Args)]
pub struct How {
    /// How instances are replaced.
    #[arg(long, value_enum, default_value_t = StrategyName::Replace, value_name = "STRATEGY")]
    pub strategy: StrategyName,
    /// The time between two descriptions of a group.
    #[arg(long, short, default_value = "15s", value_parser = some_time, value_name = "DURATION")]
    pub poll_interval: Duration,
    /// How long a step may take before the recycle is abandoned and the group gets its original sizes back.
    #[arg(long, default_value = "20m", value_parser = some_time, value_name = "DURATION")]
    pub timeout: Duration,
    /// How long the drain of one Node may take; by default as long as a step.
    #[arg(long, value_parser = some_time, value_name = "DURATION")]
    pub drain_timeout: Option<Duration>,
    /// Terminate instances without draining their Nodes.
    #[arg(long)]
    pub no_drain: bool,
    /// How many instances may be unavailable at once.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub max_unavailable: u32,
}

/// Flags of `machinist recycle watch`.
#[derive(Debug, Clone, Args)]
pub struct WatchArguments {
    /// Count Events whose message has this text in it. Can be repeated or comma-separated.
    #[arg(
        long,
        short,
        value_delimiter = ',',
        default_value = "failed to get sandbox image",
        value_name = "TERM"
    )]
    pub search: Vec<String>,
    /// How many of what --count-by names, within the window, have a node group recycled.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub threshold: u32,
    /// What is counted.
    #[arg(long, value_enum, default_value_t = CountByName::Nodes, value_name = "WHAT")]
    pub count_by: CountByName,
    /// How often one pod or node counts within the window, with --count-by=events.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000), value_name = "N")]
    pub max_per_object: u32,
    /// Count only Events that this component claims to report, such as kubelet. Can be repeated.
    #[arg(long, value_parser = NonEmptyStringValueParser::new(), value_name = "COMPONENT")]
    pub reporter: Vec<String>,
    /// Count an Event about a pod that does not exist for the host that the Event names.
    #[arg(long)]
    pub trust_event_host: bool,
    /// How long occurrences count.
    #[arg(long, default_value = "10m", value_parser = some_time, value_name = "DURATION")]
    pub window: Duration,
    /// The time between two evaluations.
    #[arg(long, default_value = "60s", value_parser = some_time, value_name = "DURATION")]
    pub watch_interval: Duration,
    /// The time after a recycle in which the group is not recycled again.
    #[arg(long, default_value = "1h", value_parser = some_time, value_name = "DURATION")]
    pub cool_down: Duration,
    /// Only this namespace.
    #[arg(long, short, env = "KAWS_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// How to recycle.
    #[command(flatten)]
    pub how: How,
    /// Print what would be recycled, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    pub yes: bool,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CountByName {
    /// Every occurrence of every Event.
    Events,
    /// Different pods.
    Pods,
    /// Different nodes.
    Nodes,
}

/// How instances are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StrategyName {
    /// One after the other: drain, terminate, wait for the new Node.
    Replace,
    /// AWS does it, by an instance refresh.
    InstanceRefresh,
    /// The whole group to zero and back, as kaws does.
    ScaleToZero,
}

const SHORTEST: Duration = Duration::from_millis(10);

fn some_time(text: &str) -> Result<Duration, String> {
    duration(text, SHORTEST)
}
