//! Flags of the annotator.

use clap::{Args, ValueEnum};
use machinist_api::names::GATE_MIGRATION;
use machinist_controllers::cloud_access::SecretScope;
use machinist_domain::capacity_annotations::{Families, MaxPods, Options};

use crate::messages;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Annotations")]
pub(crate) struct AnnotationArguments {
    /// Annotations to write: for OpenShift's cluster-autoscaler-operator, for upstream's cluster-autoscaler, or both.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "openshift,upstream",
        value_name = "FAMILIES"
    )]
    pub(crate) annotations: Vec<Family>,
    /// Maximum number of pods per node to announce: "off", "eni" (from the addresses of the network interfaces), or a
    /// number.
    #[arg(long, default_value = "off", value_parser = max_pods, value_name = "N")]
    pub(crate) max_pods: MaxPods,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    /// machine.openshift.io/vCPU and so on.
    #[value(name = "openshift")]
    OpenShift,
    /// capacity.cluster-autoscaler.kubernetes.io/cpu and so on.
    Upstream,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Annotator")]
pub(crate) struct AnnotatorArguments {
    #[command(flatten)]
    pub(crate) annotations: AnnotationArguments,
    /// Source of the capacities of AWS instance types: EC2, the built-in catalogue, or the catalogue as fallback for
    /// EC2. Other providers bring their own.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = SOURCES,
        value_name = "SOURCES"
    )]
    pub(crate) instance_types: Vec<Source>,
    /// Watch the metadata of all Secrets, instead of each Secret that a MachineSet, MachineDeployment or Machine names.
    /// Needs permission to list and watch all Secrets.
    #[arg(long)]
    pub(crate) watch_all_secrets: bool,
    /// Feature gates as OpenShift passes them. With MachineAPIMigration=true, objects that another machine API
    /// manages are ignored. Where the flag does not name this gate, OpenShift's FeatureGate "cluster" decides.
    #[arg(long, value_delimiter = ',', value_parser = feature_gate, value_name = "NAME=BOOL")]
    pub(crate) feature_gates: Vec<(String, bool)>,
}

const SOURCES: &str = if cfg!(feature = "aws") { "ec2,catalogue" } else { "catalogue" };

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// EC2.
    #[cfg(feature = "aws")]
    Ec2,
    /// The built-in catalogue.
    Catalogue,
}

impl AnnotationArguments {
    pub(crate) fn options(&self) -> Options {
        let wants = |family| self.annotations.contains(&family);
        let families = match (wants(Family::OpenShift), wants(Family::Upstream)) {
            (true, false) => Families::OpenShift,
            (false, true) => Families::Upstream,
            _ => Families::Both,
        };
        Options { families, max_pods: self.max_pods, ..Options::default() }
    }
}

impl AnnotatorArguments {
    pub(crate) fn asks(&self, source: Source) -> bool {
        self.instance_types.contains(&source)
    }

    pub(crate) fn secrets(&self) -> SecretScope {
        if self.watch_all_secrets { SecretScope::All } else { SecretScope::Named }
    }

    /// Whether to ignore objects that another machine API manages, if it is set. The last value wins, as in Go.
    pub(crate) fn migration(&self) -> Option<bool> {
        let mut gates = self.feature_gates.iter().rev();
        gates.find(|(name, _)| name == GATE_MIGRATION).map(|gate| gate.1)
    }

    /// Gates without a meaning here; OpenShift passes its whole list.
    pub(crate) fn unknown_gates(&self) -> Vec<&str> {
        self.feature_gates
            .iter()
            .map(|gate| gate.0.as_str())
            .filter(|name| *name != GATE_MIGRATION)
            .collect()
    }
}

fn max_pods(text: &str) -> Result<MaxPods, String> {
    match text {
        "off" => Ok(MaxPods::Off),
        "eni" => Ok(MaxPods::Eni),
        number => match number.parse() {
            Ok(number) if number > 0 => Ok(MaxPods::Number(number)),
            _ => Err(messages::NOT_MAX_PODS.to_owned()),
        },
    }
}

fn feature_gate(text: &str) -> Result<(String, bool), String> {
    let (name, value) = text.split_once('=').ok_or(messages::NOT_A_GATE)?;
    match value.trim() {
        "true" => Ok((name.trim().to_owned(), true)),
        "false" => Ok((name.trim().to_owned(), false)),
        other => Err(messages::not_a_bool(other)),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        annotator: AnnotatorArguments,
    }

    fn parse(words: &[&str]) -> Result<AnnotatorArguments, String> {
        let words = [&["x"], words].concat();
        Ok(Flags::try_parse_from(words).map_err(|error| error.to_string())?.annotator)
    }

    #[test]
    fn both_families_and_both_sources_are_the_default() {
        let default = parse(&[]).unwrap();
        assert_eq!(default.annotations.options(), Options::default());
        assert!(default.asks(Source::Ec2) && default.asks(Source::Catalogue));
        let one = parse(&["--annotations=openshift", "--instance-types=catalogue"]).unwrap();
        assert_eq!(one.annotations.options().families, Families::OpenShift);
        assert!(!one.asks(Source::Ec2));
        assert_eq!(default.secrets(), SecretScope::Named);
        assert_eq!(parse(&["--watch-all-secrets"]).unwrap().secrets(), SecretScope::All);
        let pods = parse(&["--max-pods=58"]).unwrap().annotations.options().max_pods;
        assert_eq!(pods, MaxPods::Number(58));
        assert!(parse(&["--max-pods=many"]).is_err());
    }

    #[test]
    fn accepts_unknown_gates_and_rejects_malformed_ones() {
        let gates = parse(&["--feature-gates=Foo=true,MachineAPIMigration=true"]).unwrap();
        assert_eq!(gates.migration(), Some(true));
        assert_eq!(gates.unknown_gates(), ["Foo"]);
        assert_eq!(parse(&[]).unwrap().migration(), None);
        let off = parse(&["--feature-gates=MachineAPIMigration=true,MachineAPIMigration=false"]);
        assert_eq!(off.unwrap().migration(), Some(false));
        assert!(parse(&["--feature-gates=MachineAPIMigration"]).is_err());
        assert!(parse(&["--feature-gates=MachineAPIMigration=maybe"]).is_err());
    }
}
