//! How a wire type takes what is odd: `null` where a list or object is meant, a time that is none.
//!
//! Only the harmless is forgiven. A value of the wrong type is still an error, so that the object counts as undecodable
//! instead of as one that says nothing.

use std::fmt;

use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, IgnoredAny, Visitor};

/// `null` is the same as nothing: Go writes it for an empty list.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Whether something is there, whatever it is.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(deserializer)?.is_some())
}

/// A time, read without keeping its text. What is no time is `None`.
pub(super) fn time<'de, D>(deserializer: D) -> Result<Option<Timestamp>, D::Error>
where
    D: Deserializer<'de>,
{
    struct Time;

    impl Visitor<'_> for Time {
        type Value = Option<Timestamp>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a time")
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(text.parse().ok())
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(Time)
}
