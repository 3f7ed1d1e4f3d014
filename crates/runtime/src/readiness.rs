//! What is ready and what waits for what: the details behind `/readyz`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinist_api::resource::CUSTOM_RESOURCE_DEFINITIONS;
use parking_lot::Mutex;

use crate::cache::{AnyCache, Scope};

/// What the parts of the process say of themselves.
#[derive(Debug, Default)]
pub struct Readiness {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    api_answers: bool,
    waiting: BTreeMap<&'static str, String>,
    running: BTreeSet<&'static str>,
}

impl Readiness {
    /// The API server has answered.
    pub fn api_answers(&self) {
        self.state.lock().api_answers = true;
    }

    /// A controller waits for something outside of this process.
    pub fn waits(&self, controller: &'static str, reason: String) {
        self.state.lock().waiting.insert(controller, reason);
    }

    /// A controller has all that it needs.
    pub fn runs(&self, controller: &'static str) {
        let mut state = self.state.lock();
        state.waiting.remove(controller);
        state.running.insert(controller);
    }

    /// Whether the process is ready, and why (not), one line for each part.
    ///
    /// A controller that waits for a definition which the cluster does not have is not a reason to be unready: it will start by itself.
    pub fn describe(&self, caches: &[Arc<dyn AnyCache>]) -> (bool, String) {
        let state = self.state.lock();
        let mut text = String::new();
        let mut ready = state.api_answers;
        line(&mut text, state.api_answers, "API server answers");
        for controller in &state.running {
            line(&mut text, true, &format!("controller {controller} runs"));
        }
        for (controller, reason) in &state.waiting {
            line(&mut text, true, &format!("controller {controller} {reason}"));
        }
        for cache in caches {
            let cache_state = cache.state();
            // A single object that we may not see, or that is not served, is that object's trouble.
            let optional = matches!(cache.scope(), Scope::Object(_))
                // Definitions only tell when to start; those who run need them no more.
                || (cache.resource() == CUSTOM_RESOURCE_DEFINITIONS && state.waiting.is_empty());
            ready &= cache_state.synced || optional;
            let mut what =
                format!("cache of {} has {} objects", cache.resource(), cache_state.objects);
            if cache_state.undecodable > 0 {
                what = format!("{what}, {} of them not understood", cache_state.undecodable);
            }
            if let Some(trouble) = cache_state.trouble {
                what = format!("{what}, in trouble: {trouble}");
            }
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
