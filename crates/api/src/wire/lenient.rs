//! Lenient decoding: `null` for a list or object, and invalid times.
//!
//! A value of the wrong type is still an error, so that the object is undecodable rather than empty.

use std::fmt;

use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, IgnoredAny, Visitor};

/// `null` is the default: Go writes it for an empty list.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(deserializer)?.is_some())
}

/// A time; `None` if it is invalid.
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
