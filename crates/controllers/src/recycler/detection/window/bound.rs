//! Bounds the size of many tallies together.

use std::collections::BTreeMap;

use super::Tally;

/// Drops the tallies with the lowest `count` until the texts of all, with `besides` bytes for each key, fit into `most`
/// bytes.
pub(crate) fn bound<K: Ord + Clone>(
    tallies: &mut BTreeMap<K, Tally>,
    most: usize,
    besides: impl Fn(&K) -> usize,
    count: impl Fn(&Tally) -> u64,
) {
    let size = |key: &K, tally: &Tally| tally.longest_text() + besides(key);
    let mut total: usize = tallies.iter().map(|(key, tally)| size(key, tally)).sum();
    if total <= most {
        return;
    }
    let mut fewest: Vec<_> =
        tallies.iter().map(|(key, tally)| (count(tally), key.clone())).collect();
    fewest.sort();
    for (_, key) in fewest {
        if total <= most {
            return;
        }
        if let Some(tally) = tallies.remove(&key) {
            total -= size(&key, &tally);
        }
    }
}
