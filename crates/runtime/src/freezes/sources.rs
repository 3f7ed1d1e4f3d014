//! Keeps the ledger up to date from caches.

use std::sync::Arc;

use machinist_api::names::FREEZE_CONFIG_MAP;
use machinist_api::resource::NAMESPACES;
use machinist_domain::key::ObjectKey;
use machinist_domain::safety::messages::{annotation, switch};
use machinist_domain::safety::{ObjectRef, Reason, Scope};

use super::Freezes;
use super::kinds::{FreezeConfigMaps, Namespaces};
use crate::cache::kind::{Kind, Stored};
use crate::cache::registry::Caches;
use crate::cache::store::Entry;
use crate::cache::{self, AnyCache, Cache};
use crate::cluster::{ApiError, Cluster};
use crate::messages;
use crate::readiness::Mark;

/// An object that may have the annotation `machinist.dev/freeze`.
pub trait Freezable: Stored {
    /// The value of the annotation.
    fn freeze(&self) -> Option<&str>;

    /// The controller owner, whose freeze covers this object, too.
    fn parent(&self) -> Option<ObjectRef> {
        None
    }
}

/// What is watched for freezes alone.
#[derive(Debug)]
pub(super) struct Sources {
    switch: Arc<Cache<FreezeConfigMaps>>,
    namespaces: Arc<Cache<Namespaces>>,
}

impl Sources {
    fn all(&self) -> [&dyn AnyCache; 2] {
        [&*self.switch, &*self.namespaces]
    }

    /// Why it is not known what is frozen. Without the answer no controller starts.
    pub(super) fn unread(&self) -> Option<(Mark, String)> {
        let unread = self.all().into_iter().find(|cache| !cache.state().synced)?;
        let trouble = unread.state().trouble;
        let forbidden = trouble.as_ref().is_some_and(ApiError::is_forbidden);
        let mark = if forbidden { Mark::NeedsAction } else { Mark::Failed };
        Some((mark, messages::freezes_unread(unread.resource(), trouble.as_ref())))
    }
}

impl Freezes {
    /// Watches the ConfigMap in this namespace, and the Namespaces of the scope.
    pub(crate) fn watch(
        self: &Arc<Self>,
        caches: &Caches,
        control: &Cluster,
        scope: &cache::Scope,
        namespace: &str,
    ) {
        let key = ObjectKey::new(namespace, FREEZE_CONFIG_MAP);
        let switch_scope = cache::Scope::Object(key.clone());
        let namespaces = match scope.namespace() {
            None => cache::Scope::All,
            Some(name) => cache::Scope::Object(ObjectKey::new("", name)),
        };
        let sources = Sources {
            switch: caches.open(control, switch_scope, FreezeConfigMaps),
            namespaces: caches.open(control, namespaces, Namespaces),
        };
        let source: Arc<str> = switch(namespace).into();
        self.attend(&sources.switch, move |_| (Scope::Cluster, Arc::clone(&source)));
        self.attend(&sources.namespaces, |namespace| {
            let object = ObjectRef { kind: NAMESPACES.kind, key: namespace.clone() };
            (Scope::Namespace(Arc::clone(&namespace.name)), annotation(&object).into())
        });
        // A second call would watch the same.
        drop(self.sources.set(sources));
    }

    /// Waits until it is known what is frozen.
    pub(crate) async fn wait_known(&self) {
        let Some(sources) = self.sources.get() else { return };
        for cache in sources.all() {
            cache.wait_synced().await;
        }
        self.monitors.wait_synced().await;
    }

    /// Obeys the annotation on the objects of this cache. A freeze of an object covers what it owns.
    pub fn follow<K: Kind>(self: &Arc<Self>, cache: &Arc<Cache<K>>)
    where
        K::Stored: Freezable,
    {
        let kind = K::RESOURCE.kind;
        let objects = Arc::downgrade(cache);
        let parent = move |key: &ObjectKey| objects.upgrade()?.get(key)?.known()?.parent();
        // Controllers share caches.
        if self.parents.write().insert(kind, Box::new(parent)).is_none() {
            self.attend(cache, move |key| {
                let object = ObjectRef { kind, key: key.clone() };
                let source = annotation(&object).into();
                (Scope::Object(object), source)
            });
        }
    }

    fn attend<K: Kind>(
        self: &Arc<Self>,
        cache: &Cache<K>,
        scope_of: impl Fn(&ObjectKey) -> (Scope, Arc<str>) + Clone + Send + Sync + 'static,
    ) where
        K::Stored: Freezable,
    {
        // Weak: the sources keep caches already, so they would keep each other for ever.
        let (freezes, scoped) = (Arc::downgrade(self), scope_of.clone());
        cache.attend(move |before, after, _| {
            if is_news(before, after)
                && let (Some(entry), Some(freezes)) = (after.or(before), freezes.upgrade())
            {
                let (scope, source) = scoped(&entry.meta().key);
                let text = after.and_then(asked);
                let asked = text.map(|text| (source, text.into()));
                freezes.put(&scope, Reason::Requested, asked);
            }
        });
        let freezes = Arc::downgrade(self);
        cache.subscribe(move |change| {
            if is_news(change.before, change.after)
                && let Some(freezes) = freezes.upgrade()
            {
                freezes.notify(&scope_of(change.key).0);
            }
        });
    }
}

/// An object that cannot be decoded keeps its freeze: it may still have the annotation.
fn is_news<T: Freezable>(before: Option<&Entry<T>>, after: Option<&Entry<T>>) -> bool {
    match (before, after) {
        (_, Some(Entry::Undecodable(_))) => false,
        (Some(Entry::Undecodable(_)), _) => true,
        (before, after) => before.and_then(asked) != after.and_then(asked),
    }
}

fn asked<T: Freezable>(entry: &Entry<T>) -> Option<&str> {
    entry.known().and_then(|object| object.freeze())
}
