//! What `make image` and the check take from the Dockerfile: the cargo command, and the settings of the last stage.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

pub(crate) const FILE: &str = "Dockerfile";

/// The settings of the last stage.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) user: String,
    pub(crate) ports: Vec<String>,
    pub(crate) entry_point: Vec<String>,
    pub(crate) command: Vec<String>,
    pub(crate) labels: BTreeMap<String, String>,
}

impl Settings {
    pub(crate) fn read(dockerfile: &str, version: &str, commit: &str) -> Result<Self> {
        let steps = steps(dockerfile);
        let value = |keyword: &str| {
            let found = steps.iter().rev().find_map(|step| step.strip_prefix(keyword));
            found.with_context(|| format!("{FILE} has no {}", keyword.trim()))
        };
        let words = |keyword: &str| -> Result<Vec<String>> {
            let list = value(keyword)?;
            serde_json::from_str(list).with_context(|| format!("{FILE}: {keyword}{list}"))
        };
        let labels = value("LABEL ")?.replace("${VERSION}", version).replace("${COMMIT}", commit);
        Ok(Self {
            user: value("USER ")?.to_owned(),
            ports: value("EXPOSE ")?.split_whitespace().map(str::to_owned).collect(),
            entry_point: words("ENTRYPOINT ")?,
            command: words("CMD ")?,
            labels: pairs(&labels),
        })
    }
}

/// Without comments, and each on one line.
pub(crate) fn steps(dockerfile: &str) -> Vec<String> {
    let lines = dockerfile.lines().filter(|line| !line.trim_start().starts_with('#'));
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    joined.lines().map(str::trim).filter(|step| !step.is_empty()).map(str::to_owned).collect()
}

/// The arguments of `cargo build`.
pub(crate) fn cargo_build(dockerfile: &str) -> Vec<String> {
    let steps = steps(dockerfile).join("\n");
    let command = steps.split_once("cargo build").map_or("", |(_, rest)| rest);
    let words = command.lines().next().unwrap_or_default().split_whitespace();
    words.take_while(|word| *word != "&&").map(str::to_owned).collect()
}

/// `a="b" c="d"`.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let mut parts = text.split('"');
    let mut pairs = BTreeMap::new();
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        pairs.insert(name.trim().trim_end_matches('=').to_owned(), value.to_owned());
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_last_stage_count() {
        let text = "USER 0\nRUN --mount=x \\\n  A=b cargo build --release \\\n # why\n  -p x && cp a b\n\
            FROM y\nLABEL a.b=\"c d\" \\\n  e=\"${VERSION}\" f=\"${COMMIT}\"\nUSER 1:2\n\
            EXPOSE 80 90\nENTRYPOINT [\"/m\"]\n# CMD [\"x\"]\nCMD [\"run\"]\n";
        let settings = Settings::read(text, "1.2", "abc").unwrap();
        let labels = [("a.b", "c d"), ("e", "1.2"), ("f", "abc")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            settings,
            Settings {
                user: "1:2".to_owned(),
                ports: words(&["80", "90"]),
                entry_point: words(&["/m"]),
                command: words(&["run"]),
                labels: labels.into_iter().collect(),
            }
        );
        assert_eq!(cargo_build(text), ["--release", "-p", "x"]);
        let error = Settings::read("USER 1\nLABEL a=\"b\"\n", "", "").unwrap_err();
        assert!(error.to_string().contains("EXPOSE"), "{error}");
    }
}
