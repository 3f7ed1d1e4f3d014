//! Reads a Dockerfile and a `.dockerignore`, as far as ours go. No shell, no variables but those that have a default.

/// A Dockerfile.
#[derive(Debug)]
pub(super) struct Dockerfile {
    /// Instruction and its words, in order; continued lines are one.
    pub(super) steps: Vec<(String, Vec<String>)>,
}

impl Dockerfile {
    pub(super) fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
        let steps = joined.lines().filter_map(|line| {
            let mut words = line.split_whitespace().map(str::to_owned);
            Some((words.next()?.to_uppercase(), words.collect()))
        });
        Self { steps: steps.collect() }
    }

    /// The words of every step of this kind.
    pub(super) fn all(&self, instruction: &str) -> impl Iterator<Item = &[String]> {
        let of_kind = move |step: &&(String, Vec<String>)| step.0 == instruction;
        self.steps.iter().filter(of_kind).map(|step| step.1.as_slice())
    }

    /// The single commands of the `RUN` steps, without their mounts.
    pub(super) fn commands(&self) -> Vec<Vec<String>> {
        let words = |step: &[String]| {
            let mounts = step.iter().take_while(|word| word.starts_with("--")).count();
            step[mounts..].to_vec()
        };
        let split = |step: Vec<String>| {
            step.split(|word| word == "&&").map(<[String]>::to_vec).collect::<Vec<_>>()
        };
        self.all("RUN").map(words).flat_map(split).collect()
    }

    /// The arguments of `cargo build`.
    pub(super) fn cargo_build(&self) -> Option<Vec<String>> {
        let commands = self.commands().into_iter();
        let mut builds = commands.filter(|command| command.starts_with(&cargo_build()));
        builds.next().map(|command| command[1..].to_vec())
    }

    /// Whether a file of the repository is copied from the context.
    pub(super) fn copies(&self, file: &str) -> bool {
        let mut sources = self
            .all("COPY")
            .filter(|words| !words[0].starts_with("--from"))
            .flat_map(|words| words.split_last().map_or(&[][..], |(_target, sources)| sources));
        sources.any(|source| source == "." || file == source || below(file, source))
    }
}

fn cargo_build() -> [String; 2] {
    ["cargo".to_owned(), "build".to_owned()]
}

fn below(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
}

/// What `.dockerignore` keeps out.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    places: Vec<String>,
    endings: Vec<String>,
    /// Patterns of a form that is not understood here.
    pub(super) unknown: Vec<String>,
}

impl Ignored {
    /// Two forms: `/place` and `**/*.ending`.
    pub(super) fn parse(text: &str) -> Self {
        let mut ignored = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match (line.strip_prefix('/'), line.strip_prefix("**/*")) {
                (Some(place), _) if !place.contains('*') => ignored.places.push(place.to_owned()),
                (_, Some(ending)) if !ending.contains('*') => {
                    ignored.endings.push(ending.to_owned());
                }
                _ => ignored.unknown.push(line.to_owned()),
            }
        }
        ignored
    }

    pub(super) fn has(&self, file: &str) -> bool {
        self.places.iter().any(|place| file == place || below(file, place))
            || self.endings.iter().any(|ending| file.ends_with(ending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a comment\nFROM rust AS build\nCOPY Cargo.toml crates /src/\n\
        RUN --mount=type=cache,target=/x \\\n  cargo build --release \\\n # why\n && cp a /b\nFROM base\nCOPY --from=build /b /b\n";

    #[test]
    fn steps_are_read_across_lines_and_comments() {
        let file = Dockerfile::parse(TEXT);
        assert_eq!(file.cargo_build().unwrap(), ["build", "--release"]);
        assert_eq!(file.commands()[1], ["cp", "a", "/b"]);
        assert_eq!(file.all("FROM").count(), 2);
    }

    #[test]
    fn only_what_is_copied_and_not_ignored_is_there() {
        let file = Dockerfile::parse(TEXT);
        assert!(file.copies("Cargo.toml") && file.copies("crates/a/src/lib.rs"));
        assert!(!file.copies("Cargo.lock") && !file.copies("crates.md"));
        assert!(Dockerfile::parse("COPY . .").copies("anything/at/all"));
        let ignored = Ignored::parse("# why\n/target\n**/*.new\nodd/*/one\n");
        assert!(ignored.has("target/a") && ignored.has("x/y.new"));
        assert!(!ignored.has("targets") && !ignored.has("crates/target.rs"));
        assert_eq!(ignored.unknown, ["odd/*/one"]);
    }
}
