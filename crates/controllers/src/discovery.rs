//! Whether the API server serves a kind, by its discovery, which every account may read. The fallback where
//! CustomResourceDefinitions must not be listed; it is not watched, so an answer is repeated every sync period.

use std::time::Duration;

use machinist_api::resource::{Resource, push_encoded};
use machinist_domain::expiring::ExpiringMap;
use machinist_runtime::clock::SharedClock;
use machinist_runtime::cluster::{ApiError, Session};
use machinist_runtime::controller::start::Shared;
use machinist_runtime::user_agent::UserAgent;
use serde::Deserialize;
use tokio::sync::Mutex;

#[derive(Debug)]
pub(crate) struct Discovery {
    session: Session,
    clock: SharedClock,
    valid_for: Duration,
    served: Mutex<ExpiringMap<Resource, bool>>,
}

#[derive(Deserialize)]
struct Resources {
    #[serde(default)]
    resources: Vec<Served>,
}

#[derive(Deserialize)]
struct Served {
    name: String,
    kind: String,
    #[serde(default)]
    namespaced: bool,
}

/// The namespaced kind of this name, if it is served. Not cached.
pub(crate) async fn find(
    session: &Session,
    api_version: &str,
    kind: &str,
) -> Result<Option<Resource>, ApiError> {
    let Some((group, version)) = api_version.split_once('/') else { return Ok(None) };
    let named = |plural: &str| Resource::named(group, version, plural, kind);
    let found = list(session, group, version).await?.into_iter().find(|one| {
        // Subresources have a slash in their names.
        one.kind == kind && one.namespaced && !one.name.contains('/')
    });
    Ok(found.map(|one| named(&one.name)))
}

/// What an API group serves.
async fn list(session: &Session, group: &str, version: &str) -> Result<Vec<Served>, ApiError> {
    let mut path = "/apis/".to_owned();
    push_encoded(&mut path, group);
    path.push('/');
    push_encoded(&mut path, version);
    match session.get(&path, "application/json", session.request_timeout()).await {
        Ok(body) => Ok(serde_json::from_slice::<Resources>(&body)?.resources),
        Err(error) if error.code() == Some(404) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

impl Discovery {
    pub(crate) fn new(shared: &Shared) -> Self {
        Self {
            session: shared.control.session(UserAgent::START),
            clock: shared.clock.clone(),
            valid_for: shared.timings.sync_period,
            served: Mutex::default(),
        }
    }

    pub(crate) async fn serves(&self, resource: Resource) -> Result<bool, ApiError> {
        // Held during the request, so that concurrent reconciles send one.
        let mut known = self.served.lock().await;
        let now = self.clock.uptime();
        if let Some(served) = known.get(&resource, now) {
            return Ok(*served);
        }
        let served = self.read(resource).await?;
        known.insert(resource, served, now, self.valid_for);
        Ok(served)
    }

    async fn read(&self, resource: Resource) -> Result<bool, ApiError> {
        let served = list(&self.session, resource.group, resource.version).await?;
        Ok(served.iter().any(|one| one.name == resource.plural))
    }
}
