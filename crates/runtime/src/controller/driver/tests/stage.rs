use machinist_api::resource::CUSTOM_RESOURCE_DEFINITIONS;
use serde_json::json;

use super::*;
use crate::cache::kind::CustomResourceDefinitions;
use crate::cache::registry::Caches;
use crate::cache::{Cache, Scope};
use crate::tasks::Tasks;
use crate::writer::{Guard, Part};

pub(super) type Definitions = Cache<CustomResourceDefinitions>;

pub(super) trait Role: Send + Sync + 'static {
    fn look(
        &self,
        cache: &Definitions,
        key: &ObjectKey,
    ) -> impl Future<Output = Result<Option<Meta>, ApiError>> + Send {
        std::future::ready(Ok(cache.get(key).map(|entry| entry.meta().clone())))
    }

    fn report(&self) -> Report;
}

/// A controller of all CustomResourceDefinitions with the behaviour of its role.
pub(super) struct Player<R> {
    pub(super) cache: Arc<Definitions>,
    pub(super) role: R,
    /// Keeps the watch running.
    _caches: Caches,
}

impl<R: Role> Player<R> {
    pub(super) fn new(role: R, cluster: &Cluster) -> Self {
        let clock: SharedClock = Arc::new(ManualClock::default());
        let caches = Caches::new(clock, Timings::default(), Arc::default(), Tasks::default());
        let cache = caches.open(cluster, Scope::All, CustomResourceDefinitions);
        Self { cache, role, _caches: caches }
    }
}

impl<R: Role> Controller for Player<R> {
    type Snapshot = Meta;
    type Plan = &'static str;
    type Outcome = ();

    const DECLARATION: Declaration = Declaration { workers: 2, ..Declaration::new("player") };

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.cache.clone()]
    }

    fn subscribe(&self, queue: &Arc<Queue>) {
        let queue = Arc::clone(queue);
        self.cache.subscribe(move |change| queue.add_changed(change.key, change));
    }

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Meta>, ApiError> {
        self.role.look(&self.cache, key).await
    }

    fn decide(&self, _: &Meta, _: Timestamp) -> &'static str {
        "play"
    }

    async fn act(&self, _: &Meta, _: &&'static str, _: &Writer) {}

    fn report(&self, _: &Meta, _: &&'static str, (): &(), _: Timestamp) -> Report {
        self.role.report()
    }

    async fn write_status(
        &self,
        meta: &Meta,
        _: &&'static str,
        status: &Value,
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        let patch = json!({"status": status});
        writer.patch(&self.cache, meta, Part::Status, Guard::Version, patch, &"play").await
    }

    fn regarding<'a>(&self, meta: &'a Meta) -> Regarding<'a> {
        Regarding { resource: CUSTOM_RESOURCE_DEFINITIONS, meta }
    }
}

pub(super) fn definition(name: &str, version: u64) -> Value {
    json!({"metadata": {"name": name, "uid": name, "resourceVersion": version.to_string()}})
}

/// `next` is the continue token.
pub(super) fn page(names: &[&str], version: u64, next: &str) -> Value {
    let items: Vec<_> = names.iter().map(|name| definition(name, version)).collect();
    json!({"metadata": {"resourceVersion": version.to_string(), "continue": next}, "items": items})
}

pub(super) fn is_watch(request: &Request<Body>) -> bool {
    request.uri().query().unwrap_or_default().contains("watch=true")
}

pub(super) fn silence() -> Response<axum::body::Body> {
    let nothing = futures::stream::pending::<Result<Vec<u8>, Infallible>>();
    Response::new(axum::body::Body::from_stream(nothing))
}

pub(super) fn answer(code: u16, body: &Value) -> Response<axum::body::Body> {
    let body = axum::body::Body::from(body.to_string());
    Response::builder().status(code).body(body).expect("a response")
}
