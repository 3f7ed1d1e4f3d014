//! `machinist annotate`: scale-from-zero annotations for manifests of MachineSets and MachineDeployments, without a
//! cluster. [`objects`] computes the change, [`edit`] applies it to the text, so that comments and order survive.
//! Nothing but annotations changes; a document without a change keeps every byte; if any input is invalid, nothing is
//! printed.

#[cfg(feature = "aws")]
mod ec2;
mod edit;
mod messages;
mod objects;
mod printed;

use std::num::NonZeroUsize;

use anyhow::{Context, bail};
use machinist_aws_spec::catalogue;
use machinist_domain::capacity_annotations::Options;
use machinist_domain::shape::{Capacity, Shape};
use serde::Serialize;

#[cfg(feature = "aws")]
use self::ec2::Regions;
use self::objects::Found;
use self::printed::Printed;
use crate::annotator::Source;
use crate::cli::{AnnotateArguments, ManifestFormat};
use crate::exit::{self, Usage};
use crate::manifests::input::{self, Input};
use crate::manifests::node::Node;
use crate::manifests::stream::{self, Document, Notation};
use crate::terminal::{Printable, eprint};

const SHARE: usize = 32;

/// Returns the capacity of a machine; `None` if the type is unknown.
type Known<'a> = &'a (dyn Fn(&Shape) -> Option<Capacity> + Sync);

pub(crate) fn main(arguments: &AnnotateArguments) -> anyhow::Result<()> {
    let inputs = input::read(&arguments.filename).context(Usage)?;
    let options = Options { overwrite: arguments.overwrite, ..arguments.annotations.options() };
    let annotate = |known: Known<'_>| annotate(&inputs, arguments.output, options, known);
    let result = match arguments.source {
        Source::Catalogue => annotate(&|shape| catalogue::capacity(&shape.instance_type)),
        #[cfg(feature = "aws")]
        Source::Ec2 => {
            // The first run only collects the regions.
            let regions = Regions::default();
            annotate(&|shape| regions.note(shape));
            let answers = regions.ask()?;
            annotate(&|shape| answers.capacity(shape))
        }
    };
    // Without stderr the exit code is all there is.
    drop(eprint(&result.printed_notes()));
    if result.bad > 0 {
        return Err(exit::usage(messages::unreadable(result.bad)));
    }
    super::print(&Printable::data(result.text))?;
    if result.unknown > 0 {
        bail!(messages::unknown_types(result.unknown, arguments.source != Source::Catalogue));
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Annotated {
    text: String,
    notes: Vec<String>,
    unknown: usize,
    bad: usize,
}

impl Annotated {
    /// They quote the manifests.
    fn printed_notes(&self) -> Printable {
        let lines = self.notes.iter().map(|note| format!("machinist: {note}\n"));
        Printable::lines(&lines.collect::<String>())
    }
}

fn annotate(
    inputs: &[Input],
    output: Option<ManifestFormat>,
    options: Options,
    known: Known<'_>,
) -> Annotated {
    let documents: Vec<_> = inputs
        .iter()
        .flat_map(|input| {
            stream::documents(&input.text).into_iter().map(|document| (&*input.name, document))
        })
        .collect();
    let pieces = in_parallel(&documents, |(_, document)| one(*document, output, options, known));
    let mut result = Annotated::default();
    let mut printed = Printed::default();
    for ((file, document), piece) in documents.iter().zip(pieces) {
        let place = format!("{file}:{}", document.line);
        match piece {
            Ok((text, found)) => {
                printed.append(&text, is_json(*document, output));
                result.unknown += found.unknown;
                let note = |(object, note)| format!("{place}: {object}: {note}");
                result.notes.extend(found.notes.into_iter().map(note));
            }
            Err(reason) => {
                result.bad += 1;
                result.notes.push(format!("{place}: {reason}"));
            }
        }
    }
    result.text = printed.into_text();
    result
}

fn one(
    document: Document<'_>,
    output: Option<ManifestFormat>,
    options: Options,
    known: Known<'_>,
) -> Result<(String, Found), String> {
    let mut node = Node::parse(document)?;
    let found = objects::annotate(&mut node, options, known)?;
    let keeps_text = match output {
        None => true,
        Some(ManifestFormat::Json) => false,
        Some(ManifestFormat::Yaml) => document.notation == Notation::Yaml,
    };
    let edited = match (keeps_text, found.changes.is_empty(), &node) {
        (true, true, _) => Some(document.text.to_owned()),
        (true, false, _) => edit::edit(document, &found.changes, &node),
        // A document of comments has no value.
        (false, _, Node::Null) => Some(String::new()),
        (false, _, _) => None,
    };
    let text = match edited {
        Some(text) => text,
        None => serialise(&node, is_json(document, output))?,
    };
    Ok((text, found))
}

fn is_json(document: Document<'_>, output: Option<ManifestFormat>) -> bool {
    output.map_or(document.notation == Notation::Json, |format| format == ManifestFormat::Json)
}

/// Distributes documents over the cores; the results keep their order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = items.len().div_ceil(cores).max(SHARE);
    let work = &work;
    std::thread::scope(|scope| {
        let start = |share| scope.spawn(move || <[T]>::iter(share).map(work).collect::<Vec<R>>());
        let workers: Vec<_> = items.chunks(share).map(start).collect();
        let done = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        done.flat_map(|share| share.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// A document of YAML or JSON.
pub(super) fn serialise(value: &impl Serialize, json: bool) -> Result<String, String> {
    if json {
        let text = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
        Ok(text + "\n")
    } else {
        let text = serde_saphyr::to_string(value).map_err(|error| error.to_string())?;
        Ok(format!("---\n{text}"))
    }
}

#[cfg(test)]
mod tests;
