//! Names, uids and versions of objects.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Namespace and name of an object. Cloning does not allocate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// A key from its two parts.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// The uid of an object: unique over all time, unlike its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Uid(pub UidText);

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text of a uid, stored inline if it has the usual length: caches hold several per Machine.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct UidText(Place);

/// A text that fits is always inline, so equal texts compare equal.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Place {
    Here { length: u8, bytes: [u8; UidText::USUAL] },
    Elsewhere(Arc<str>),
}

impl UidText {
    /// The length of a UUID.
    const USUAL: usize = 36;
}

impl Deref for UidText {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            // Neither fallback happens: the bytes are a copy of a text of this length.
            Place::Here { length, bytes } => {
                let bytes = bytes.get(..usize::from(*length)).unwrap_or_default();
                std::str::from_utf8(bytes).unwrap_or_default()
            }
            Place::Elsewhere(text) => text,
        }
    }
}

impl From<&str> for UidText {
    fn from(text: &str) -> Self {
        let mut bytes = [0; Self::USUAL];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(room), Ok(length)) => {
                room.copy_from_slice(text.as_bytes());
                Self(Place::Here { length, bytes })
            }
            _ => Self(Place::Elsewhere(text.into())),
        }
    }
}

impl From<String> for UidText {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl fmt::Debug for UidText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// A `resourceVersion`: comparable numbers (guaranteed since 1.35). Zero is unreadable, and older than all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version(pub u64);

impl Version {
    /// Reads a `resourceVersion`.
    pub fn parse(raw: &str) -> Self {
        Self(raw.parse().unwrap_or(0))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_of_any_length_survive_a_round_trip() {
        let usual = "6a7b41c9-8f3e-4a2b-9d57-0c1f2e3d4b5a";
        let long = format!("{usual}-and-more");
        for text in ["", "u", "\u{fc}id", usual, &long] {
            let uid = Uid(text.into());
            assert_eq!((&*uid.0, uid.to_string().as_str()), (text, text));
            assert_eq!(uid, Uid(text.to_owned().into()));
        }
        assert_ne!(Uid("a".into()), Uid("a\0".into()));
    }

    #[test]
    fn uid_has_no_overhead() {
        assert_eq!(size_of::<Uid>(), 40);
    }
}
