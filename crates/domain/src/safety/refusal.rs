use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::effect::EffectKind;
use super::ledger::{Freeze, Reason};
use super::messages;
use crate::retry::{Category, Classified, Retry};

/// The end of a freeze requeues what it covers. This requeue is for what is missed by that.
const RECHECK: Duration = Duration::from_secs(300);

/// A freeze stopped a change; nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub effect: EffectKind,
    pub reason: Reason,
    source: Arc<str>,
    text: Arc<str>,
}

impl Refusal {
    pub(super) fn new(effect: EffectKind, freeze: &Freeze) -> Self {
        let Freeze { reason, source, text, since: _ } = freeze;
        Self { effect, reason: *reason, source: Arc::clone(source), text: Arc::clone(text) }
    }

    /// Reads after "frozen".
    pub fn cause(&self) -> String {
        messages::cause(self.reason, &self.source, &self.text)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&messages::refused(self.effect.as_str(), self.reason, &self.source, &self.text))
    }
}

impl std::error::Error for Refusal {}

impl Classified for Refusal {
    fn category(&self) -> Category {
        Category::Frozen
    }

    fn retry(&self) -> Retry {
        Retry::After(RECHECK)
    }
}
