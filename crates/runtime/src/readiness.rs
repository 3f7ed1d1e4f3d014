//! Readiness of the process: the details of `/readyz`.
//!
//! It is not ready while the API server has not answered, a cache has not been filled, it is not known what is frozen,
//! or a right is missing for the caches or the Lease of a controller. Neither a freeze nor a missing
//! CustomResourceDefinition makes it unready: the controller of a missing one starts by itself, and the others of the
//! process work meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinist_api::resource::{CUSTOM_RESOURCE_DEFINITIONS, Resource};
use machinist_domain::key::ObjectKey;
use parking_lot::Mutex;

use crate::cache::{AnyCache, Scope};
use crate::cluster::ApiError;
use crate::freezes::Freezes;
use crate::messages;

/// The mark of a line. The first two are those of Kubernetes' probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Passed,
    /// It is tried again.
    Failed,
    /// A right or a CustomResourceDefinition is missing; the line names the cure.
    NeedsAction,
}

impl Mark {
    pub(crate) fn line(self, text: &str) -> String {
        let mark = match self {
            Self::Passed => "[+]",
            Self::Failed => "[-]",
            Self::NeedsAction => "[!]",
        };
        format!("{mark} {text}\n")
    }
}

/// What a controller waits for before it starts.
#[derive(Debug, Clone)]
pub(crate) enum Waiting {
    /// It is not known yet whether the kind is served.
    Served(Resource),
    Missing(Resource),
    Forbidden(Resource, ApiError),
}

/// What is known about a Lease.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LeaseView<'a> {
    Unread,
    Unreadable(&'a ApiError),
    /// It has no holder, and this process may not take it.
    NotTaken(&'a ApiError),
    NoHolder,
    Ours(&'a str),
    HeldBy(&'a str),
}

impl LeaseView<'_> {
    fn mark(self) -> Mark {
        match self {
            Self::Unreadable(error) | Self::NotTaken(error) if error.is_forbidden() => {
                Mark::NeedsAction
            }
            Self::Unreadable(_) | Self::NotTaken(_) => Mark::Failed,
            Self::Unread | Self::NoHolder | Self::Ours(_) | Self::HeldBy(_) => Mark::Passed,
        }
    }
}

#[derive(Debug)]
pub struct Readiness {
    state: Mutex<State>,
    freezes: Arc<Freezes>,
}

#[derive(Debug, Default)]
struct State {
    api_answers: bool,
    waiting: BTreeMap<&'static str, Waiting>,
    running: BTreeSet<&'static str>,
    leases: BTreeMap<&'static str, (Mark, String)>,
    platform: Option<String>,
}

impl Readiness {
    pub(crate) fn new(freezes: Arc<Freezes>) -> Self {
        Self { state: Mutex::default(), freezes }
    }

    pub fn api_answers(&self) {
        self.state.lock().api_answers = true;
    }

    pub(crate) fn waits(&self, controller: &'static str, what: Waiting) {
        self.state.lock().waiting.insert(controller, what);
    }

    pub fn runs(&self, controller: &'static str) {
        let mut state = self.state.lock();
        state.waiting.remove(controller);
        state.running.insert(controller);
    }

    pub(crate) fn lease(&self, controller: &'static str, lease: &ObjectKey, view: LeaseView<'_>) {
        let text = messages::lease(controller, lease, view);
        self.state.lock().leases.insert(controller, (view.mark(), text));
    }

    /// Shows platform and provider. They do not affect readiness.
    pub fn platform(&self, what: String) {
        self.state.lock().platform = Some(what);
    }

    /// Whether the process is ready, and one line per part.
    pub fn describe(&self, caches: &[Arc<dyn AnyCache>]) -> (bool, String) {
        let state = self.state.lock();
        let mut ready = state.api_answers;
        let mark = if state.api_answers { Mark::Passed } else { Mark::Failed };
        let mut text = mark.line(messages::API_ANSWERS);
        for controller in &state.running {
            text += &Mark::Passed.line(&messages::controller(controller, messages::RUNS));
        }
        for (controller, what) in &state.waiting {
            let mark = match what {
                Waiting::Served(_) => Mark::Failed,
                Waiting::Missing(_) | Waiting::Forbidden(..) => Mark::NeedsAction,
            };
            ready &= !matches!(what, Waiting::Forbidden(..));
            text += &mark.line(&messages::controller(controller, &messages::waits_for(what)));
        }
        if let Some(platform) = &state.platform {
            text += &Mark::Passed.line(platform);
        }
        if let Some((known, mark, line)) = self.freezes.describe() {
            ready &= known;
            text += &mark.line(&line);
        }
        for (mark, lease) in state.leases.values() {
            ready &= *mark != Mark::NeedsAction;
            text += &mark.line(lease);
        }
        for cache in caches {
            // A single object that is forbidden or not served concerns only its users.
            let optional = cache.is_optional()
                // Only controllers that wait to start need definitions.
                || (cache.resource() == CUSTOM_RESOURCE_DEFINITIONS && state.waiting.is_empty());
            let (works, line) = describe_cache(&**cache);
            ready &= works || optional;
            text += &line;
        }
        text += if ready { messages::READY } else { messages::NOT_READY };
        text.push('\n');
        (ready, text)
    }
}

/// Whether its controllers can work with the cache, and its line.
fn describe_cache(cache: &dyn AnyCache) -> (bool, String) {
    let state = cache.state();
    let trouble = state.trouble.as_ref();
    let forbidden = trouble.is_some_and(ApiError::is_forbidden);
    let not_served = !matches!(cache.scope(), Scope::Object(_))
        && trouble.is_some_and(|error| error.code() == Some(404));
    let mark = match state.synced {
        _ if forbidden || not_served => Mark::NeedsAction,
        true => Mark::Passed,
        false => Mark::Failed,
    };
    let line = mark.line(&messages::cache(cache.resource(), &state, not_served));
    (state.synced && !forbidden, line)
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use machinist_api::resource::{MACHINE_SETS, SECRETS};
    use machinist_domain::meta::Meta;

    use super::*;
    use crate::cache::CacheState;
    use crate::clock::ManualClock;

    fn forbidden() -> ApiError {
        ApiError::Refused {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: "it is forbidden".to_owned(),
            retry_after: None,
        }
    }

    struct Forbidden(Resource, Scope);

    impl AnyCache for Forbidden {
        fn resource(&self) -> Resource {
            self.0
        }

        fn is_optional(&self) -> bool {
            matches!(self.1, Scope::Object(_))
        }

        fn scope(&self) -> &Scope {
            &self.1
        }

        fn state(&self) -> CacheState {
            let trouble = Some(forbidden());
            CacheState { synced: false, objects: 0, undecodable: 0, age: None, trouble }
        }

        fn keys(&self) -> Vec<ObjectKey> {
            Vec::new()
        }

        fn meta(&self, _: &ObjectKey) -> Option<Meta> {
            None
        }

        fn wait_synced(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::pending())
        }

        fn verify(&self) -> BoxFuture<'_, Result<usize, ApiError>> {
            Box::pin(std::future::pending())
        }
    }

    fn readiness() -> Readiness {
        let clock = Arc::new(ManualClock::default());
        Readiness::new(Arc::new(Freezes::for_tests(clock, &Arc::default())))
    }

    fn ready(readiness: &Readiness, resource: Resource, scope: Scope) -> bool {
        let caches: [Arc<dyn AnyCache>; 1] = [Arc::new(Forbidden(resource, scope))];
        let (ready, text) = readiness.describe(&caches);
        assert!(text.contains("[!] cache of") && text.contains("403"), "{text}");
        ready
    }

    #[test]
    fn forbidden_definitions_matter_only_while_a_controller_waits() {
        let readiness = readiness();
        readiness.api_answers();
        readiness.waits("annotator", Waiting::Served(MACHINE_SETS));
        assert!(!ready(&readiness, CUSTOM_RESOURCE_DEFINITIONS, Scope::All));
        readiness.runs("annotator");
        assert!(ready(&readiness, CUSTOM_RESOURCE_DEFINITIONS, Scope::All));
        assert!(!ready(&readiness, MACHINE_SETS, Scope::All), "this is what it works on");
    }

    #[test]
    fn forbidden_single_object_does_not_affect_readiness() {
        let readiness = readiness();
        readiness.api_answers();
        assert!(ready(&readiness, SECRETS, Scope::Object(ObjectKey::new("ns", "aws"))));
        assert!(!ready(&readiness, SECRETS, Scope::All), "all of them are needed");
    }

    #[test]
    fn missing_definition_needs_action_and_does_not_affect_readiness() {
        let readiness = readiness();
        readiness.api_answers();
        readiness.waits("machine", Waiting::Missing(MACHINE_SETS));
        let (ready, text) = readiness.describe(&[]);
        assert!(ready, "{text}");
        assert!(text.contains("[!] controller machine waits for machinesets"), "{text}");
        assert!(text.contains("apply deploy/crds/machine.openshift.io_machinesets.yaml"), "{text}");
        readiness.waits("machine", Waiting::Forbidden(MACHINE_SETS, forbidden()));
        assert!(!readiness.describe(&[]).0, "a right is missing");
    }

    #[test]
    fn lease_without_the_right_to_it_is_not_shown_as_one_without_a_holder() {
        let (readiness, lease) = (readiness(), ObjectKey::new("ns", "machinist"));
        readiness.api_answers();
        let error = forbidden();
        for view in [LeaseView::Unreadable(&error), LeaseView::NotTaken(&error)] {
            readiness.lease("machine", &lease, view);
            let (ready, text) = readiness.describe(&[]);
            assert!(!ready && text.contains("[!] lease ns/machinist"), "{text}");
            assert!(!text.contains("no holder") && text.contains("apply the Role"), "{text}");
        }
        let outage = ApiError::Disconnected("refused".to_owned());
        readiness.lease("machine", &lease, LeaseView::Unreadable(&outage));
        let (ready, text) = readiness.describe(&[]);
        assert!(ready && text.contains("[-] lease ns/machinist"), "{text}");
        readiness.lease("machine", &lease, LeaseView::HeldBy("pod-2"));
        assert!(readiness.describe(&[]).1.contains("[+] lease ns/machinist is held by pod-2"));
    }
}
