//! How an object is named in queues, caches and logs.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Namespace and name of an object of a kind that the context knows.
///
/// Cloning costs two reference counts and no allocation: keys travel through queues all the time.
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

/// The text of a uid. One of the usual length is kept in place: caches hold several for each machine, and an allocation for each would cost twice
/// as much.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct UidText(Place);

/// Where the text is. A text that fits is always in place, so that equal texts are equal here.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Place {
    Here { length: u8, bytes: [u8; UidText::USUAL] },
    Elsewhere(Arc<str>),
}

impl UidText {
    /// The length of a UUID, which is what API servers give.
    const USUAL: usize = 36;
}

impl Deref for UidText {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            // Both fall-backs are for the compiler: the bytes were copied from a text of this length.
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

impl From<&UidText> for Arc<str> {
    fn from(text: &UidText) -> Self {
        Self::from(&**text)
    }
}

impl fmt::Debug for UidText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The version of an object in the store.
///
/// Kubernetes promises since 1.35, and has done in fact since etcd 3, that versions of one kind can be compared as numbers. Zero
/// means that the version could not be read: it is older than everything.
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
    fn a_uid_says_what_it_was_made_from_whatever_its_length() {
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
    fn a_uid_takes_no_more_than_its_text() {
        assert_eq!(size_of::<Uid>(), 40);
    }
}
