//! Verbs and flags. Parsing only: what they mean is said where they are used.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use machinist_controllers::platform::rule::Choice;

use crate::annotator::{AnnotationArguments, AnnotatorArguments, Source};
use crate::verbs::recycle::arguments::RecycleArguments;

/// Runs the machines of a Kubernetes cluster.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How to log.
    #[command(flatten)]
    pub logging: Logging,
}

/// How to log.
#[derive(Debug, Clone, Copy, Args)]
pub struct Logging {
    /// How log lines look; what is logged is chosen by $RUST_LOG.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run controllers in a cluster.
    Run(Box<RunArguments>),
    /// Try it: a real Kubernetes API on this machine with sample objects, until Ctrl-C.
    #[cfg(feature = "playground")]
    Playground(PlaygroundArguments),
    /// Scale-from-zero annotations for MachineSet manifests, without a cluster or credentials.
    Annotate(AnnotateArguments),
    /// List instance types, or show some.
    Catalogue(CatalogueArguments),
    /// Search Events, map them to node groups, and recycle these.
    Recycle(RecycleArguments),
    /// On a spot node: turn the cloud's interruption notices into conditions of the Node, until SIGTERM.
    TerminationHandler(TerminationHandlerArguments),
    /// Print the CustomResourceDefinitions for a cluster that has none.
    Crds,
    /// Print the version.
    Version,
}

/// Flags of `machinist run`.
#[derive(Debug, Clone, Args)]
pub struct RunArguments {
    /// Controllers to run, joined by commas, or "all".
    #[arg(long, value_delimiter = ',', default_value = "annotator", value_name = "NAMES")]
    pub controllers: Vec<String>,
    /// Look at one namespace only.
    #[arg(long, short, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Where to serve /metrics; "0" turns it off.
    #[arg(long, default_value = ":8080", value_name = "ADDRESS")]
    pub metrics_bind_address: String,
    /// Where to serve /healthz and /readyz; "0" turns it off.
    #[arg(long, default_value = ":9440", value_name = "ADDRESS")]
    pub health_addr: String,
    /// Write only while holding a lease. By default each controller says whether it needs one; the annotator does not.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub leader_elect: Option<bool>,
    /// Namespace of the leases; by default the one that the kubeconfig or the pod names, and of the recycler's kube-system.
    #[arg(long, value_name = "NAMESPACE")]
    pub leader_elect_resource_namespace: Option<String>,
    /// How long a lease lasts without being renewed; by default 120s, and the recycler's 15s.
    #[arg(long, value_parser = lease_duration, value_name = "DURATION")]
    pub leader_elect_lease_duration: Option<Duration>,
    /// Take the leases from whoever holds them, once, at the start. Nothing is written before the former holder must have noticed.
    #[arg(long)]
    pub take_over: bool,
    /// Cluster with the objects: a path or "in-cluster". Without it and --target-kubeconfig: one cluster, found as kubectl finds it.
    #[arg(long, value_name = "PATH")]
    pub control_kubeconfig: Option<String>,
    /// Cluster with the nodes: a path, "in-cluster" or "none".
    #[arg(long, value_name = "PATH")]
    pub target_kubeconfig: Option<String>,
    /// How often everything is listed again and compared; a little earlier by chance, never later.
    #[arg(long, default_value = "10m", value_parser = sync_period, value_name = "DURATION")]
    pub sync_period: Duration,
    /// How many objects a controller works on at once.
    #[arg(long, value_parser = workers, value_name = "CONTROLLER=N")]
    pub workers: Vec<(String, usize)>,
    /// Write nothing at all; plans are logged.
    #[arg(long)]
    pub dry_run: bool,
    /// Flags of the annotator.
    #[command(flatten)]
    pub annotator: AnnotatorArguments,
    /// Flags of the controllers of machines.
    #[command(flatten)]
    pub machines: MachineArguments,
    /// Multiplies backoffs, graces and timeouts, but neither the lease nor the sync period. For tests.
    #[arg(long, default_value_t = 1.0, hide = true)]
    pub time_scale: f64,
}

/// Flags of the controllers of machines.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Machines")]
pub struct MachineArguments {
    /// What the cluster is called in the tags of its instances; it must never change. OpenShift's own name for the cluster wins, and
    /// without either it is the uid of the namespace kube-system.
    #[arg(long, value_name = "NAME")]
    pub cluster_id: Option<String>,
    /// Whose machines to look after: the name of a provider (aws, sim), "none", or "auto": that of the platform which OpenShift says the
    /// cluster runs on, and where nobody says, those that Machines name.
    #[arg(long, default_value = "auto", value_name = "NAME")]
    pub platform: String,
}

/// Names of platforms that are always understood, whichever providers the binary has.
const PLATFORMS: [&str; 2] = ["aws", "sim"];

impl MachineArguments {
    /// Whose machines to look after, where these providers are there.
    pub fn platform(&self, providers: &[&'static str]) -> Result<Choice, String> {
        match self.platform.as_str() {
            "auto" => Ok(Choice::Auto),
            "none" => Ok(Choice::Nobody),
            name if providers.contains(&name) || PLATFORMS.contains(&name) => {
                Ok(Choice::Only(name.into()))
            }
            name => {
                let known = [&["auto", "none"], &PLATFORMS[..], providers].concat();
                let known: BTreeSet<_> = known.into_iter().collect();
                let known: Vec<_> = known.into_iter().collect();
                Err(format!("--platform: there is no {name:?}; there are: {}", known.join(", ")))
            }
        }
    }
}

/// Flags of `machinist annotate`.
#[derive(Debug, Clone, Args)]
pub struct AnnotateArguments {
    /// Manifests: a file of YAML or JSON, a folder of such, or "-" for stdin. May be said several times.
    #[arg(long, short, required = true, value_name = "FILE")]
    pub filename: Vec<PathBuf>,
    /// How to print; by default as each document was written.
    #[arg(long, short, value_enum, value_name = "FORMAT")]
    pub output: Option<ManifestFormat>,
    /// What to write.
    #[command(flatten)]
    pub annotations: AnnotationArguments,
    /// Replace capacity annotations that somebody set by hand.
    #[arg(long)]
    pub overwrite: bool,
    /// Who is asked what a machine gives.
    #[arg(long, value_enum, default_value_t = Source::Catalogue, value_name = "SOURCE")]
    pub source: Source,
}

/// How manifests are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ManifestFormat {
    /// A stream of documents; comments and order are kept where the input was YAML.
    Yaml,
    /// One value after the other.
    Json,
}

/// Flags of `machinist catalogue`.
#[derive(Debug, Clone, Args)]
pub struct CatalogueArguments {
    /// Names of instance types; "*" stands for anything, "?" for one letter. All of them, if nothing is said.
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<String>,
    /// How to print.
    #[arg(long, short, value_enum, default_value_t = ListFormat::Table, value_name = "FORMAT")]
    pub output: ListFormat,
    /// Ask EC2 for its types and print the file that the catalogue is built from. For `make catalogue`.
    #[cfg(feature = "aws")]
    #[arg(long, hide = true, exclusive = true)]
    pub generate: bool,
}

/// How lists are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// For people.
    Table,
    /// For people with broad screens.
    Wide,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
}

/// Flags of `machinist termination-handler`.
#[derive(Debug, Clone, Args)]
pub struct TerminationHandlerArguments {
    /// The Node that this runs on.
    #[arg(long, env = "NODE_NAME", value_parser = NonEmptyStringValueParser::new(), value_name = "NAME")]
    pub node_name: String,
    /// Where the instance metadata service (version 2) is.
    #[arg(long, default_value = "http://169.254.169.254", value_parser = imds_endpoint, value_name = "URL")]
    pub imds_endpoint: String,
    /// How often it is asked.
    #[arg(long, default_value = "5s", value_parser = poll_interval, value_name = "DURATION")]
    pub poll_interval: Duration,
}

/// Flags of `machinist playground`.
#[cfg(feature = "playground")]
#[derive(Debug, Clone, Copy, Args)]
pub struct PlaygroundArguments {
    /// Bring everything up, prove that it works, tear it down, and exit with 0.
    #[arg(long)]
    pub once: bool,
    /// How many machines the fleet on the simulated cloud has.
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub machines: u32,
    /// How the simulated cloud fails.
    #[arg(long, value_enum, value_name = "MODE")]
    pub fail: Option<FailMode>,
}

/// How the simulated cloud fails.
#[cfg(feature = "playground")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailMode {
    /// Instances are made, but never boot.
    NeverBoots,
    /// Instances vanish some time after they have booted.
    Dies,
    /// There is no room for any instance.
    NoCapacity,
    /// The cloud takes only two calls a second.
    Throttled,
    /// Half of the answers are lost, although what was asked for is done.
    LostAnswers,
    /// Answers come late, and what was made is not shown at once.
    Slow,
}

#[cfg(feature = "playground")]
impl FailMode {
    /// Whether machines run in the end all the same.
    pub fn ends_well(self) -> bool {
        matches!(self, Self::Throttled | Self::LostAnswers | Self::Slow)
    }
}

/// A Lease says in whole seconds how long it lasts.
const SHORTEST_LEASE: Duration = Duration::from_secs(1);

/// Everything is listed that often.
const SHORTEST_SYNC_PERIOD: Duration = Duration::from_millis(100);

/// More often than that, asking would be all that a node does.
const SHORTEST_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Less often than that, notices would come too late: they are given two minutes ahead.
const LONGEST_POLL_INTERVAL: Duration = Duration::from_secs(60);

fn lease_duration(text: &str) -> Result<Duration, String> {
    duration(text, SHORTEST_LEASE)
}

fn sync_period(text: &str) -> Result<Duration, String> {
    duration(text, SHORTEST_SYNC_PERIOD)
}

fn poll_interval(text: &str) -> Result<Duration, String> {
    match duration(text, SHORTEST_POLL_INTERVAL)? {
        long if long > LONGEST_POLL_INTERVAL => {
            Err(format!("must be {LONGEST_POLL_INTERVAL:?} at most"))
        }
        interval => Ok(interval),
    }
}

/// `http://HOST[:PORT]`: the service speaks nothing else, and its paths begin at the root.
fn imds_endpoint(text: &str) -> Result<String, String> {
    let uri: http::Uri = text.parse().map_err(|error| format!("{error}"))?;
    let is_bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
    match uri.authority() {
        Some(authority) if uri.scheme_str() == Some("http") && is_bare => {
            Ok(format!("http://{authority}"))
        }
        _ => Err("must be http://HOST[:PORT]".to_owned()),
    }
}

/// A duration as Go writes it: `120s`, `10m`, `1h30m`, `500ms`.
pub(crate) fn duration(text: &str, shortest: Duration) -> Result<Duration, String> {
    let signed: jiff::SignedDuration = text.parse().map_err(|error| format!("{error}"))?;
    let duration = Duration::try_from(signed).map_err(|_| "must not be negative".to_owned())?;
    if duration < shortest { Err(format!("must be {shortest:?} at least")) } else { Ok(duration) }
}

fn workers(text: &str) -> Result<(String, usize), String> {
    let (controller, count) = text.split_once('=').ok_or("must be CONTROLLER=N")?;
    match count.parse() {
        Ok(count) if count > 0 => Ok((controller.to_owned(), count)),
        _ => Err(format!("{count:?} is not a number of workers")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_go_writes_them_and_none_that_is_nonsense() {
        for (text, milliseconds) in
            [("120s", 120_000), ("10m", 600_000), ("1h30m", 5_400_000), ("500ms", 500)]
        {
            assert_eq!(sync_period(text).unwrap().as_millis(), milliseconds, "{text}");
        }
        for text in ["", "5", "-3s", "0s", "1ms", "soon"] {
            assert!(sync_period(text).is_err(), "{text}");
        }
        assert!(lease_duration("1s").is_ok() && lease_duration("999ms").is_err());
    }

    #[test]
    fn an_endpoint_of_the_metadata_service_is_a_host_and_nothing_else() {
        for (text, endpoint) in [
            ("http://169.254.169.254", "http://169.254.169.254"),
            ("http://[fd00:ec2::254]/", "http://[fd00:ec2::254]"),
            ("http://127.0.0.1:1338", "http://127.0.0.1:1338"),
        ] {
            assert_eq!(imds_endpoint(text).as_deref(), Ok(endpoint));
        }
        for text in
            ["", "169.254.169.254", "/x", "https://h", "http://h/x", "http://h/?x", "http://"]
        {
            assert!(imds_endpoint(text).is_err(), "{text}");
        }
        assert!(poll_interval("5s").is_ok());
        assert!(poll_interval("10ms").is_err() && poll_interval("2m").is_err());
    }

    #[test]
    fn a_platform_is_a_provider_or_none() {
        let choice = |platform: &str| {
            let flags = MachineArguments { cluster_id: None, platform: platform.to_owned() };
            flags.platform(&["example"])
        };
        assert_eq!(choice("auto"), Ok(Choice::Auto));
        assert_eq!(choice("none"), Ok(Choice::Nobody));
        for name in ["aws", "sim", "example"] {
            assert_eq!(choice(name), Ok(Choice::Only(name.into())));
        }
        let refused = choice("asw").unwrap_err();
        assert!(refused.ends_with("there are: auto, aws, example, none, sim"), "{refused}");
    }

    #[test]
    fn leader_election_is_said_or_left_to_the_controllers() {
        let parse = |arguments: &[&str]| {
            let cli = Cli::try_parse_from([&["machinist", "run"], arguments].concat()).unwrap();
            match cli.command {
                Command::Run(arguments) => *arguments,
                _ => panic!("not run"),
            }
        };
        assert_eq!(parse(&[]).leader_elect, None);
        assert_eq!(parse(&["--leader-elect"]).leader_elect, Some(true));
        assert_eq!(parse(&["--leader-elect=false"]).leader_elect, Some(false));
        assert_eq!(parse(&["--workers", "annotator=3"]).workers, [("annotator".to_owned(), 3)]);
    }
}
