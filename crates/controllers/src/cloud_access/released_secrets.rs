//! Which Secrets objects have stopped naming, until somebody has looked whether anybody else names them.
//!
//! Kept by object, and taken by the pass over that object: a pass over it that began before the change, and may still open the watch of what it
//! named then, is over by that time.

use std::collections::HashMap;

use machinist_domain::key::ObjectKey;
use parking_lot::Mutex;

/// Secrets that were named, by the object that named them.
#[derive(Debug, Default)]
pub struct ReleasedSecrets(Mutex<HashMap<ObjectKey, Vec<ObjectKey>>>);

impl ReleasedSecrets {
    /// `object` named `before` and now names `after`.
    pub fn changed(
        &self,
        object: &ObjectKey,
        before: Option<&ObjectKey>,
        after: Option<&ObjectKey>,
    ) {
        if let Some(secret) = before.filter(|before| after != Some(before)) {
            self.0.lock().entry(object.clone()).or_default().push(secret.clone());
        }
    }

    /// What `object` has stopped naming since this was last asked.
    pub fn take(&self, object: &ObjectKey) -> Vec<ObjectKey> {
        self.0.lock().remove(object).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_object_stops_naming_is_told_once() {
        let key = |name: &str| ObjectKey::new("ns", name);
        let released_secrets = ReleasedSecrets::default();
        released_secrets.changed(&key("a"), None, Some(&key("x")));
        released_secrets.changed(&key("a"), Some(&key("x")), Some(&key("x")));
        assert!(released_secrets.take(&key("a")).is_empty());
        released_secrets.changed(&key("a"), Some(&key("x")), Some(&key("y")));
        released_secrets.changed(&key("a"), Some(&key("y")), None);
        assert!(released_secrets.take(&key("b")).is_empty());
        assert_eq!(released_secrets.take(&key("a")), [key("x"), key("y")]);
        assert!(released_secrets.take(&key("a")).is_empty());
    }
}
