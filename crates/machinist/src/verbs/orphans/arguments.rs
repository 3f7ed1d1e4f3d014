//! Flags of `machinist orphans`. Parsing only.

use std::time::Duration;

use clap::Args;

use crate::cli::{ListFormat, duration};

/// Flags of `machinist orphans`.
#[derive(Debug, Clone, Args)]
pub(crate) struct OrphanArguments {
    /// Terminate the instances that may be deleted, after a confirmation. Machines, Nodes and the instance are read
    /// again before each of them.
    #[arg(long)]
    pub(crate) delete: bool,
    /// Do not ask for confirmation.
    #[arg(long, short, requires = "delete")]
    pub(crate) yes: bool,
    /// With --delete: how long to wait until the instances are gone; 0: not at all.
    #[arg(long, default_value = "10m", value_parser = timeout, value_name = "DURATION")]
    pub(crate) timeout: Duration,
    /// How long ago an orphan must have been launched.
    #[arg(long, default_value = "30m", value_parser = timeout, value_name = "DURATION")]
    pub(crate) grace: Duration,
    /// List all instances of the cluster, also those that Machines need.
    #[arg(long, short, conflicts_with = "delete")]
    pub(crate) all: bool,
    /// Name of the cluster in the tags of its instances, as the controllers have it. OpenShift's infrastructure name
    /// takes precedence. Default: the uid of the namespace kube-system.
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster_id: Option<String>,
    /// Read only the Machines and MachineSets in this namespace. Nothing may be deleted then, because a Machine in
    /// another one may need an instance. Default: all namespaces.
    #[arg(long, short, value_name = "NAMESPACE", conflicts_with = "delete")]
    pub(crate) namespace: Option<String>,
    /// Path of the kubeconfig file; by default it is resolved as kubectl does.
    #[arg(long, value_name = "PATH", conflicts_with = "control_kubeconfig")]
    pub(crate) kubeconfig: Option<String>,
    /// Context of the kubeconfig. Default: its current one.
    #[arg(long, value_name = "NAME", conflicts_with = "control_kubeconfig")]
    pub(crate) context: Option<String>,
    /// Kubeconfig of the cluster with the Machines, or "in-cluster". Default: one cluster.
    #[arg(long, value_name = "PATH")]
    pub(crate) control_kubeconfig: Option<String>,
    /// Kubeconfig of the cluster with the Nodes, "in-cluster" or "none". Required with --control-kubeconfig, and only
    /// then.
    #[arg(long, value_name = "PATH")]
    pub(crate) target_kubeconfig: Option<String>,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = ListFormat::Table, value_name = "FORMAT")]
    pub(crate) output: ListFormat,
}

fn timeout(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { duration(text, Duration::ZERO) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use machinist_controllers::orphans::GRACE;

    use super::*;

    #[derive(Debug, Parser)]
    #[command(no_binary_name = true)]
    struct Verb {
        #[command(flatten)]
        arguments: OrphanArguments,
    }

    fn parse(flags: &[&str]) -> Result<OrphanArguments, clap::Error> {
        Verb::try_parse_from(flags).map(|verb| verb.arguments)
    }

    #[test]
    fn grace_period_is_that_of_the_judgement() {
        assert_eq!(parse(&[]).unwrap().grace, GRACE);
    }

    #[test]
    fn nothing_is_deleted_by_the_machines_of_one_namespace() {
        assert!(parse(&["--namespace=ns"]).is_ok());
        for flags in [&["--delete", "-nns"][..], &["--delete", "--all"], &["--yes"]] {
            assert!(parse(flags).is_err(), "{flags:?}");
        }
        assert!(parse(&["--delete", "--yes", "--timeout=0", "--grace=1h"]).is_ok());
    }
}
