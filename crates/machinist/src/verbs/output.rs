//! Results as a table, JSON or YAML, for verbs with `-o`.

use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;

use crate::terminal::{Printable, controls_terminal};

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns.
    Table,
    /// A JSON document.
    Json,
    /// A YAML document.
    Yaml,
}

pub(super) fn show<T: Serialize + ?Sized>(
    format: Format,
    values: &T,
    table: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    super::print(&rendered(format, values, table)?).context("stdout")
}

fn rendered<T: Serialize + ?Sized>(
    format: Format,
    values: &T,
    table: impl FnOnce() -> String,
) -> anyhow::Result<Printable> {
    Ok(match format {
        Format::Table => Printable::lines(&table()),
        Format::Json => json(values)?,
        // JSON is YAML, too, and can escape what YAML would print as it is.
        Format::Yaml => match serde_saphyr::to_string(&values)? {
            text if text.contains(|letter| controls_terminal(letter) && letter != '\n') => {
                json(values)?
            }
            text => Printable::lines(&text),
        },
    })
}

fn json<T: Serialize + ?Sized>(values: &T) -> anyhow::Result<Printable> {
    Ok(Printable::json(&(serde_json::to_string_pretty(values)? + "\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::tests::{HOSTILE, assert_harmless};

    #[test]
    fn no_format_controls_the_terminal() {
        for format in [Format::Table, Format::Json, Format::Yaml] {
            assert_harmless(&rendered(format, &[HOSTILE], || HOSTILE.to_owned()).unwrap());
        }
    }
}
