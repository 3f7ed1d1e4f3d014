//! The freeze while an API server cannot be reached, and after that until everything that is watched has been listed.
//! Directly before a change, what is known of the API servers is looked at; a task per API server lists and notifies.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified as _};
use machinist_domain::safety::reachability::State;
use machinist_domain::safety::{Reason, Scope, messages};
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;

use super::Freezes;
use crate::cluster::{Cluster, Reach};
use crate::controller::start::Shared;
use crate::messages::reach_task;

#[derive(Default)]
pub(super) struct ApiServers {
    all: RwLock<Vec<ApiServer>>,
    /// The API server for which the freeze is in the ledger.
    frozen: Mutex<Option<Arc<str>>>,
}

#[derive(Clone)]
struct ApiServer {
    url: Arc<str>,
    reach: Reach,
    /// Whether conditions can be written while it is unreachable.
    is_target: bool,
}

impl ApiServers {
    /// Whether the freeze is to be a condition. If the control cluster was unreachable, it has ended before each object
    /// would have been written twice.
    pub(super) fn is_shown(&self) -> bool {
        let all = self.all.read();
        all.iter().any(|one| one.is_target && one.reach.state() == State::Unreachable)
    }
}

impl Freezes {
    /// Stops changes while one of these API servers cannot be reached.
    pub(crate) fn watch_api_servers(self: &Arc<Self>, shared: &Arc<Shared>) {
        let control = &shared.control;
        let target = shared.target.as_ref().filter(|target| target.url != control.url);
        for (cluster, is_target) in [(Some(control), false), (target, true)] {
            let Some((cluster, reach)) = cluster.and_then(|one| Some((one, one.reach.clone()?)))
            else {
                continue;
            };
            let server = ApiServer { url: cluster.url.as_str().into(), reach, is_target };
            self.api_servers.all.write().push(server.clone());
            let stop = shared.tasks.stopping();
            let task = follow(Arc::clone(shared), cluster.clone(), server, stop);
            shared.tasks.spawn(reach_task(&cluster.url), task);
        }
    }

    /// Brings the ledger up to date.
    pub(super) fn check_api_servers(&self) {
        // Locked first: of two checks, the later one has looked later.
        let mut frozen = self.api_servers.frozen.lock();
        let all = self.api_servers.all.read();
        let lost = all.iter().find(|one| one.reach.state() != State::Reachable);
        let lost = lost.map(|one| &one.url);
        if frozen.as_ref() == lost {
            return;
        }
        *frozen = lost.cloned();
        let asked = lost.map(|url| ("".into(), messages::not_answering(url).into()));
        self.put(&Scope::Cluster, Reason::ApiUnreachable, asked);
    }
}

async fn follow(shared: Arc<Shared>, cluster: Cluster, server: ApiServer, stop: CancellationToken) {
    let mut states = server.reach.subscribe();
    let following = async {
        let mut frozen = false;
        loop {
            let state = *states.borrow_and_update();
            shared.freezes.check_api_servers();
            if frozen != (state != State::Reachable) {
                frozen = !frozen;
                shared.freezes.notify(&Scope::Cluster);
            }
            if state == State::Unverified {
                tokio::select! {
                    // It is lost again: what is listed now proves nothing later.
                    _ = states.changed() => continue,
                    () = list_all(&shared, &cluster) => server.reach.verified(),
                }
            }
            // The sender lives in `server`.
            drop(states.changed().await);
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = following => {}
    }
}

/// Lists what is watched. A cache without its first list is listed by its watch; one whose list is refused stays as it
/// is.
async fn list_all(shared: &Shared, cluster: &Cluster) {
    for cache in shared.caches.of(cluster) {
        let mut failures = 0;
        while cache.state().synced {
            match cache.verify().await {
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, resource = %cache.resource(), "list after an outage failed");
                    if !matches!(error.category(), Category::Unavailable | Category::Throttled) {
                        break;
                    }
                }
            }
            failures += 1;
            let delay: Duration = shared.timings.reconnect.delay(failures, fastrand::f64());
            tokio::time::sleep(delay).await;
        }
    }
}
