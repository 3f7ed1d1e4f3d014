//! Whether the API server serves a kind, by its discovery, which every account may read. The fallback where
//! CustomResourceDefinitions must not be listed; it is not watched, so an answer is repeated every sync period.

use std::time::Duration;

use machinist_api::resource::Resource;
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
        let path = format!("/apis/{}", resource.api_version());
        let timeout = self.session.request_timeout();
        match self.session.get(&path, "application/json", timeout).await {
            Ok(body) => {
                let list: Resources = serde_json::from_slice(&body)?;
                Ok(list.resources.iter().any(|one| one.name == resource.plural))
            }
            Err(error) if error.code() == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
