//! Verbs and flags. Parsing only. `make fmt` generates `docs/reference/cli.md` from this file.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use machinist_controllers::DECLARATIONS;
use machinist_controllers::drain::Timeout;
use machinist_controllers::platform::rule::Choice;
use machinist_runtime::manager::SecureMetrics;

use crate::annotator::{AnnotationArguments, AnnotatorArguments, Source};
use crate::messages;
use crate::safety::SafetyArguments;
use crate::verbs::orphans::arguments::OrphanArguments;
#[cfg(feature = "playground")]
use crate::verbs::playground;
use crate::verbs::recycle::arguments::RecycleArguments;
use crate::verbs::rollout::arguments::RolloutArguments;
use crate::verbs::run::messages::{NEEDS_METRICS_SECURE, unknown_platform};

/// Manages the machines of a Kubernetes cluster.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) logging: Logging,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Logging {
    /// Format of log lines. $RUST_LOG selects what is logged.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Plain text.
    Text,
    /// One JSON object per line.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run controllers in a cluster.
    Run(Box<RunArguments>),
    /// Run a Kubernetes API and a simulated cloud on this machine, with sample objects, until Ctrl-C.
    #[cfg(feature = "playground")]
    Playground(PlaygroundArguments),
    /// Add scale-from-zero annotations to manifests of MachineSets and MachineDeployments, by default without a cluster
    /// or credentials.
    Annotate(AnnotateArguments),
    /// Convert manifests of machine-controller-manager, without a cluster or credentials.
    Convert(ConvertArguments),
    /// List instance types.
    Catalogue(CatalogueArguments),
    /// Search Events, map them to node groups, and recycle the groups.
    Recycle(Box<RecycleArguments>),
    /// Manage the rollout of a MachineDeployment: state, history, undo, pause, resume, restart.
    Rollout(Box<RolloutArguments>),
    /// List the instances of the cluster that no Machine needs, and why each may (not) be deleted; --delete deletes.
    Orphans(Box<OrphanArguments>),
    /// Run on a spot node: report interruption notices of EC2 as conditions of the Node, until SIGTERM.
    TerminationHandler(TerminationHandlerArguments),
    /// Print the CustomResourceDefinitions, for clusters other than OpenShift.
    Crds,
    /// Print version, commit, features and providers of this binary.
    Version(VersionArguments),
}

/// Flags of `machinist run`.
#[derive(Debug, Clone, Args)]
pub struct RunArguments {
    #[arg(long, help = controllers_help(), value_delimiter = ',', default_value = "annotator", value_name = "NAMES")]
    pub(crate) controllers: Vec<String>,
    /// Watch only this namespace.
    #[arg(long, short, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Address of /metrics; "0" disables it.
    #[arg(long, default_value = ":8080", value_name = "ADDRESS")]
    pub(crate) metrics_bind_address: String,
    /// Serve /metrics over TLS, to bearer tokens whose user may get the nonResourceURL /metrics.
    #[arg(
        long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true,
        action = clap::ArgAction::Set, value_name = "BOOL"
    )]
    pub(crate) metrics_secure: bool,
    /// Folder with tls.crt and tls.key for --metrics-secure, which are reloaded when they change. Default: a
    /// self-signed certificate.
    #[arg(long, value_name = "DIR")]
    pub(crate) metrics_cert_dir: Option<PathBuf>,
    /// Address of /healthz and /readyz; "0" disables them.
    #[arg(long, default_value = ":9440", value_name = "ADDRESS")]
    pub(crate) health_addr: String,
    /// Write only while holding a Lease. Default: true, except for the annotator.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub(crate) leader_elect: Option<bool>,
    /// Namespace of the Leases. Default: the namespace of the kubeconfig or the pod; kube-system for the recycler.
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) leader_elect_resource_namespace: Option<String>,
    /// Duration of a Lease without renewal. Default: 120s; 15s for the recycler.
    #[arg(long, value_parser = lease_duration, value_name = "DURATION")]
    pub(crate) leader_elect_lease_duration: Option<Duration>,
    /// Take the Leases from their holders once, at the start. Writes begin when the former holder must have stopped.
    #[arg(long)]
    pub(crate) take_over: bool,
    /// Kubeconfig of the cluster with the objects, or "in-cluster". Default: one cluster, selected as kubectl does.
    #[arg(long, value_name = "PATH")]
    pub(crate) control_kubeconfig: Option<String>,
    /// Kubeconfig of the cluster with the Nodes, "in-cluster" or "none". Required with --control-kubeconfig, and only
    /// then.
    #[arg(long, value_name = "PATH")]
    pub(crate) target_kubeconfig: Option<String>,
    /// Interval at which every watched kind is listed again (resync), with jitter.
    #[arg(long, default_value = "10m", value_parser = sync_period, value_name = "DURATION")]
    pub(crate) sync_period: Duration,
    /// Number of objects that a controller reconciles concurrently. Can be repeated.
    #[arg(long, value_parser = workers, value_name = "CONTROLLER=N")]
    pub(crate) workers: Vec<(String, usize)>,
    /// Write nothing; plans are logged.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) annotator: AnnotatorArguments,
    #[command(flatten)]
    pub(crate) machines: MachineArguments,
    #[command(flatten)]
    pub(crate) safety: SafetyArguments,
    /// Factor for backoffs, grace periods and timeouts, except lease and sync period. For tests.
    #[arg(long, default_value_t = 1.0, hide = true)]
    pub(crate) time_scale: f64,
}

impl RunArguments {
    /// Parses flags.
    pub fn parse(flags: &[&str]) -> Result<Self, clap::Error> {
        let command = Self::augment_args(clap::Command::new("run").no_binary_name(true));
        Self::from_arg_matches(&command.try_get_matches_from(flags)?)
    }

    /// The values of `--metrics-secure` and `--metrics-cert-dir`.
    pub(crate) fn secure_metrics(&self) -> Result<Option<SecureMetrics>, String> {
        match (self.metrics_secure, self.metrics_cert_dir.clone()) {
            (false, Some(_)) => Err(NEEDS_METRICS_SECURE.to_owned()),
            (false, None) => Ok(None),
            (true, certificate) => Ok(Some(SecureMetrics { certificate })),
        }
    }
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Machines")]
pub(crate) struct MachineArguments {
    /// Name of the cluster in the tags of its instances; it must never change. OpenShift's infrastructure name takes
    /// precedence. Default: the uid of the namespace kube-system.
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster_id: Option<String>,
    /// Provider whose Machines are managed: a name (aws, sim), "none", or "auto": the platform in OpenShift's
    /// Infrastructure, otherwise every provider.
    #[arg(long, default_value = "auto", value_name = "NAME")]
    pub(crate) platform: String,
    /// How long a drain may take before its pods are deleted regardless of PodDisruptionBudgets; "never" or 0: never.
    /// The annotation machinist.dev/drain-timeout of a Machine takes precedence.
    #[arg(long, default_value = "never", value_parser = drain_timeout, value_name = "DURATION")]
    pub(crate) drain_timeout: Timeout,
}

/// Valid without the provider, too, so that one manifest fits every binary.
const PLATFORMS: [&str; 2] = ["aws", "sim"];

impl MachineArguments {
    /// The value of `--platform` for a binary with these providers.
    pub(crate) fn platform(&self, providers: &[&'static str]) -> Result<Choice, String> {
        match self.platform.as_str() {
            "auto" => Ok(Choice::Auto),
            "none" => Ok(Choice::NoProvider),
            name if providers.contains(&name) || PLATFORMS.contains(&name) => {
                Ok(Choice::Only(name.into()))
            }
            name => {
                let known = [&["auto", "none"], &PLATFORMS[..], providers].concat();
                let known: BTreeSet<_> = known.into_iter().collect();
                let known: Vec<_> = known.into_iter().collect();
                Err(unknown_platform(name, &known))
            }
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct AnnotateArguments {
    /// YAML or JSON file, folder of such files, or "-" for stdin. Can be repeated.
    #[arg(long, short, required = true, value_name = "FILE")]
    pub(crate) filename: Vec<PathBuf>,
    /// Output format. Default: the format of each document.
    #[arg(long, short, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<ManifestFormat>,
    #[command(flatten)]
    pub(crate) annotations: AnnotationArguments,
    /// Replace `capacity.cluster-autoscaler.kubernetes.io/` annotations that were set by hand.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Source of the capacity of instance types.
    #[arg(long, value_enum, default_value_t = Source::Catalogue, value_name = "SOURCE")]
    pub(crate) source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManifestFormat {
    /// A stream of documents; comments and order of YAML input are kept.
    Yaml,
    /// A stream of JSON values.
    Json,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ConvertArguments {
    /// YAML or JSON file, folder of such files, or "-" for stdin. Can be repeated. Classes and Secrets are found in all
    /// of them.
    #[arg(long, short, required = true, value_name = "FILE")]
    pub(crate) filename: Vec<PathBuf>,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = ManifestFormat::Yaml, value_name = "FORMAT")]
    pub(crate) output: ManifestFormat,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CatalogueArguments {
    /// Instance types to show, with wildcards "*" and "?". Default: all.
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = ListFormat::Table, value_name = "FORMAT")]
    pub(crate) output: ListFormat,
    /// Print the catalogue's source file from EC2's list of types. For `make catalogue`.
    #[cfg(feature = "aws")]
    #[arg(long, hide = true, exclusive = true)]
    pub(crate) generate: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// A table.
    Table,
    /// A table with more columns.
    Wide,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct TerminationHandlerArguments {
    /// Name of the Node that the process runs on.
    #[arg(long, env = "NODE_NAME", value_parser = NonEmptyStringValueParser::new(), value_name = "NAME")]
    pub(crate) node_name: String,
    /// URL of the instance metadata service (IMDSv2).
    #[arg(long, default_value = "http://169.254.169.254", value_parser = imds_endpoint, value_name = "URL")]
    pub(crate) imds_endpoint: String,
    /// Interval between requests to it.
    #[arg(long, default_value = "5s", value_parser = poll_interval, value_name = "DURATION")]
    pub(crate) poll_interval: Duration,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct VersionArguments {
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = VersionFormat::Text, value_name = "FORMAT")]
    pub(crate) output: VersionFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VersionFormat {
    /// Lines of text.
    Text,
    /// JSON.
    Json,
}

#[cfg(feature = "playground")]
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PlaygroundArguments {
    /// Start everything, prove that it works, stop everything, and exit.
    #[arg(long)]
    pub(crate) once: bool,
    /// Number of Machines in the MachineDeployment `fleet`.
    #[arg(long, default_value_t = 3, value_parser = playground::machines, value_name = "N")]
    pub(crate) machines: u32,
    /// Failure mode of the simulated cloud.
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) fail: Option<FailMode>,
}

#[cfg(feature = "playground")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailMode {
    /// Instances are created, but never boot.
    NeverBoots,
    /// Instances terminate some time after boot; a health check has their Machines replaced.
    Dies,
    /// Launches fail for lack of capacity.
    NoCapacity,
    /// The cloud accepts two calls per second.
    Throttled,
    /// Half of the responses are lost, although the calls succeed.
    LostAnswers,
    /// Responses are late, and new instances are listed with a delay.
    Slow,
}

#[cfg(feature = "playground")]
impl FailMode {
    /// Whether machines become ready in the end.
    pub(crate) fn ends_well(self) -> bool {
        matches!(self, Self::Dies | Self::Throttled | Self::LostAnswers | Self::Slow)
    }
}

/// A Lease has its duration in whole seconds.
const SHORTEST_LEASE: Duration = Duration::from_secs(1);

const SHORTEST_SYNC_PERIOD: Duration = Duration::from_millis(100);

const SHORTEST_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// EC2 gives notice two minutes ahead.
const LONGEST_POLL_INTERVAL: Duration = Duration::from_secs(60);

fn controllers_help() -> String {
    let names: Vec<_> = DECLARATIONS.iter().map(|controller| controller.name).collect();
    format!("Controllers to run, separated by commas, or \"all\": {}", names.join(", "))
}

fn lease_duration(text: &str) -> Result<Duration, String> {
    duration(text, SHORTEST_LEASE)
}

fn sync_period(text: &str) -> Result<Duration, String> {
    duration(text, SHORTEST_SYNC_PERIOD)
}

fn poll_interval(text: &str) -> Result<Duration, String> {
    match duration(text, SHORTEST_POLL_INTERVAL)? {
        long if long > LONGEST_POLL_INTERVAL => Err(messages::too_long(LONGEST_POLL_INTERVAL)),
        interval => Ok(interval),
    }
}

fn imds_endpoint(text: &str) -> Result<String, String> {
    let uri: http::Uri = text.parse().map_err(|error| format!("{error}"))?;
    let is_bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
    match uri.authority() {
        Some(authority) if uri.scheme_str() == Some("http") && is_bare => {
            Ok(format!("http://{authority}"))
        }
        _ => Err(messages::NOT_AN_ENDPOINT.to_owned()),
    }
}

/// A duration in Go's format: `120s`, `10m`, `1h30m`, `500ms`.
pub(crate) fn duration(text: &str, shortest: Duration) -> Result<Duration, String> {
    let signed: Result<jiff::SignedDuration, _> = text.parse();
    let signed = signed.map_err(|_| messages::NOT_A_DURATION)?;
    let duration = Duration::try_from(signed).map_err(|_| messages::NEGATIVE.to_owned())?;
    if duration < shortest { Err(messages::too_short(shortest)) } else { Ok(duration) }
}

fn drain_timeout(text: &str) -> Result<Timeout, String> {
    Timeout::read(text).ok_or_else(|| messages::NOT_A_DRAIN_TIMEOUT.to_owned())
}

fn workers(text: &str) -> Result<(String, usize), String> {
    let (controller, count) = text.split_once('=').ok_or(messages::NOT_WORKERS)?;
    match count.parse() {
        Ok(count) if count > 0 => Ok((controller.to_owned(), count)),
        _ => Err(messages::worker_count(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_durations_in_the_format_of_go() {
        for (text, milliseconds) in
            [("120s", 120_000), ("10m", 600_000), ("1h30m", 5_400_000), ("500ms", 500)]
        {
            assert_eq!(sync_period(text).unwrap().as_millis(), milliseconds, "{text}");
        }
        assert_eq!(sync_period("5"), Err(messages::NOT_A_DURATION.to_owned()));
        for text in ["", "5", "-3s", "0s", "1ms", "soon"] {
            assert!(sync_period(text).is_err(), "{text}");
        }
        assert!(lease_duration("1s").is_ok() && lease_duration("999ms").is_err());
    }

    #[test]
    fn drains_are_never_forced_by_default() {
        let timeout =
            |flags: &[&str]| RunArguments::parse(flags).map(|it| it.machines.drain_timeout);
        let hour = Timeout(Some(Duration::from_secs(3600)));
        assert_eq!(timeout(&[]).unwrap(), Timeout(None));
        assert_eq!(timeout(&["--drain-timeout=1h"]).unwrap(), hour);
        assert_eq!(timeout(&["--drain-timeout=0"]).unwrap(), Timeout(None));
        assert!(timeout(&["--drain-timeout=soon"]).is_err());
    }

    #[test]
    fn the_metadata_endpoint_is_a_host_without_path() {
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
    fn platform_is_a_provider_or_none_or_auto() {
        let choice = |platform: &str| {
            let (platform, drain_timeout) = (platform.to_owned(), Timeout::default());
            let flags = MachineArguments { cluster_id: None, platform, drain_timeout };
            flags.platform(&["example"])
        };
        assert_eq!(choice("auto"), Ok(Choice::Auto));
        assert_eq!(choice("none"), Ok(Choice::NoProvider));
        for name in ["aws", "sim", "example"] {
            assert_eq!(choice(name), Ok(Choice::Only(name.into())));
        }
        let refused = choice("asw").unwrap_err();
        assert!(refused.ends_with("valid values are auto, aws, example, none, sim"), "{refused}");
    }

    #[test]
    fn certificate_of_metrics_needs_secure_metrics() {
        let folder = |flags: &[&str]| {
            let secure = RunArguments::parse(flags).unwrap().secure_metrics();
            secure.map(|secure| secure.map(|it| it.certificate))
        };
        assert_eq!(folder(&[]), Ok(None));
        assert_eq!(folder(&["--metrics-secure"]), Ok(Some(None)));
        assert_eq!(
            folder(&["--metrics-secure=true", "--metrics-cert-dir=/certs"]),
            Ok(Some(Some(PathBuf::from("/certs"))))
        );
        for flags in
            [&["--metrics-secure=false", "--metrics-cert-dir=/c"][..], &["--metrics-cert-dir=/c"]]
        {
            let error = folder(flags).unwrap_err();
            assert!(error.contains("--metrics-secure"), "{error}");
        }
    }

    #[test]
    fn leader_election_is_unset_by_default() {
        let parse = |flags: &[&str]| RunArguments::parse(flags).unwrap();
        assert_eq!(parse(&[]).leader_elect, None);
        assert_eq!(parse(&["--leader-elect"]).leader_elect, Some(true));
        assert_eq!(parse(&["--leader-elect=false"]).leader_elect, Some(false));
        assert_eq!(parse(&["--workers", "annotator=3"]).workers, [("annotator".to_owned(), 3)]);
    }
}
