//! The command that resumes an interrupted recycle: the same flags, for the groups that are left.

use clap::ValueEnum as _;

use super::super::arguments::{How, RecycleArguments, RunArguments};

pub(in super::super) fn of(
    common: &RecycleArguments,
    region: &str,
    how: &How,
    groups: &[&str],
) -> String {
    let mut words = vec!["machinist recycle run --region".to_owned(), quoted(region)];
    words.extend(groups.iter().map(|group| quoted(group)));
    if let Some(path) = &common.kubeconfig {
        words.extend(["--kubeconfig".to_owned(), quoted(path)]);
    }
    let How { strategy, poll_interval, timeout, drain_timeout, no_drain, max_unavailable } = how;
    if let Some(name) = strategy.to_possible_value() {
        words.push(format!("--strategy {}", name.get_name()));
    }
    words.push(format!("--poll-interval {poll_interval:?}"));
    words.push(format!("--timeout {timeout:?}"));
    words.extend(drain_timeout.map(|timeout| format!("--drain-timeout {timeout:?}")));
    words.extend(no_drain.then(|| "--no-drain".to_owned()));
    words.push(format!("--max-unavailable {max_unavailable}"));
    words.join(" ")
}

pub(super) fn how_to_print(arguments: &RunArguments) -> String {
    let yes = if arguments.yes { " --yes" } else { "" };
    let cluster = if arguments.no_cluster { " --no-cluster" } else { "" };
    let format = arguments.output.to_possible_value();
    let format = format.map(|format| format!(" --output {}", format.get_name()));
    format!("{cluster}{yes}{}", format.unwrap_or_default())
}

/// A word, quoted for a shell. Names of groups may have blanks.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::super::arguments::{Line, RecycleCommand};
    use super::*;

    fn read(words: &[&str]) -> RecycleArguments {
        Line::try_parse_from(words).unwrap().recycle
    }

    fn command(line: &RecycleArguments, groups: &[&str]) -> String {
        let RecycleCommand::Run(run) = &line.command else { panic!("no run") };
        of(line, "eu-west-3", &run.how, groups) + &how_to_print(run)
    }

    #[test]
    fn the_command_has_every_flag() {
        for flags in [
            "",
            "--strategy scale-to-zero --timeout 1m30s --yes -o json --kubeconfig /k",
            "--poll-interval 20ms --drain-timeout 5m --no-drain --max-unavailable 3",
            "--no-cluster --strategy scale-to-zero",
        ] {
            let words = format!("recycle run a b --region eu-west-3 {flags}");
            let words: Vec<_> = words.split_whitespace().collect();
            let line = read(&words);
            let again = command(&line, &["b"]);
            let again: Vec<_> = again.split(' ').skip(1).collect();
            let expected: Vec<_> = words.iter().copied().filter(|word| *word != "a").collect();
            assert_eq!(format!("{:?}", read(&again)), format!("{:?}", read(&expected)));
        }
    }

    #[test]
    fn names_are_quoted_for_a_shell() {
        for (word, shown) in
            [("workers-1", "workers-1"), ("my group", "'my group'"), ("it's", r"'it'\''s'")]
        {
            assert_eq!(quoted(word), shown);
        }
    }
}
