//! `machinist convert`: manifests of Gardener's machine-controller-manager as ours, without a cluster. [`documents`]
//! finds the objects, [`source`] reads one file per kind, [`target`] writes ours. All of it is pure; only this file
//! reads and prints. What has no counterpart is a line on stderr; if any input is invalid, nothing is printed.

mod documents;
mod messages;
mod notes;
mod source;
mod target;

use anyhow::{Context, bail};
use serde_json::Value;

use self::notes::Notes;
use self::source::Sources;
use crate::cli::{ConvertArguments, ManifestFormat};
use crate::exit::{self, Usage};
use crate::manifests::input::{self, Input};
use crate::terminal::{Printable, controls_terminal, eprint, escape};

pub(crate) fn main(arguments: &ConvertArguments) -> anyhow::Result<()> {
    let inputs = input::read(&arguments.filename).context(Usage)?;
    let (documents, notes) = convert(&inputs, arguments.output)?;
    // Without stderr the exit code is all there is.
    drop(eprint(&printed(&notes.lines)));
    if notes.invalid > 0 {
        return Err(exit::usage(messages::invalid(notes.invalid)));
    }
    for document in &documents {
        super::print(document)?;
    }
    if notes.unsupported > 0 {
        bail!(messages::unsupported(notes.unsupported));
    }
    Ok(())
}

fn printed(notes: &[String]) -> Printable {
    let lines = notes.iter().map(|line| format!("machinist: {}\n", escape(line)));
    Printable::lines(&lines.collect::<String>())
}

fn convert(inputs: &[Input], output: ManifestFormat) -> anyhow::Result<(Vec<Printable>, Notes)> {
    let mut notes = Notes::default();
    let mut sources = Sources::default();
    for object in documents::objects(inputs, &mut notes) {
        sources.add(object, &mut notes);
    }
    let objects = target::convert(&sources, &mut notes);
    let documents = objects.iter().map(|object| document(object, output));
    Ok((documents.collect::<Result<_, _>>()?, notes))
}

/// JSON is YAML, too, and can escape what YAML would print as it is.
fn document(object: &Value, output: ManifestFormat) -> anyhow::Result<Printable> {
    let serialise = |json| super::annotate::serialise(object, json).map_err(anyhow::Error::msg);
    Ok(match output {
        ManifestFormat::Json => Printable::json(&serialise(true)?),
        ManifestFormat::Yaml => match serialise(false)? {
            text if text.contains(|letter| controls_terminal(letter) && letter != '\n') => {
                Printable::json(&format!("---\n{}", serialise(true)?))
            }
            text => Printable::lines(&text),
        },
    })
}

#[cfg(test)]
mod tests;
