//! Labels and annotations as the caches store them: sorted pairs in one allocation, far smaller than a map, and shared.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Pairs of name and value, sorted by name, each name once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Pairs(Arc<[Pair]>);

/// A name and its value.
pub type Pair = (Arc<str>, Arc<str>);

impl Pairs {
    /// The value under `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        self.0.get(at).map(|(_, value)| &**value)
    }

    /// Whether there is a value under `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// All pairs in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pairs of a map, each string passed through an interner.
    pub fn shared(map: BTreeMap<String, String>, share: impl Fn(String) -> Arc<str>) -> Self {
        if map.is_empty() {
            return Self::default();
        }
        Self(map.into_iter().map(|(name, value)| (share(name), share(value))).collect())
    }

    /// The same pairs, passed through an interner.
    #[must_use]
    pub fn stored_once(self, share: impl FnOnce(Arc<[Pair]>) -> Arc<[Pair]>) -> Self {
        if self.is_empty() { self } else { Self(share(self.0)) }
    }
}

impl From<BTreeMap<String, String>> for Pairs {
    fn from(map: BTreeMap<String, String>) -> Self {
        Self::shared(map, Arc::from)
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Pairs {
    fn from(pairs: [(&str, &str); N]) -> Self {
        let map: BTreeMap<_, _> =
            pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        map.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_pairs_by_name() {
        let pairs = Pairs::from([("b", "2"), ("a", "1"), ("c", "")]);
        assert_eq!(pairs.get("a"), Some("1"));
        assert_eq!(pairs.get("c"), Some(""));
        assert_eq!(pairs.get("d"), None);
        assert_eq!(pairs.iter().map(|(name, _)| name).collect::<String>(), "abc");
    }
}
