//! Many tallies together, kept within what can be stored: an object of Kubernetes has an end.

use std::collections::BTreeMap;

use super::Tally;

/// Leaves out whole tallies, those with the fewest first, until the texts of all that stay, with what `besides` says of their keys, come to no more
/// than `most` bytes. `count` says how many a tally counts: whoever has many of them is wanted most.
pub fn bound<K: Ord + Clone>(
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
