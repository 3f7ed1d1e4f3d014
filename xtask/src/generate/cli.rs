//! The page about the command line, from clap.

use clap::{Arg, Command, CommandFactory as _};
use machinist::cli::Cli;

use super::{heading, table};

const INTRODUCTION: &str = "Exit codes: 0 success, or stopped by a signal as intended; 1 failure; \
    2 invalid flag, file or environment variable, nothing was done; 130 interrupted, run the command again \
    to resume.";

pub(super) fn page() -> String {
    let mut cli = Cli::command();
    cli.build();
    let mut text = heading("Command line", "crates/machinist/src/cli.rs", INTRODUCTION);
    for verb in cli.get_subcommands() {
        describe(verb, &mut text);
    }
    text
}

fn describe(verb: &Command, text: &mut String) {
    if verb.is_hide_set() || verb.get_name() == "help" {
        return;
    }
    let name = verb.get_bin_name().unwrap_or(verb.get_name());
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    text.extend([format!("\n## {name}\n\n{about}\n")]);
    let shown = |argument: &&Arg| !argument.is_hide_set() && argument.get_id() != "help";
    let rows: Vec<_> = verb.get_arguments().filter(shown).map(row).collect();
    if !rows.is_empty() {
        text.extend([format!("\n{}", table(["argument", "default", "description"], &rows))]);
    }
    for verb in verb.get_subcommands() {
        describe(verb, text);
    }
}

fn row(argument: &Arg) -> [String; 3] {
    let names: Vec<_> = argument
        .get_long()
        .map(|long| format!("--{long}"))
        .into_iter()
        .chain(argument.get_short().map(|short| format!("-{short}")))
        .collect();
    let takes_value = argument.get_action().takes_values();
    let value = argument.get_value_names().filter(|_| takes_value).and_then(|names| names.first());
    let name = match (names.is_empty(), value) {
        (true, value) => value.map(ToString::to_string).unwrap_or_default(),
        (false, None) => format!("`{}`", names.join("`, `")),
        (false, Some(value)) => format!("`{}` {value}", names.join("`, `")),
    };
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
    let default = defaults.first().map(|_| format!("`{}`", defaults.join(",")));
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string);
    let mut help = help.unwrap_or_default();
    let values = argument.get_possible_values();
    if takes_value && !values.is_empty() {
        let values = values.iter().filter(|value| !value.is_hide_set()).map(|value| {
            let about = value.get_help().map(|help| format!(" ({help})")).unwrap_or_default();
            format!("`{}`{about}", value.get_name())
        });
        help = format!("{help}. Values: {}.", values.collect::<Vec<_>>().join(", "));
    }
    if let Some(variable) = argument.get_env() {
        help = format!("{help}. Environment: `{}`", variable.to_string_lossy());
    }
    [name, default.filter(|_| takes_value).unwrap_or_default(), help]
}
