//! `machinist version`: what this binary was built from, and what it can do.

use machinist_provider::provider::Providers;
use serde::Serialize;

use crate::cli::{VersionArguments, VersionFormat};
use crate::terminal::Printable;

/// Features that add something to the binary, and whether this build has them.
const FEATURES: [(&str, bool); 2] =
    [("aws", cfg!(feature = "aws")), ("playground", cfg!(feature = "playground"))];

#[derive(Debug, Serialize)]
struct Build {
    version: &'static str,
    /// `null` unless the build names it: an archive of the sources and an image's build have no git.
    commit: Option<&'static str>,
    features: Vec<&'static str>,
    providers: Vec<&'static str>,
}

pub(crate) fn main(arguments: VersionArguments, providers: &Providers) -> anyhow::Result<()> {
    let build = Build {
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("MACHINIST_COMMIT").filter(|commit| !commit.is_empty()),
        features: FEATURES.iter().filter(|(_, is_in)| *is_in).map(|(name, _)| *name).collect(),
        providers: providers.iter().map(|provider| provider.name()).collect(),
    };
    let text = match arguments.output {
        VersionFormat::Text => text(&build),
        VersionFormat::Json => serde_json::to_string_pretty(&build)? + "\n",
    };
    Ok(super::print(&Printable::lines(&text))?)
}

fn text(build: &Build) -> String {
    let list = |names: &[&str]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    format!(
        "machinist {}\ncommit:    {}\nfeatures:  {}\nproviders: {}\n",
        build.version,
        build.commit.unwrap_or("unknown"),
        list(&build.features),
        list(&build.providers),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_a_line_for_each_part_and_says_what_is_missing() {
        let mut build = Build {
            version: "1.2.3",
            commit: Some("0123abc"),
            features: vec!["aws", "playground"],
            providers: vec!["aws"],
        };
        assert_eq!(
            text(&build),
            "machinist 1.2.3\ncommit:    0123abc\nfeatures:  aws, playground\nproviders: aws\n"
        );
        (build.commit, build.providers) = (None, Vec::new());
        let text = text(&build);
        assert!(text.contains("commit:    unknown\n") && text.ends_with("providers: none\n"));
    }
}
