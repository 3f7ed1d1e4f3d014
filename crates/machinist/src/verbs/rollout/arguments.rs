//! Flags of `machinist rollout`. Parsing only. Names and defaults are those of `kubectl rollout`.

use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand, ValueEnum};

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
                dry_run: DryRun::None,
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
    /// Continue a paused rollout, or one that was aborted because new Machines failed.
    Resume(Deployment),
    /// Replace all Machines, by a new annotation in the template.
    Restart(Deployment),
}

/// A MachineDeployment, in one word or two.
#[derive(Debug, Clone)]
pub struct Deployment {
    /// Its name.
    pub name: String,
}

const WORDS: &str = "name";

impl Args for Deployment {
    fn augment_args(command: Command) -> Command {
        let words = Arg::new(WORDS).value_name("NAME").required(true);
        let words = words.num_args(1..=2).action(ArgAction::Append);
        command
            .arg(words.help("MachineDeployment: NAME, md/NAME, machinedeployment/NAME, or md NAME"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Deployment {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let words = matches.get_many::<String>(WORDS).into_iter().flatten();
        let words: Vec<_> = words.map(String::as_str).collect();
        let name = name(&words).map(str::to_owned).ok_or_else(|| {
            let text = messages::not_a_deployment(&words.join(" "));
            clap::Error::raw(ErrorKind::ValueValidation, text + "\n")
        })?;
        Ok(Self { name })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
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
    /// Print what would be changed, and change nothing. Without a mode: client.
    #[arg(
        long, value_enum, num_args = 0..=1, default_value_t = DryRun::None, default_missing_value = "client",
        require_equals = true, value_name = "MODE"
    )]
    pub dry_run: DryRun,
}

/// What becomes of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// It is written.
    None,
    /// It is not sent.
    Client,
    /// The API server checks it, admission included, and does not store it.
    Server,
}

/// What kubectl accepts as the type, with or without the group.
const KINDS: [&str; 4] = ["machinedeployment", "machinedeployments", "machinedeploy", "md"];
const GROUP: &str = ".machine.openshift.io";

fn name<'a>(words: &[&'a str]) -> Option<&'a str> {
    let (kind, name) = match words {
        [word] => word.split_once('/').unwrap_or((KINDS[0], word)),
        [kind, name] => (*kind, *name),
        _ => return None,
    };
    let kind = kind.to_ascii_lowercase();
    let kind = kind.strip_suffix(GROUP).unwrap_or(&kind);
    (KINDS.contains(&kind) && !name.is_empty() && !name.contains('/')).then_some(name)
}

fn timeout(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { duration(text, Duration::ZERO) }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    fn parse(words: &[&str]) -> Result<RolloutCommand, clap::Error> {
        let cli = Cli::try_parse_from([&["machinist", "rollout"], words].concat())?;
        match cli.command {
            crate::cli::Command::Rollout(arguments) => Ok(arguments.command),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_deployment_is_named_as_in_kubectl() {
        for words in [
            &["web"][..],
            &["md/web"],
            &["md", "web"],
            &["machinedeployment/web"],
            &["machinedeployments/web"],
            &["MachineDeployment.machine.openshift.io/web"],
            &["MachineDeployment.machine.openshift.io", "web"],
        ] {
            match parse(&[&["pause"], words].concat()).unwrap() {
                RolloutCommand::Pause(Deployment { name }) => assert_eq!(name, "web", "{words:?}"),
                other => panic!("{words:?}: {other:?}"),
            }
        }
        for words in [
            &[""][..],
            &["md/"],
            &["deployment/web"],
            &["md/a/b"],
            &["/web"],
            &["deployment", "web"],
            &["md", ""],
            &["md", "md/web"],
            &["md", "a", "b"],
            &[],
        ] {
            let error = parse(&[&["pause"], words].concat()).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{words:?}: {error}");
        }
    }

    #[test]
    fn flags_may_be_anywhere() {
        for words in [
            &["status", "md", "web", "--timeout=5m"][..],
            &["status", "--timeout", "5m", "md", "web"],
            &["status", "md", "--timeout=5m", "web"],
        ] {
            match parse(words).unwrap() {
                RolloutCommand::Status(status) => {
                    assert_eq!(status.deployment.name, "web", "{words:?}");
                    assert_eq!(status.timeout.as_secs(), 300, "{words:?}");
                }
                other => panic!("{words:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn modes_of_a_dry_run_are_those_of_kubectl() {
        for (flag, expected) in [
            ("--to-revision=0", DryRun::None),
            ("--dry-run=none", DryRun::None),
            ("--dry-run", DryRun::Client),
            ("--dry-run=client", DryRun::Client),
            ("--dry-run=server", DryRun::Server),
        ] {
            match parse(&["undo", flag, "md", "web"]).unwrap() {
                RolloutCommand::Undo(undo) => assert_eq!(undo.dry_run, expected, "{flag}"),
                other => panic!("{flag}: {other:?}"),
            }
        }
        assert_eq!(parse(&["undo", "web", "--dry-run=true"]).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn watch_is_on_unless_it_is_false() {
        let watch = |flags: &[&str]| match parse(&[&["status", "web"], flags].concat()).unwrap() {
            RolloutCommand::Status(status) => (status.watch, status.timeout.as_secs()),
            other => panic!("{other:?}"),
        };
        assert_eq!(watch(&[]), (true, 0));
        assert_eq!(watch(&["-w", "--timeout=0"]), (true, 0));
        assert_eq!(watch(&["--watch=false", "--timeout", "5m"]), (false, 300));
    }
}
