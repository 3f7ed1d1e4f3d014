//! How long a drain may take before it is forced. As for `kubectl drain --timeout`, zero means forever.

use std::time::Duration;

use jiff::SignedDuration;

const NEVER: &str = "never";

/// `None` if the drain is never forced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timeout(pub Option<Duration>);

impl Timeout {
    /// Reads a duration such as `30m`, or `never` or `0`; `None` if it is neither.
    pub fn read(text: &str) -> Option<Self> {
        if text == NEVER || text == "0" {
            return Some(Self(None));
        }
        let time = Duration::try_from(text.parse::<SignedDuration>().ok()?).ok()?;
        Some(Self((!time.is_zero()).then_some(time)))
    }
}

/// The timeout of one Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Limit {
    /// That of the process.
    #[default]
    Default,
    /// By annotation.
    Own(Timeout),
    /// The annotation cannot be read. Then the drain is not forced.
    Invalid(Box<str>),
}

impl Limit {
    pub(super) fn of(annotation: Option<&str>) -> Self {
        let Some(text) = annotation else { return Self::Default };
        Timeout::read(text).map_or_else(|| Self::Invalid(text.into()), Self::Own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations_and_never() {
        let minutes = |minutes: u64| Some(Timeout(Some(Duration::from_secs(60 * minutes))));
        for (text, expected) in [
            ("30m", minutes(30)),
            ("1h30m", minutes(90)),
            ("never", Some(Timeout(None))),
            ("0", Some(Timeout(None))),
            ("0s", Some(Timeout(None))),
            ("", None),
            ("30", None),
            ("-5m", None),
            ("Never", None),
            ("soon", None),
        ] {
            assert_eq!(Timeout::read(text), expected, "{text:?}");
        }
    }
}
