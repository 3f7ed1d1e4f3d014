//! Accepts `null` and invalid times. A wrong type is still an error: the object is undecodable rather than empty.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

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
    /// A plain `Cow` would be allocated.
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    let text = Option::<Text<'de>>::deserialize(deserializer)?;
    Ok(text.and_then(|Text(text)| text.parse().ok()))
}
