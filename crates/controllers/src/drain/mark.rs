//! The annotation `machinist.dev/drain` on a Node. The write that cordons carries it. The Machine's `deletionTimestamp`
//! is no substitute: hooks and other control-plane nodes may delay a drain for hours.

use std::fmt;

use jiff::Timestamp;
use machinist_api::names::ANNOTATION_DRAIN;

use crate::kinds::Node;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub started: Timestamp,
    /// Whether the drain has cordoned it (it was schedulable before).
    pub cordoned: bool,
}

impl Mark {
    pub(crate) fn of(node: &Node) -> Option<Self> {
        Self::read(node.annotations.get(ANNOTATION_DRAIN)?)
    }

    pub fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let ("v1", started, cordon) = (words.next()?, words.next()?, words.next()?) else {
            return None;
        };
        let cordoned = match cordon {
            "cordoned" => true,
            "found-cordoned" => false,
            _ => return None,
        };
        Some(Self { started: started.parse().ok()?, cordoned })
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cordon = if self.cordoned { "cordoned" } else { "found-cordoned" };
        write!(f, "v1 {} {cordon}", self.started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        for cordoned in [true, false] {
            let mark = Mark { started: "2026-01-02T03:04:05Z".parse().unwrap(), cordoned };
            assert_eq!(Mark::read(&mark.to_string()), Some(mark));
        }
        let text = Mark { started: Timestamp::UNIX_EPOCH, cordoned: true }.to_string();
        assert_eq!(text, "v1 1970-01-01T00:00:00Z cordoned");
        for text in [
            "",
            "v1",
            "v1 yesterday cordoned",
            "v2 1970-01-01T00:00:00Z cordoned",
            "v1 1970-01-01T00:00:00Z x",
        ] {
            assert_eq!(Mark::read(text), None, "{text:?}");
        }
    }
}
