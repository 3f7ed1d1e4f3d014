//! kaws's config file and `KAWS_VERBOSE`. A flag or environment variable takes precedence over the file. Of the file
//! kaws reads the same three keys; others are ignored.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::arguments::{RecycleArguments, RecycleCommand};
use super::messages;
use crate::exit;

const NAME: &str = ".kaws.yaml";

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Config {
    kubeconfig: Option<String>,
    namespace: Option<String>,
    verbose: Option<bool>,
}

/// Where kaws looks, and what it reads from the environment.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    home: Option<PathBuf>,
    folder: PathBuf,
    verbose: Option<String>,
}

impl Surroundings {
    pub(super) fn of_process() -> Self {
        Self {
            home: std::env::home_dir(),
            folder: PathBuf::from("."),
            verbose: std::env::var("KAWS_VERBOSE").ok(),
        }
    }

    /// The arguments, with what they leave open. An unreadable file is a usage error.
    pub(super) fn complete(&self, arguments: RecycleArguments) -> anyhow::Result<RecycleArguments> {
        let Config { kubeconfig, namespace, verbose } = self.read(arguments.config.as_deref())?;
        let kubeconfig = kubeconfig.map(|path| self.expanded(path));
        let in_environment = self.verbose.as_deref().filter(|text| !text.is_empty());
        let in_environment = in_environment.map(|text| matches!(text, "1" | "t" | "true" | "TRUE"));
        let mut arguments = RecycleArguments {
            kubeconfig: arguments.kubeconfig.or(kubeconfig),
            verbose: arguments.verbose || in_environment.or(verbose).unwrap_or_default(),
            ..arguments
        };
        let place = match &mut arguments.command {
            RecycleCommand::Search(search) => &mut search.namespace,
            RecycleCommand::Watch(watch) => &mut watch.namespace,
            RecycleCommand::Groups(_) | RecycleCommand::Run(_) => return Ok(arguments),
        };
        // As in kaws, an empty one is all of them.
        *place = place.take().or(namespace).filter(|namespace| !namespace.is_empty());
        Ok(arguments)
    }

    fn read(&self, flag: Option<&Path>) -> anyhow::Result<Config> {
        let usual = self.home.iter().chain([&self.folder]).map(|folder| folder.join(NAME));
        let found = flag.map(Path::to_owned).or_else(|| usual.into_iter().find(|it| it.is_file()));
        let Some(path) = found else { return Ok(Config::default()) };
        let unreadable = |why: String| exit::usage(messages::config_unreadable(&path, &why));
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?;
        parse(&text).map_err(|error| unreadable(error.to_string()))
    }

    fn expanded(&self, path: String) -> String {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
            _ => path,
        }
    }
}

fn parse(text: &str) -> Result<Config, serde_saphyr::Error> {
    if text.trim().is_empty() { Ok(Config::default()) } else { serde_saphyr::from_str(text) }
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _, Parser as _};

    use super::super::arguments::Line;
    use super::*;

    /// Kubeconfig, namespace and verbosity of a command line.
    fn read(line: &str, from: &Surroundings) -> (Option<String>, Option<String>, bool) {
        let line = Line::try_parse_from(line.split(' ')).unwrap().recycle;
        let read = from.complete(line).unwrap();
        let namespace = match read.command {
            RecycleCommand::Search(search) => search.namespace,
            RecycleCommand::Watch(watch) => watch.namespace,
            _ => None,
        };
        (read.kubeconfig, namespace, read.verbose)
    }

    #[test]
    fn flags_come_before_the_file_and_the_home_before_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (home, here) = (folder.path().join("home"), folder.path().join("here"));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(&here).unwrap();
        let mut from =
            Surroundings { home: Some(home.clone()), folder: here.clone(), verbose: None };
        assert_eq!(read("recycle search -s x", &from), (None, None, false));
        let text = "kubeconfig: /here\nnamespace: of-the-folder\n";
        std::fs::write(here.join(NAME), text).unwrap();
        let of_the_folder = (Some("/here".to_owned()), Some("of-the-folder".to_owned()), false);
        assert_eq!(read("recycle search -s x", &from), of_the_folder);
        let text = "kubeconfig: ~/k\nverbose: true\noperator: {threshold: 7}\nnamespace: ''\n";
        std::fs::write(home.join(NAME), text).unwrap();
        let kubeconfig = home.join("k").to_string_lossy().into_owned();
        assert_eq!(read("recycle watch -s x", &from), (Some(kubeconfig), None, true));
        let flags = (Some("/f".to_owned()), Some("n".to_owned()), true);
        assert_eq!(read("recycle watch -k /f -n n -v -y", &from), flags);
        from.verbose = Some("false".to_owned());
        assert!(!read("recycle watch", &from).2 && read("recycle watch -v", &from).2);
        let config = here.join(NAME);
        let line = format!("recycle --config {} search -s x", config.display());
        assert_eq!(read(&line, &from), of_the_folder);
    }

    #[test]
    fn the_variables_of_kaws_set_what_flags_leave_open() {
        let line = Line::command();
        let variable = |command: &Command, id: &str| {
            let mut flags = command.get_arguments();
            let flag = flags.find(|flag| flag.get_id() == id)?;
            Some(flag.get_env()?.to_string_lossy().into_owned())
        };
        assert_eq!(variable(&line, "kubeconfig").as_deref(), Some("KAWS_KUBECONFIG"));
        for verb in ["search", "watch"] {
            let command = line.find_subcommand(verb).unwrap();
            assert_eq!(variable(command, "namespace").as_deref(), Some("KAWS_NAMESPACE"), "{verb}");
        }
    }

    #[test]
    fn an_unreadable_file_is_a_usage_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let bad = folder.path().join("bad.yaml");
        std::fs::write(&bad, "namespace: [").unwrap();
        for path in [bad, folder.path().join("missing.yaml")] {
            let words = ["recycle", "--config", path.to_str().unwrap(), "search", "-s", "x"];
            let line = Line::try_parse_from(words).unwrap().recycle;
            let error = Surroundings::default().complete(line).unwrap_err();
            assert!(error.is::<crate::exit::Usage>());
            assert!(exit::text(&error).contains(path.to_str().unwrap()), "{error:#}");
        }
    }
    #[test]
    fn fuzz_config_files_of_kaws() -> anyhow::Result<()> {
        let samples = [
            "kubeconfig: ~/k\nnamespace: 'n'\nverbose: true\noperator: {threshold: 7}\n",
            r#"{"kubeconfig": "~/k", "namespace": "n", "verbose": true}"#,
        ];
        let from = Surroundings { home: Some("/home".into()), ..Surroundings::default() };
        machinist_testbed::fuzz::feed(&samples, |bytes| {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            if let Ok(Config { kubeconfig: Some(path), .. }) = parse(text) {
                machinist_testbed::fuzz::done(from.expanded(path));
            }
        })
    }
}
