//! Label lists in annotations: `key=value` pairs joined by commas.
//!
//! The pairs of users are kept. The list is sorted, and lists that differ only in order are equal.

use std::collections::BTreeMap;

/// Reads a list. Parts without `=` are dropped; the last of equal keys wins.
pub fn parse(list: &str) -> BTreeMap<&str, &str> {
    list.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.trim(), value.trim()))
        .filter(|(key, _)| !key.is_empty())
        .collect()
}

/// Writes a list, sorted by key.
pub fn join(pairs: &BTreeMap<&str, &str>) -> String {
    let length = pairs.iter().map(|(key, value)| key.len() + value.len() + 2).sum();
    let mut list = String::with_capacity(length);
    for (key, value) in pairs {
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(key);
        list.push('=');
        list.push_str(value);
    }
    list
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
