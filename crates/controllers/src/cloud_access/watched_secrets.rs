//! The versions of Secrets, from one watch per referenced Secret or one watch on all. Only metadata is read. A watch on
//! one object needs no right on others; it is open while an object references the Secret.

use std::collections::HashMap;
use std::sync::Arc;

use machinist_domain::key::{ObjectKey, Version};
use machinist_runtime::cache::registry::Held;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::controller::start::Shared;
use parking_lot::Mutex;

use super::Listener;
use crate::first_list::{self, Target, Unreadable};
use crate::kinds::Secrets;

/// How Secrets are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretScope {
    /// One watch per referenced Secret, so that a Role can name them.
    Named,
    /// One watch on all Secrets of the process's scope.
    All,
}

/// The Secrets in use, each with its own watch unless one watch has all of them.
type InUse = Mutex<HashMap<ObjectKey, Option<Arc<Held<Secrets>>>>>;

pub(super) struct WatchedSecrets {
    shared: Arc<Shared>,
    listener: Listener,
    in_use: Arc<InUse>,
    all: Option<Arc<Cache<Secrets>>>,
}

impl WatchedSecrets {
    pub(super) fn new(shared: &Arc<Shared>, scope: SecretScope, listener: &Listener) -> Self {
        let in_use = Arc::<InUse>::default();
        let all = (scope == SecretScope::All).then(|| {
            let all = shared.caches.open(&shared.control, shared.scope.clone(), Secrets);
            let (in_use, listener) = (Arc::clone(&in_use), Arc::clone(listener));
            all.subscribe(move |change| {
                if change.is_news() && in_use.lock().contains_key(change.key) {
                    listener(Some(change.key));
                }
            });
            all
        });
        Self { shared: Arc::clone(shared), listener: Arc::clone(listener), in_use, all }
    }

    pub(super) async fn version(&self, key: &ObjectKey) -> Result<Option<Version>, Unreadable> {
        let what = || Target::Secret(key.clone());
        let patience = self.shared.timings.request;
        let entry = if let Some(all) = &self.all {
            // Before reading, so that no later change is missed.
            self.in_use.lock().entry(key.clone()).or_default();
            first_list::wait(all, what, patience).await?;
            all.get(key)
        } else {
            let one = self.watch(key);
            first_list::wait(&one, what, patience).await?;
            one.get(key)
        };
        Ok(entry.map(|entry| entry.meta().version))
    }

    pub(super) fn release(&self, key: &ObjectKey) {
        let watch = self.in_use.lock().remove(key);
        // Dropped outside of the lock: the last reference closes the watch.
        drop(watch);
    }

    pub(super) fn len(&self) -> usize {
        self.in_use.lock().len()
    }

    fn watch(&self, key: &ObjectKey) -> Arc<Held<Secrets>> {
        if let Some(Some(watch)) = self.in_use.lock().get(key) {
            return Arc::clone(watch);
        }
        // Opened outside of the lock: subscribing calls the listener, which may call this method.
        let scope = Scope::Object(key.clone());
        let watch = Arc::new(self.shared.caches.hold(&self.shared.control, scope, Secrets));
        let before = self.in_use.lock().insert(key.clone(), Some(Arc::clone(&watch)));
        if before.is_none() {
            let listener = Arc::clone(&self.listener);
            watch.subscribe(move |change| {
                if change.is_news() {
                    listener(Some(change.key));
                }
            });
        }
        watch
    }
}
