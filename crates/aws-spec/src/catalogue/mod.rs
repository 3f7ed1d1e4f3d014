//! The built-in catalogue of instance types, for use without EC2.
//!
//! It is a text file with one line per type, sorted by name and compiled in. A lookup is a binary search over its
//! lines; nothing is parsed up front. [`write()`] generates the file from what EC2 lists and the previous catalogue:
//! types that EC2 no longer lists stay, because old manifests name them.
//!
//! Not here: calls to EC2 (`provider-aws`).

mod entry;
mod write;

use std::cmp::Ordering;

use machinist_domain::shape::Capacity;

pub use self::entry::{Device, Entry};
pub use self::write::write;

static TEXT: &str = include_str!("../../data/instance-types.tsv");

/// The entry of a type.
pub fn lookup(instance_type: &str) -> Option<Entry<'static>> {
    Entry::parse(find(TEXT, instance_type)?)
}

/// The capacity of a node of this type.
pub fn capacity(instance_type: &str) -> Option<Capacity> {
    lookup(instance_type).map(|entry| entry.capacity())
}

/// Every type, sorted by name.
pub fn entries() -> impl Iterator<Item = Entry<'static>> {
    TEXT.lines().filter_map(Entry::parse)
}

/// The line that starts with `name` and a tab. Lines are sorted by the part before the first tab.
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
