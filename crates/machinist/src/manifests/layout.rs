//! Positions of the parts of a YAML document in its text. JSON is YAML, too.

use std::ops::Range;

use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, Span, StructureStyle};

#[derive(Debug)]
pub(crate) enum Part {
    Scalar { at: Range<usize>, text: String, style: ScalarStyle },
    List { items: Vec<Part> },
    Map { at: Range<usize>, flow: bool, entries: Vec<(Part, Part)> },
    Alias,
}

impl Part {
    pub(crate) fn entry(&self, key: &str) -> Option<(&Self, &Self)> {
        let Self::Map { entries, .. } = self else { return None };
        let found = entries
            .iter()
            .find(|(name, _)| matches!(name, Self::Scalar { text, .. } if text == key))?;
        Some((&found.0, &found.1))
    }

    pub(crate) fn place(&self) -> Option<&Range<usize>> {
        match self {
            Self::Scalar { at, .. } | Self::Map { at, .. } => Some(at),
            Self::List { .. } | Self::Alias => None,
        }
    }
}

enum Open {
    List(Vec<Part>),
    Map { start: usize, flow: bool, entries: Vec<(Part, Part)>, key: Option<Part> },
}

/// The parts of the first document; `None` if it cannot be parsed.
pub(crate) fn read(text: &str) -> Option<Part> {
    let options = granit_parser::options! { emit_comments: false };
    let mut open: Vec<Open> = Vec::new();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.ok()?;
        let part = match event {
            Event::Scalar(value, style, ..) => {
                Part::Scalar { at: range(&span)?, text: value.into_owned(), style }
            }
            Event::Alias(_) => Part::Alias,
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(style, ..) => {
                let start = span.start.byte_offset()?;
                let flow = style == StructureStyle::Flow;
                open.push(Open::Map { start, flow, entries: Vec::new(), key: None });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop()? {
                Open::List(items) => Part::List { items },
                Open::Map { start, flow, entries, .. } => {
                    Part::Map { at: start..span.end.byte_offset()?, flow, entries }
                }
            },
            _ => continue,
        };
        match open.last_mut() {
            None => return Some(part),
            Some(Open::List(items)) => items.push(part),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                None => *key = Some(part),
                Some(name) => entries.push((name, part)),
            },
        }
    }
    None
}

fn range(span: &Span) -> Option<Range<usize>> {
    Some(span.start.byte_offset()?..span.end.byte_offset()?)
}
