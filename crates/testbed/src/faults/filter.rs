use std::{fmt, sync::Arc};

use serde_json::Value;

type Predicate = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// Events to hide. Parts that are given must all hold; an empty filter hides everything.
#[derive(Clone, Default)]
pub struct EventFilter {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`; empty means any.
    pub types: Vec<String>,
    pub name: Option<String>,
    predicate: Option<Predicate>,
}

impl EventFilter {
    pub fn all() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn types<'a>(mut self, types: impl IntoIterator<Item = &'a str>) -> Self {
        self.types = types.into_iter().map(str::to_owned).collect();
        self
    }

    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// It sees the whole event, `type` and `object`.
    #[must_use]
    pub fn that(mut self, predicate: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        self.predicate = Some(Arc::new(predicate));
        self
    }

    /// A line that is not JSON is never hidden.
    pub(super) fn hides(&self, line: &[u8]) -> bool {
        let Ok(event) = serde_json::from_slice::<Value>(line) else {
            return false;
        };
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
        (self.types.is_empty()
            || text("/type").is_some_and(|found| self.types.iter().any(|wanted| wanted == found)))
            && self.name.as_deref().is_none_or(|name| text("/object/metadata/name") == Some(name))
            && self.predicate.as_ref().is_none_or(|predicate| predicate(&event))
    }
}

impl fmt::Debug for EventFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventFilter")
            .field("types", &self.types)
            .field("name", &self.name)
            .field("predicate", &self.predicate.is_some())
            .finish()
    }
}
