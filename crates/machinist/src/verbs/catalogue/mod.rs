//! `machinist catalogue`: the built-in instance types. Exit code 1 if a pattern matches nothing, for scripts.

mod messages;
mod pattern;
mod view;

use anyhow::ensure;
use machinist_aws_spec::{InstanceType, catalogue};

use crate::cli::{CatalogueArguments, ListFormat};
use crate::terminal::Printable;

pub(crate) fn main(arguments: &CatalogueArguments) -> anyhow::Result<()> {
    #[cfg(feature = "aws")]
    if arguments.generate {
        return Ok(super::print(&Printable::data(generated()?))?);
    }
    let patterns = &arguments.patterns;
    let found = matching(patterns);
    // An exact name prints one object, a pattern always a list.
    let shown = match (patterns.as_slice(), found.as_slice()) {
        ([name], [one]) if !pattern::is_pattern(name) => Shown::One(one),
        _ => Shown::Many(&found),
    };
    let text = match arguments.output {
        ListFormat::Table => view::table(&found, false),
        ListFormat::Wide => view::table(&found, true),
        ListFormat::Json => serde_json::to_string_pretty(&shown)? + "\n",
        ListFormat::Yaml => serde_saphyr::to_string(&shown)?,
    };
    if !found.is_empty() {
        super::print(&Printable::lines(&text))?;
    }
    let is_met =
        |pattern: &&String| found.iter().any(|entry| pattern::matches(pattern, &entry.name));
    let missed: Vec<_> = patterns.iter().filter(|pattern| !is_met(pattern)).collect();
    ensure!(missed.is_empty(), messages::no_match(&missed));
    Ok(())
}

/// The catalogue's file from EC2 (`make catalogue`), with region, credentials and endpoint of the environment.
#[cfg(feature = "aws")]
fn generated() -> anyhow::Result<String> {
    let region = crate::recycler::region();
    let region = region.as_deref().unwrap_or("us-east-1");
    Ok(catalogue::write(&crate::aws::listed_types(region)?))
}

fn matching(patterns: &[String]) -> Vec<InstanceType<'static>> {
    let wanted = |entry: &InstanceType<'_>| {
        patterns.is_empty() || patterns.iter().any(|pattern| pattern::matches(pattern, &entry.name))
    };
    catalogue::entries().filter(wanted).collect()
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    One(&'a InstanceType<'a>),
    Many(&'a [InstanceType<'a>]),
}
