//! Flags of `machinist rollout`. Parsing only. Names and defaults are those of `kubectl rollout`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::messages;
use crate::cli::duration;
use crate::verbs::output::Format;

/// Flags of `machinist rollout`.
#[derive(Debug, Clone, Args)]
pub struct RolloutArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: RolloutCommand,
    /// Path of the kubeconfig file; by default it is resolved as kubectl does.
    #[arg(long, global = true, value_name = "PATH")]
    pub kubeconfig: Option<String>,
    /// Context of the kubeconfig. Default: its current one.
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Namespace of the MachineDeployment. Default: that of the context.
    #[arg(long, short, global = true, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

impl RolloutArguments {
    /// `machinist rollout undo NAME` with these flags.
    #[cfg(feature = "playground")]
    pub(crate) fn undo(name: &str, namespace: &str, kubeconfig: &std::path::Path) -> Self {
        let deployment = Deployment { name: name.to_owned() };
        Self {
            command: RolloutCommand::Undo(UndoArguments {
                deployment,
                to_revision: 0,
                dry_run: false,
            }),
            kubeconfig: Some(kubeconfig.to_string_lossy().into_owned()),
            context: None,
            namespace: Some(namespace.to_owned()),
        }
    }
}

/// What to do with a rollout.
#[derive(Debug, Clone, Subcommand)]
pub enum RolloutCommand {
    /// Show the state of a rollout, and wait until it is complete. Exit 1 if it fails or times out.
    Status(StatusArguments),
    /// List revisions, what each changes and why, or show one of them.
    History(HistoryArguments),
    /// Put back the template of an earlier revision.
    Undo(UndoArguments),
    /// Hold back changes of the template. Scaling goes on.
    Pause(Deployment),
    /// Continue a paused rollout.
    Resume(Deployment),
    /// Replace all Machines, by a new annotation in the template.
    Restart(Deployment),
}

/// A MachineDeployment.
#[derive(Debug, Clone, Args)]
pub struct Deployment {
    /// MachineDeployment: machinedeployment/NAME, md/NAME, or NAME.
    #[arg(value_parser = name, value_name = "NAME")]
    pub name: String,
}

/// Flags of `machinist rollout status`.
#[derive(Debug, Clone, Args)]
pub struct StatusArguments {
    /// The MachineDeployment.
    #[command(flatten)]
    pub deployment: Deployment,
    /// Wait until the rollout is complete. With false: show its state, and exit 0 unless it has failed.
    #[arg(
        long, short, num_args = 0..=1, default_value_t = true, default_missing_value = "true",
        require_equals = true, action = clap::ArgAction::Set, value_name = "BOOL"
    )]
    pub watch: bool,
    /// How long to wait; 0: forever.
    #[arg(long, default_value = "0s", value_parser = timeout, value_name = "DURATION")]
    pub timeout: Duration,
    /// Fail if another revision is rolled out; 0: the latest.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..), value_name = "N")]
    pub revision: i64,
}

/// Flags of `machinist rollout history`.
#[derive(Debug, Clone, Args)]
pub struct HistoryArguments {
    /// The MachineDeployment.
    #[command(flatten)]
    pub deployment: Deployment,
    /// Show this revision with its template; 0: list all.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..), value_name = "N")]
    pub revision: i64,
    /// With --revision: show the differences from this revision; 0: from the one before it.
    #[arg(
        long, default_value_t = 0, requires = "revision", value_parser = clap::value_parser!(i64).range(0..),
        value_name = "N"
    )]
    pub compare_with: i64,
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    pub output: Format,
}

/// Flags of `machinist rollout undo`.
#[derive(Debug, Clone, Args)]
pub struct UndoArguments {
    /// The MachineDeployment.
    #[command(flatten)]
    pub deployment: Deployment,
    /// Revision to put back; 0: the previous one.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..), value_name = "N")]
    pub to_revision: i64,
    /// Print what would be changed, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// What kubectl accepts before the slash, with or without the group.
const KINDS: [&str; 4] = ["machinedeployment", "machinedeployments", "machinedeploy", "md"];
const GROUP: &str = ".machine.openshift.io";

fn name(text: &str) -> Result<String, String> {
    let (kind, name) = text.split_once('/').unwrap_or((KINDS[0], text));
    let plain = kind.to_ascii_lowercase();
    let plain = plain.strip_suffix(GROUP).unwrap_or(&plain);
    if name.is_empty() || name.contains('/') || !KINDS.contains(&plain) {
        return Err(messages::NOT_A_DEPLOYMENT.to_owned());
    }
    Ok(name.to_owned())
}

fn timeout(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { duration(text, Duration::ZERO) }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_deployment_is_named_as_in_kubectl() {
        for text in [
            "web",
            "md/web",
            "machinedeployment/web",
            "machinedeployments/web",
            "MachineDeployment.machine.openshift.io/web",
        ] {
            assert_eq!(name(text).as_deref(), Ok("web"), "{text}");
        }
        for text in ["", "md/", "deployment/web", "md/a/b", "/web"] {
            assert!(name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn watch_is_on_unless_it_is_false() {
        let watch = |flags: &[&str]| {
            let all = [&["machinist", "rollout", "status", "web"], flags].concat();
            match Cli::try_parse_from(all).unwrap().command {
                crate::cli::Command::Rollout(arguments) => match arguments.command {
                    RolloutCommand::Status(status) => (status.watch, status.timeout.as_secs()),
                    _ => (false, 1),
                },
                _ => (false, 2),
            }
        };
        assert_eq!(watch(&[]), (true, 0));
        assert_eq!(watch(&["-w", "--timeout=0"]), (true, 0));
        assert_eq!(watch(&["--watch=false", "--timeout", "5m"]), (false, 300));
    }
}
