//! The built-in catalogue of instance types: what EC2 says of each, for when EC2 cannot be asked.
//!
//! One text file, a line per type, sorted by name, is part of the binary. A look-up is a binary search over its lines, so nothing
//! is parsed or allocated before somebody asks. [`write()`] makes the file, from what EC2 lists and what is in the catalogue already:
//! types that EC2 no longer lists stay, because old manifests name them.
//!
//! Not here: asking EC2 (`provider-aws`).

mod entry;
mod write;

use std::cmp::Ordering;

use machinist_domain::shape::Capacity;

pub use self::entry::{Device, Entry};
pub use self::write::write;

static TEXT: &str = include_str!("../../data/instance-types.tsv");

/// What is known of a type.
pub fn lookup(instance_type: &str) -> Option<Entry<'static>> {
    Entry::parse(find(TEXT, instance_type)?)
}

/// What a machine of this type gives.
pub fn capacity(instance_type: &str) -> Option<Capacity> {
    lookup(instance_type).map(|entry| entry.capacity())
}

/// Every type, sorted by name.
pub fn entries() -> impl Iterator<Item = Entry<'static>> {
    TEXT.lines().filter_map(Entry::parse)
}

/// The line that begins with `name` and a tab. Lines are sorted by what comes before their first tab.
fn find<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let is_end = |byte: &u8| *byte == b'\n';
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let before = text.as_bytes().get(low..middle)?;
        let start = before.iter().rposition(is_end).map_or(low, |at| low + at + 1);
        let after = text.as_bytes().get(middle..high)?;
        let end = after.iter().position(is_end).map_or(high, |at| middle + at);
        let line = text.get(start..end)?;
        match line.split('\t').next().unwrap_or(line).cmp(name) {
            Ordering::Less => low = end + 1,
            Ordering::Greater => high = start,
            Ordering::Equal => return Some(line),
        }
    }
    None
}

#[cfg(test)]
mod tests;
