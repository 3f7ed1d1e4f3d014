//! How a provider reads credentials. They are never stored, logged or written to disk.

use std::collections::BTreeMap;

use machinist_domain::key::ObjectKey;
use machinist_domain::retry::Failure;

use crate::Pending;

/// The data of a Secret. Its `Debug` output contains only keys.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretData(pub BTreeMap<String, Vec<u8>>);

impl std::fmt::Debug for SecretData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl SecretData {
    /// A value as UTF-8 text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| std::str::from_utf8(value).ok())
    }
}

/// Reads Secrets.
pub trait SecretReader: Send + Sync {
    /// Reads a Secret now.
    fn read<'a>(&'a self, key: &'a ObjectKey) -> Pending<'a, Result<SecretData, Failure>>;
}
