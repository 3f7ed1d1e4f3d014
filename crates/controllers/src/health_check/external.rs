//! Reads what external remediation needs: the template of a health check, and the remediation objects that exist.
//!
//! Their kinds are known at run time only, by discovery. Their caches are opened when a health check names them, and
//! closed with the last one that does.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use machinist_api::resource::Resource;
use machinist_api::wire;
use machinist_domain::expiring::ExpiringMap;
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::retry::Classified as _;
use machinist_runtime::cache::registry::Held;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::cache::{Cache, Scope};
use machinist_runtime::cluster::{ApiError, Session};
use machinist_runtime::controller::start::Shared;
use machinist_runtime::queue::Queue;
use machinist_runtime::user_agent::UserAgent;
use parking_lot::Mutex;

use super::messages;
use super::request::TEMPLATE;
use super::snapshot::{External, Member, Template, Unavailable};
use crate::discovery;
use crate::first_list::FirstList;
use crate::kinds::{MachineHealthCheck, RemediationRequests, RemediationTemplates};

/// The share of the request timeout for a first list: it is fast, or forbidden.
const PATIENCE_SHARE: u32 = 6;

#[derive(Debug)]
pub(super) struct ExternalRemediation {
    shared: Arc<Shared>,
    session: Session,
    queue: OnceLock<Arc<Queue>>,
    /// By health check.
    open: Mutex<HashMap<ObjectKey, Arc<Sources>>>,
    /// When an object was created for a Machine. Lost by a restart, after which one may be created too early.
    created: Mutex<ExpiringMap<Uid, Timestamp>>,
    /// How long after that no other one is created for the Machine. Within this time, a lost create may be executed.
    pause: Duration,
}

#[derive(Debug)]
pub(super) struct Sources {
    reference: wire::RemediationTemplate,
    template_resource: Resource,
    request_resource: Resource,
    template: Held<RemediationTemplates>,
    requests: Held<RemediationRequests>,
    template_list: FirstList,
    requests_list: FirstList,
}

impl Sources {
    /// The remediation objects of the kind in the namespace.
    pub(super) fn requests(&self) -> &Cache<RemediationRequests> {
        &self.requests
    }
}

impl ExternalRemediation {
    pub(super) fn new(shared: &Arc<Shared>, pause: Duration) -> Self {
        Self {
            shared: Arc::clone(shared),
            session: shared.control.session(UserAgent::START),
            queue: OnceLock::new(),
            open: Mutex::default(),
            created: Mutex::default(),
            pause,
        }
    }

    pub(super) fn notify(&self, queue: &Arc<Queue>) {
        drop(self.queue.set(Arc::clone(queue)));
    }

    pub(super) fn of(&self, check: &ObjectKey) -> Option<Arc<Sources>> {
        self.open.lock().get(check).map(Arc::clone)
    }

    pub(super) fn close(&self, check: &ObjectKey) {
        let sources = self.open.lock().remove(check);
        // Dropped outside of the lock: the last reference closes the caches.
        drop(sources);
    }

    pub(super) fn created(&self, machine: &Uid) {
        let (now, uptime) = (self.shared.clock.now(), self.shared.clock.uptime());
        self.created.lock().insert(machine.clone(), now, uptime, self.pause);
    }

    /// When the next object may be created for the Machine, if that is later.
    fn pause_of(&self, machine: &Uid) -> Option<Timestamp> {
        let created = *self.created.lock().get(machine, self.shared.clock.uptime())?;
        created.checked_add(self.pause).ok()
    }

    /// Adds the remediation objects to the members. `None` if the health check has no template.
    pub(super) async fn observe(
        &self,
        check: &MachineHealthCheck,
        members: &mut [Member],
    ) -> Result<Option<External>, ApiError> {
        let key = &check.meta.key;
        let Some(reference) = check.template.as_ref().filter(|_| !check.meta.deleting) else {
            self.close(key);
            return Ok(None);
        };
        let sources = match self.sources(key, reference).await {
            Ok(sources) => sources,
            Err(external) => return Ok(Some(*external)),
        };
        let template = self.template(&sources, key).await;
        let requests = match sources.requests_list.of(sources.requests()).await {
            Ok(()) => Ok(()),
            Err(error) => Err(Unavailable::Unreadable(error.failure())),
        };
        if requests.is_ok() {
            let keys = members.iter().map(|member| &member.meta.key);
            sources.requests().certain_among(keys).await?;
            for member in members {
                let found = sources.requests().get(&member.meta.key);
                member.request = found.and_then(|entry| entry.known().map(Arc::clone));
                member.request_pause = self.pause_of(&member.meta.uid);
            }
        }
        let kind = sources.request_resource.kind;
        Ok(Some(External { kind: kind.to_owned(), template, requests }))
    }

    async fn template(
        &self,
        sources: &Sources,
        check: &ObjectKey,
    ) -> Result<Template, Unavailable> {
        if let Err(error) = sources.template_list.of(&sources.template).await {
            return Err(Unavailable::Unreadable(error.failure()));
        }
        let key = ObjectKey::new(Arc::clone(&check.namespace), sources.reference.name.as_str());
        let template = match sources.template.get(&key) {
            None => return Err(Unavailable::NotFound(key)),
            Some(Entry::Undecodable(object)) => {
                return Err(Unavailable::Undecodable(key, object.error.clone()));
            }
            Some(Entry::Known(template)) => template,
        };
        let body = template.template.clone().filter(|body| body.is_object());
        let body = body.ok_or_else(|| Unavailable::Empty(key.clone()))?;
        let Resource { group, kind, .. } = sources.template_resource;
        Ok(Template {
            name: sources.reference.name.clone(),
            group_kind: format!("{kind}.{group}"),
            request_kind: sources.request_resource.kind,
            body,
        })
    }

    /// The caches of a health check, opened if its kinds are served.
    async fn sources(
        &self,
        check: &ObjectKey,
        reference: &wire::RemediationTemplate,
    ) -> Result<Arc<Sources>, Box<External>> {
        if let Some(known) = self.of(check).filter(|known| known.reference == *reference) {
            return Ok(known);
        }
        self.close(check);
        let request_kind = reference.kind.strip_suffix(TEMPLATE).unwrap_or(&reference.kind);
        let template = self.served(&reference.api_version, &reference.kind).await;
        let request = self.served(&reference.api_version, request_kind).await;
        let (template_resource, request_resource) = match (template, request) {
            (Ok(template), Ok(request)) => (template, request),
            (template, request) => {
                let not_listed = || Unavailable::NotListed(request_kind.to_owned());
                return Err(Box::new(External {
                    kind: request_kind.to_owned(),
                    template: Err(template.err().unwrap_or_else(not_listed)),
                    requests: request.map(drop),
                }));
            }
        };
        let (caches, control) = (&self.shared.caches, &self.shared.control);
        let key = ObjectKey::new(Arc::clone(&check.namespace), reference.name.as_str());
        let namespace = Scope::Namespace(check.namespace.to_string());
        let (templates, requests) =
            (RemediationTemplates(template_resource), RemediationRequests(request_resource));
        let patience = self.shared.timings.request / PATIENCE_SHARE;
        let sources = Arc::new(Sources {
            reference: reference.clone(),
            template_resource,
            request_resource,
            template: caches.hold(control, Scope::Object(key), templates),
            requests: caches.hold(control, namespace, requests),
            template_list: FirstList::new(patience),
            requests_list: FirstList::new(patience),
        });
        self.subscribe(check, &sources);
        self.open.lock().insert(check.clone(), Arc::clone(&sources));
        Ok(sources)
    }

    /// Reconciles the health check when one of the objects changes.
    fn subscribe(&self, check: &ObjectKey, sources: &Arc<Sources>) {
        let Some(queue) = self.queue.get() else { return };
        // Another health check may keep a cache open for longer.
        let (queue, check, alive) = (Arc::clone(queue), check.clone(), Arc::downgrade(sources));
        let (other_queue, other_check, other_alive) = (queue.clone(), check.clone(), alive.clone());
        sources.template.subscribe(move |change| {
            if alive.strong_count() > 0 {
                queue.add_changed(&check, change);
            }
        });
        sources.requests.subscribe(move |change| {
            if other_alive.strong_count() > 0 {
                other_queue.add_changed(&other_check, change);
            }
        });
    }

    async fn served(&self, api_version: &str, kind: &str) -> Result<Resource, Unavailable> {
        match discovery::find(&self.session, api_version, kind).await {
            Ok(Some(resource)) => Ok(resource),
            Ok(None) => {
                let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
                Err(Unavailable::NotServed { api_version, kind })
            }
            Err(error) => {
                let mut failure = error.failure();
                failure.message = messages::no_discovery(api_version, &failure.message);
                Err(Unavailable::Unreadable(failure))
            }
        }
    }
}
