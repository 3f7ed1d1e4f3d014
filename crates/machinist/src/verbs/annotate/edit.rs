//! Applies a change of annotations to the text of a document, so that the rest keeps its format. Only simple cases are
//! handled: block maps get new lines, flow maps (and JSON) are replaced in place. The result is parsed and compared
//! with the intended document; if they differ, there is no edit, and the caller serialises the whole document.

use std::ops::Range;

use machinist_domain::annotations::AnnotationChange;
use serde_saphyr::granit_parser::ScalarStyle;

use crate::manifests::layout::{self, Part};
use crate::manifests::node::Node;
use crate::manifests::stream::{Document, Notation};

#[derive(Debug)]
struct Edit {
    at: Range<usize>,
    text: String,
}

pub(super) fn edit(
    document: Document<'_>,
    changes: &[(Vec<usize>, AnnotationChange)],
    intended: &Node,
) -> Option<String> {
    let root = layout::read(document.text)?;
    let mut edits = Vec::new();
    for (path, change) in changes {
        let (part, node) = path.iter().copied().try_fold((&root, intended), descend)?;
        let annotations = node.at(&["metadata", "annotations"])?;
        edits.extend(edits_of(document, part, change, annotations)?);
    }
    let text = apply(document.text, edits)?;
    let meant = Node::parse(Document { text: &text, ..document }).ok()?;
    (meant == *intended).then_some(text)
}

fn descend<'a>((part, node): (&'a Part, &'a Node), index: usize) -> Option<(&'a Part, &'a Node)> {
    match (part.entry("items")?.1, node.get("items")?) {
        (Part::List { items }, Node::List(nodes)) => Some((items.get(index)?, nodes.get(index)?)),
        _ => None,
    }
}

fn edits_of(
    document: Document<'_>,
    set: &Part,
    change: &AnnotationChange,
    annotations: &Node,
) -> Option<Vec<Edit>> {
    let text = document.text;
    let (metadata_key, metadata) = set.entry("metadata")?;
    let Part::Map { at, flow, entries } = metadata else { return None };
    let new_map = |at: &Range<usize>| flow_map(document, annotations, at.start);
    match metadata.entry("annotations") {
        None if *flow => {
            // After the brace, with the spacing of the first entry.
            let inside = at.start + 1;
            let first = entries.first()?.0.place()?.start;
            let gap = text.get(inside..first).filter(|gap| gap.trim().is_empty())?;
            let text =
                format!("{gap}\"annotations\": {},", flow_map(document, annotations, first)?);
            Some(vec![Edit { at: inside..inside, text }])
        }
        None => {
            let lines = Lines::of_map(text, metadata_key, metadata)?;
            let mut block = lines.line("annotations:");
            block.push_str(&lines.deeper().entries(change));
            Some(vec![lines.insert(block)])
        }
        Some((_, Part::Map { at, flow: true, entries })) if *flow || !entries.is_empty() => {
            Some(vec![Edit { at: at.clone(), text: new_map(at)? }])
        }
        Some((_, nothing)) if *flow => {
            // null, or empty, which only flow maps of YAML allow.
            let at = nothing.place().filter(|at| !at.is_empty())?;
            Some(vec![Edit { at: at.clone(), text: new_map(at)? }])
        }
        Some((key, value @ Part::Map { flow: false, .. })) => block_edits(text, key, value, change),
        // `{}`, `null` or empty.
        Some((key, nothing)) => {
            let place = nothing.place()?.clone();
            let lines = Lines::below(text, key)?;
            let insert = lines.insert(lines.deeper().entries(change));
            let mut edits = vec![insert];
            if !place.is_empty() {
                edits.push(Edit { at: with_space_before(text, place), text: String::new() });
            }
            Some(edits)
        }
    }
}

fn block_edits(
    text: &str,
    key: &Part,
    annotations: &Part,
    change: &AnnotationChange,
) -> Option<Vec<Edit>> {
    let lines = Lines::of_map(text, key, annotations)?;
    let mut edits = Vec::new();
    let mut added = String::new();
    for (name, value) in change.iter() {
        match (annotations.entry(name), value) {
            (None, Some(value)) => added.push_str(&lines.entry(name, value)),
            (None, None) => {}
            (Some((_, old)), Some(value)) => {
                let Part::Scalar { at, style, .. } = old else { return None };
                if at.is_empty() || matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    return None;
                }
                edits.push(Edit { at: at.clone(), text: quoted(value) });
            }
            (Some((name, old)), None) => {
                let end = old.place()?.end.max(name.place()?.end);
                let start = line_start(text, name.place()?.start);
                edits.push(Edit { at: start..line_end(text, end), text: String::new() });
            }
        }
    }
    if !added.is_empty() {
        edits.push(lines.insert(added));
    }
    Some(edits)
}

/// The format of lines in a block map, and where to insert: below the line of the map's key.
struct Lines {
    at: usize,
    indent: usize,
    end: &'static str,
}

impl Lines {
    fn of_map(text: &str, key: &Part, map: &Part) -> Option<Self> {
        let Part::Map { entries, .. } = map else { return None };
        let first = entries.first()?.0.place()?.start;
        let start = line_start(text, first);
        let below = Self::below(text, key)?;
        let is_indent = text.get(start..first)?.bytes().all(|byte| byte == b' ');
        (is_indent && start >= below.at).then_some(Self { indent: first - start, ..below })
    }

    fn below(text: &str, key: &Part) -> Option<Self> {
        let key = key.place()?;
        let at = line_end(text, key.end);
        let line = text.get(..at)?;
        let end = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
        let start = line_start(text, key.start);
        line.ends_with('\n').then_some(Self { at, indent: key.start - start, end })
    }

    fn deeper(&self) -> Self {
        Self { indent: self.indent + 2, ..*self }
    }

    fn line(&self, text: &str) -> String {
        format!("{:indent$}{text}{}", "", self.end, indent = self.indent)
    }

    fn entry(&self, key: &str, value: &str) -> String {
        self.line(&format!("{key}: {}", quoted(value)))
    }

    fn entries(&self, change: &AnnotationChange) -> String {
        change.iter().filter_map(|(key, value)| Some(self.entry(key, value?))).collect()
    }

    fn insert(&self, text: String) -> Edit {
        Edit { at: self.at..self.at, text }
    }
}

/// Annotations as JSON, indented if the document is JSON of several lines.
fn flow_map(document: Document<'_>, annotations: &Node, at: usize) -> Option<String> {
    let text = document.text;
    if document.notation == Notation::Yaml || !text.trim_end().contains('\n') {
        return serde_json::to_string(annotations).ok();
    }
    let line = text.get(line_start(text, at)..)?;
    let indent = line.len() - line.trim_start_matches(' ').len();
    let newline = format!("\n{:indent$}", "");
    // Values in JSON contain no newlines.
    Some(serde_json::to_string_pretty(annotations).ok()?.replace('\n', &newline))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn with_space_before(text: &str, place: Range<usize>) -> Range<usize> {
    let at_end = text.get(place.end..).is_some_and(|after| after.starts_with(['\n', '\r']));
    let before = text.get(..place.start).filter(|_| at_end);
    let start = before.map_or(place.start, |before| before.trim_end_matches(' ').len());
    start..place.end
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    let newline = text.get(at..).and_then(|after| after.find('\n'));
    newline.map_or(text.len(), |newline| at + newline + 1)
}

fn apply(text: &str, mut edits: Vec<Edit>) -> Option<String> {
    edits.sort_by_key(|edit| (edit.at.start, edit.at.end));
    let mut result = String::with_capacity(text.len() + 1024);
    let mut done = 0;
    for edit in &edits {
        result.push_str(text.get(done..edit.at.start)?);
        result.push_str(&edit.text);
        done = edit.at.end;
    }
    result.push_str(text.get(done..)?);
    Some(result)
}
