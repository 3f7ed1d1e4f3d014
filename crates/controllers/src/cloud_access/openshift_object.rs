//! An object that only OpenShift has. It is watched from its first use on; on other clusters nothing is watched.

use std::sync::{Arc, OnceLock};

use machinist_domain::key::ObjectKey;
use machinist_domain::retry::{Classified as _, Failure};
use machinist_runtime::cache::kind::Kind;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::cluster::ApiError;
use machinist_runtime::controller::start::Shared;

use super::messages;
use crate::first_list::{self, Target};
use crate::kinds::{Certificates, Infrastructures};
use crate::openshift::OpenShift;

#[derive(Debug)]
pub(crate) struct OpenShiftObject<K: Kind> {
    shared: Arc<Shared>,
    openshift: OpenShift,
    key: ObjectKey,
    kind: K,
    watch: OnceLock<Arc<Cache<K>>>,
}

impl OpenShiftObject<Infrastructures> {
    pub(crate) fn infrastructure(shared: &Arc<Shared>, openshift: &OpenShift) -> Self {
        Self::new(shared, openshift, ObjectKey::new("", "cluster"), Infrastructures)
    }
}

impl OpenShiftObject<Certificates> {
    pub(crate) fn certificates(shared: &Arc<Shared>, openshift: &OpenShift) -> Self {
        let key = ObjectKey::new("openshift-config-managed", "kube-cloud-config");
        Self::new(shared, openshift, key, Certificates)
    }
}

impl<K: Kind + Copy> OpenShiftObject<K> {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        openshift: &OpenShift,
        key: ObjectKey,
        kind: K,
    ) -> Self {
        let (shared, openshift) = (Arc::clone(shared), openshift.clone());
        Self { shared, openshift, key, kind, watch: OnceLock::new() }
    }

    /// The object; `None` if it does not exist. Missing rights, no answer and an object that cannot be decoded are
    /// errors, not absence: it may name another endpoint for the credentials. `opened` is called with a new watch.
    pub(crate) async fn get(
        &self,
        opened: impl FnOnce(&Cache<K>),
    ) -> Result<Option<Arc<K::Stored>>, Failure> {
        if self.watch.get().is_none()
            && !self.openshift.is_here().await.map_err(|error| error.failure())?
        {
            return Ok(None);
        }
        let mut is_new = false;
        let watch = self.watch.get_or_init(|| {
            is_new = true;
            let scope = Scope::Object(self.key.clone());
            self.shared.caches.open(&self.shared.control, scope, self.kind)
        });
        if is_new {
            opened(watch);
        }
        let what = format!("{} {}", K::RESOURCE.kind, self.key);
        let target = || Target::Other(what.clone());
        let patience = self.shared.timings.request;
        first_list::wait(watch, target, patience).await.map_err(|error| error.failure())?;
        match watch.get(&self.key) {
            None => Ok(None),
            Some(Entry::Known(object)) => Ok(Some(object)),
            Some(Entry::Undecodable(object)) => {
                let text = messages::undecodable(&what, &object.error);
                Err(ApiError::NotUnderstood(text).failure())
            }
        }
    }
}
