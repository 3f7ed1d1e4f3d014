//! Readiness of the process: the details of `/readyz`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinist_api::resource::CUSTOM_RESOURCE_DEFINITIONS;
use machinist_domain::key::ObjectKey;
use parking_lot::Mutex;

use crate::cache::{AnyCache, Scope};
use crate::messages;

#[derive(Debug, Default)]
pub struct Readiness {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    api_answers: bool,
    waiting: BTreeMap<&'static str, String>,
    running: BTreeSet<&'static str>,
    leases: BTreeMap<&'static str, String>,
    platform: Option<String>,
}

impl Readiness {
    pub fn api_answers(&self) {
        self.state.lock().api_answers = true;
    }

    pub fn waits(&self, controller: &'static str, reason: String) {
        self.state.lock().waiting.insert(controller, reason);
    }

    pub fn runs(&self, controller: &'static str) {
        let mut state = self.state.lock();
        state.waiting.remove(controller);
        state.running.insert(controller);
    }

    /// Shows the holder of a lease; an empty name means no holder.
    pub fn lease_is_held(
        &self,
        controller: &'static str,
        lease: &ObjectKey,
        holder: &str,
        ours: bool,
    ) {
        let text = messages::lease(controller, lease, holder, ours);
        self.state.lock().leases.insert(controller, text);
    }

    /// Shows platform and provider. They do not affect readiness.
    pub fn platform(&self, what: String) {
        self.state.lock().platform = Some(what);
    }

    /// Whether the process is ready, and one line per part. A controller that waits for a CustomResourceDefinition does
    /// not make it unready, because it starts by itself.
    pub fn describe(&self, caches: &[Arc<dyn AnyCache>]) -> (bool, String) {
        let state = self.state.lock();
        let mut text = String::new();
        let mut ready = state.api_answers;
        line(&mut text, state.api_answers, messages::API_ANSWERS);
        for controller in &state.running {
            line(&mut text, true, &messages::controller(controller, messages::RUNS));
        }
        for (controller, reason) in &state.waiting {
            line(&mut text, true, &messages::controller(controller, reason));
        }
        if let Some(platform) = &state.platform {
            line(&mut text, true, platform);
        }
        for lease in state.leases.values() {
            line(&mut text, true, lease);
        }
        for cache in caches {
            let cache_state = cache.state();
            // A single object that is forbidden or not served concerns only its users.
            let optional = matches!(cache.scope(), Scope::Object(_))
                // Only controllers that wait to start need definitions.
                || (cache.resource() == CUSTOM_RESOURCE_DEFINITIONS && state.waiting.is_empty());
            ready &= cache_state.synced || optional;
            let what = messages::cache(cache.resource(), &cache_state);
            line(&mut text, cache_state.synced, &what);
        }
        (ready, text)
    }
}

fn line(text: &mut String, good: bool, what: &str) {
    text.push_str(if good { "[+] " } else { "[-] " });
    text.push_str(what);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use machinist_api::resource::{MACHINE_SETS, Resource, SECRETS};
    use machinist_domain::meta::Meta;

    use super::*;
    use crate::cache::CacheState;
    use crate::cluster::ApiError;

    struct Forbidden(Resource, Scope);

    impl AnyCache for Forbidden {
        fn resource(&self) -> Resource {
            self.0
        }

        fn scope(&self) -> &Scope {
            &self.1
        }

        fn state(&self) -> CacheState {
            let trouble = Some("the API server answered 403".to_owned());
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

    fn ready(readiness: &Readiness, resource: Resource, scope: Scope) -> bool {
        let caches: [Arc<dyn AnyCache>; 1] = [Arc::new(Forbidden(resource, scope))];
        let (ready, text) = readiness.describe(&caches);
        assert!(text.contains("[-] cache of") && text.contains("403"), "{text}");
        ready
    }

    #[test]
    fn forbidden_definitions_matter_only_while_a_controller_waits() {
        let readiness = Readiness::default();
        readiness.api_answers();
        readiness.waits("annotator", "waits for machinesets".to_owned());
        assert!(!ready(&readiness, CUSTOM_RESOURCE_DEFINITIONS, Scope::All));
        readiness.runs("annotator");
        assert!(ready(&readiness, CUSTOM_RESOURCE_DEFINITIONS, Scope::All));
        assert!(!ready(&readiness, MACHINE_SETS, Scope::All), "this is what it works on");
    }

    #[test]
    fn forbidden_single_object_does_not_affect_readiness() {
        let readiness = Readiness::default();
        readiness.api_answers();
        assert!(ready(&readiness, SECRETS, Scope::Object(ObjectKey::new("ns", "aws"))));
        assert!(!ready(&readiness, SECRETS, Scope::All), "all of them are needed");
    }
}
