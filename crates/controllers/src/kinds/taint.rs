//! Taints of Nodes.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use machinist_api::wire;
use serde_json::{Value, json};

/// A taint. Key and effect identify it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Taint {
    /// The key.
    pub key: Arc<str>,
    /// The value, if any.
    pub value: Option<Arc<str>>,
    /// NoSchedule, PreferNoSchedule or NoExecute.
    pub effect: Arc<str>,
    /// When it was added; only some effects have it.
    pub time_added: Option<Timestamp>,
}

impl Taint {
    /// Whether key and effect are equal.
    pub fn is_same(&self, other: &Self) -> bool {
        self.key == other.key && self.effect == other.effect
    }

    /// Reads a taint, each string passed through an interner.
    pub fn shared(wire: wire::Taint, share: impl Fn(String) -> Arc<str>) -> Self {
        Self {
            key: share(wire.key),
            value: wire.value.filter(|value| !value.is_empty()).map(&share),
            effect: share(wire.effect),
            time_added: wire.time_added,
        }
    }

    /// The taint in the object.
    pub fn to_json(&self) -> Value {
        let mut taint = json!({ "key": &*self.key, "effect": &*self.effect });
        if let Some(value) = self.value.as_deref().filter(|value| !value.is_empty()) {
            taint["value"] = json!(value);
        }
        if let Some(time) = self.time_added {
            taint["timeAdded"] = json!(time.to_string());
        }
        taint
    }
}

/// `key:effect`, its identity.
impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.key, self.effect)
    }
}
