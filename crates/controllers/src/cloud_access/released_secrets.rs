//! Secrets that objects do not reference any more, until it is checked whether another object does. The next reconcile
//! of the object takes them: one that began before the change, and may still open the old watch, is over by then.

use std::collections::HashMap;

use machinist_domain::key::ObjectKey;
use parking_lot::Mutex;

/// Released Secrets by the object that referenced them.
#[derive(Debug, Default)]
pub(crate) struct ReleasedSecrets(Mutex<HashMap<ObjectKey, Vec<ObjectKey>>>);

impl ReleasedSecrets {
    pub(crate) fn changed(
        &self,
        object: &ObjectKey,
        before: Option<&ObjectKey>,
        after: Option<&ObjectKey>,
    ) {
        if let Some(secret) = before.filter(|before| after != Some(before)) {
            self.0.lock().entry(object.clone()).or_default().push(secret.clone());
        }
    }

    /// The Secrets that `object` has released since the last call.
    pub(crate) fn take(&self, object: &ObjectKey) -> Vec<ObjectKey> {
        self.0.lock().remove(object).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_released_secrets_once() {
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
