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

/// The list with `key=value`, or `None` if it contains the pair already.
pub fn with_pair(list: &str, key: &str, value: &str) -> Option<String> {
    let mut pairs = parse(list);
    if pairs.insert(key, value) == Some(value) {
        return None;
    }
    Some(join(&pairs))
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

    const ARCH: &str = "kubernetes.io/arch";

    #[test]
    fn users_pairs_are_kept_and_sorted() {
        let merged = with_pair("node-role.kubernetes.io/worker=,custom=value", ARCH, "amd64");
        assert_eq!(
            merged.as_deref(),
            Some("custom=value,kubernetes.io/arch=amd64,node-role.kubernetes.io/worker=")
        );
    }

    #[test]
    fn ignores_the_order() {
        assert_eq!(with_pair("z=1,kubernetes.io/arch=arm64,a=2", ARCH, "arm64"), None);
    }

    #[test]
    fn a_contradicting_value_is_replaced() {
        let merged = with_pair("kubernetes.io/arch=amd64,x=y", ARCH, "arm64");
        assert_eq!(merged.as_deref(), Some("kubernetes.io/arch=arm64,x=y"));
    }

    #[test]
    fn drops_parts_without_a_value() {
        let merged = with_pair(",,nonsense, a = b=c ,=v", ARCH, "amd64");
        assert_eq!(merged.as_deref(), Some("a=b=c,kubernetes.io/arch=amd64"));
    }
}
