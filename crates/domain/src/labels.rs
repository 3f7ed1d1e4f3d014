//! Label lists in annotations: `key=value` pairs joined by commas, sorted.

use std::collections::BTreeMap;

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
