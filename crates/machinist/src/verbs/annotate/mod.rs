//! `machinist annotate`: scale-from-zero annotations for MachineSet manifests, without a cluster or credentials.
//!
//! In: YAML streams and JSON, and what is known of instance types. Out: the same documents; those of MachineSets, alone or in a List, with their
//! annotations. [`machine_sets`] says what changes, [`edit`] makes the change in the text, so that comments and order survive.
//!
//! Invariants: every document is semantically equal to the input but for the annotations; a document that needs no change is not touched
//! at all; nothing is printed where any input is bad.

mod edit;
mod machine_sets;
mod printed;

use std::io::Write;

use anyhow::{Context, bail};
use machinist_aws_spec::catalogue;
use machinist_domain::capacity_annotations::Options;
use machinist_domain::shape::{Capacity, Shape};

use self::printed::Printed;
use crate::annotator::Source;
use crate::cli::{AnnotateArguments, ManifestFormat};
use crate::exit::Usage;
use crate::manifests::input::{self, Input};
use crate::manifests::node::Node;
use crate::manifests::stream::{self, Document, Notation};

/// Says what a machine gives; `None` where nobody knows the type.
type Known<'a> = &'a dyn Fn(&Shape) -> Option<Capacity>;

/// Annotates what the command line names.
pub fn main(arguments: &AnnotateArguments) -> anyhow::Result<()> {
    if arguments.source == Source::Ec2 {
        return Err(anyhow::anyhow!("--source ec2: this binary cannot ask EC2 yet").context(Usage));
    }
    let inputs = input::read(&arguments.filename).context(Usage)?;
    let options = Options { overwrite: arguments.overwrite, ..arguments.annotations.options() };
    let known = |shape: &Shape| catalogue::capacity(&shape.instance_type);
    let result = annotate(&inputs, arguments.output, options, &known);
    let mut stderr = std::io::stderr().lock();
    for note in &result.notes {
        // Where stderr is closed, the exit code has to do.
        drop(writeln!(stderr, "machinist: {note}"));
    }
    if result.bad > 0 {
        return Err(anyhow::anyhow!("bad documents: {}", result.bad).context(Usage));
    }
    super::print(&result.text)?;
    if result.unknown > 0 {
        bail!("MachineSets of unknown types, left as they were: {}", result.unknown);
    }
    Ok(())
}

/// What came of it.
#[derive(Debug, Default)]
struct Annotated {
    text: String,
    /// For people, one per line of stderr.
    notes: Vec<String>,
    /// MachineSets whose type nobody knows.
    unknown: usize,
    /// Documents that cannot be read.
    bad: usize,
}

fn annotate(
    inputs: &[Input],
    output: Option<ManifestFormat>,
    options: Options,
    known: Known<'_>,
) -> Annotated {
    let mut result = Annotated::default();
    let mut printed = Printed::default();
    for input in inputs {
        for document in stream::documents(&input.text) {
            let place = format!("{}:{}", input.name, document.line);
            match one(document, &place, options, known, output, &mut result) {
                Ok(piece) => printed.append(&piece, is_json(document, output)),
                Err(reason) => {
                    result.bad += 1;
                    result.notes.push(format!("{place}: {reason}"));
                }
            }
        }
    }
    result.text = printed.into_text();
    result
}

/// One document as it is to be printed.
fn one(
    document: Document<'_>,
    place: &str,
    options: Options,
    known: Known<'_>,
    output: Option<ManifestFormat>,
    result: &mut Annotated,
) -> Result<String, String> {
    let mut node = Node::parse(document)?;
    let found = machine_sets::annotate(&mut node, options, known)?;
    let whose = |name: &str| format!("{place}: MachineSet {name}");
    result.unknown += found.unknown;
    result.notes.extend(found.notes.iter().map(|(name, note)| format!("{}: {note}", whose(name))));

    let as_it_is = match output {
        None => true,
        Some(ManifestFormat::Json) => false,
        Some(ManifestFormat::Yaml) => document.notation == Notation::Yaml,
    };
    if as_it_is {
        if found.changes.is_empty() {
            return Ok(document.text.to_owned());
        }
        if let Some(text) = edit::edit(document, &found.changes, &node) {
            return Ok(text);
        }
    } else if matches!(node, Node::Null) {
        return Ok(String::new());
    }
    written_anew(&node, is_json(document, output))
}

/// Whether a document is printed as JSON.
fn is_json(document: Document<'_>, output: Option<ManifestFormat>) -> bool {
    output.map_or(document.notation == Notation::Json, |format| format == ManifestFormat::Json)
}

fn written_anew(node: &Node, json: bool) -> Result<String, String> {
    if json {
        let text = serde_json::to_string_pretty(node).map_err(|error| error.to_string())?;
        Ok(text + "\n")
    } else {
        let text = serde_saphyr::to_string(node).map_err(|error| error.to_string())?;
        Ok(format!("---\n{text}"))
    }
}

#[cfg(test)]
mod tests;
