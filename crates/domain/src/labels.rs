//! Kubernetes' rules for labels, and label lists in annotations: `key=value` pairs joined by commas, sorted.

use std::collections::BTreeMap;

const LONGEST: usize = 63;
const LONGEST_PREFIX: usize = 253;

/// Whether it is a valid key: a name, with or without a domain before it.
pub fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_domain(prefix) && is_label_value(name),
        None => is_label_value(key),
    }
}

/// Whether it is a valid value that is not empty.
pub fn is_label_value(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(inner) && ends_well(text)
}

fn is_domain(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= LONGEST_PREFIX
        && text.split('.').all(|part| part.bytes().all(inner) && ends_well(part))
}

fn ends_well(text: &str) -> bool {
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    outer(text.as_bytes().first()) && outer(text.as_bytes().last())
}

/// Reads a list. Parts without `=` are dropped; the last of equal keys wins.
pub(crate) fn parse(list: &str) -> BTreeMap<&str, &str> {
    list.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.trim(), value.trim()))
        .filter(|(key, _)| !key.is_empty())
        .collect()
}

/// Writes a list, sorted by key.
pub(crate) fn join(pairs: &BTreeMap<&str, &str>) -> String {
    let pairs: Vec<_> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_sorts_what_parse_reads() {
        let pairs = parse("node-role.kubernetes.io/worker=,custom=value,a=1,a=2");
        assert_eq!(join(&pairs), "a=2,custom=value,node-role.kubernetes.io/worker=");
    }

    #[test]
    fn parse_drops_pieces_that_are_not_pairs() {
        assert_eq!(join(&parse(",,nonsense, a = b=c ,=v")), "a=b=c");
    }
}
