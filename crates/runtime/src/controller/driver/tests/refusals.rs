//! What the API server refuses to a pass itself is told on the object, once, if people can mend it.

use http::Method;
use machinist_api::resource::CUSTOM_RESOURCE_DEFINITIONS;
use serde_json::json;

use super::*;
use crate::cache::kind::CustomResourceDefinitions;
use crate::cache::registry::Caches;
use crate::cache::{Cache, Scope};
use crate::tasks::Tasks;
use crate::writer::{Guard, Part};

/// What is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    Look,
    Status,
}

/// Reads its object past the cache, or writes a status.
struct Denied {
    cache: Arc<Cache<CustomResourceDefinitions>>,
    what: Refused,
}

impl Controller for Denied {
    type Snapshot = Meta;
    type Plan = &'static str;
    type Outcome = ();

    const NAME: &'static str = "denied";
    const USER_AGENT: UserAgent = UserAgent::ANNOTATOR;
    const REQUIRES: &'static [Resource] = &[];
    const ELECTS: bool = false;
    const WORKERS: usize = 1;

    fn caches(&self) -> Vec<Arc<dyn AnyCache>> {
        vec![self.cache.clone()]
    }

    fn subscribe(&self, _: &Arc<Queue>) {}

    async fn observe(&self, key: &ObjectKey) -> Result<Option<Meta>, ApiError> {
        let entry = match self.what {
            Refused::Look => self.cache.read_live(key).await?,
            Refused::Status => self.cache.get(key),
        };
        Ok(entry.map(|entry| entry.meta().clone()))
    }

    fn decide(&self, _: &Meta, _: Timestamp) -> &'static str {
        "be refused"
    }

    async fn act(&self, _: &Meta, _: &&'static str, _: &Writer) {}

    fn report(&self, _: &Meta, (): &(), _: Timestamp) -> Report {
        Report { status: Some(json!({"a": 1})), ..Report::quiet(PassResult::Changed) }
    }

    async fn write_status(
        &self,
        meta: &Meta,
        (): &(),
        status: &Value,
        writer: &Writer,
    ) -> Result<Option<Meta>, WriteError> {
        let patch = json!({"status": status});
        writer.patch(&self.cache, meta, Part::Status, Guard::Version, patch, &"deny").await
    }

    fn regarding<'a>(&self, meta: &'a Meta) -> Regarding<'a> {
        Regarding { resource: CUSTOM_RESOURCE_DEFINITIONS, meta }
    }
}

/// An API server with one object, which it lets nobody read by itself, nor write. What it is told in Events is in the log.
fn cluster(code: u16, message: &'static str, told: &Arc<Mutex<Vec<Value>>>) -> Cluster {
    let told = Arc::clone(told);
    let api_server = tower::service_fn(move |request: Request<Body>| {
        let told = Arc::clone(&told);
        async move {
            let (method, path) = (request.method().clone(), request.uri().to_string());
            let (code, body) = match method {
                Method::POST => {
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    told.lock().push(serde_json::from_slice(&body).unwrap());
                    (201, json!({}))
                }
                Method::GET if path.contains("watch=true") => {
                    let silence = futures::stream::pending::<Result<Vec<u8>, Infallible>>();
                    return Ok(Response::new(axum::body::Body::from_stream(silence)));
                }
                Method::GET if path.contains("limit=") => {
                    let object = json!({"metadata":
                        {"name": "a", "uid": "uid", "resourceVersion": "5"}});
                    (200, json!({"metadata": {"resourceVersion": "5"}, "items": [object]}))
                }
                _ => (code, json!({"code": code, "message": message})),
            };
            let body = axum::body::Body::from(body.to_string());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    Cluster::played_by(kube::Client::new(api_server, "default"), &Timings::default())
}

/// How three passes end that are refused `what`, and what is said of it.
async fn passes(
    what: Refused,
    code: u16,
    message: &'static str,
) -> (Vec<(PassResult, Option<Retry>)>, Vec<Value>) {
    let told = Arc::<Mutex<Vec<Value>>>::default();
    let cluster = cluster(code, message, &told);
    let clock: SharedClock = Arc::new(ManualClock::default());
    let caches = Caches::new(clock, Timings::default(), Arc::default(), Tasks::default());
    let cache = caches.open(&cluster, Scope::All, CustomResourceDefinitions);
    cache.wait_synced().await;
    let driver = driver_of(Denied { cache, what }, &cluster);
    let mut ended = Vec::new();
    for _ in 0..3 {
        ended.push(driver.stages(&ObjectKey::new("", "a")).await);
    }
    let told = std::mem::take(&mut *told.lock());
    (ended, told)
}

#[tokio::test]
async fn what_people_can_mend_is_told_once_and_tried_again() {
    let mendable = [
        (400, "no such thing"),
        (403, "cannot patch resource"),
        (422, "status.a: Invalid value"),
        (500, r#"Internal error occurred: failed calling webhook "v.example.dev""#),
    ];
    for what in [Refused::Look, Refused::Status] {
        for (code, message) in mendable {
            let (ended, told) = passes(what, code, message).await;
            assert_eq!(ended, [(PassResult::Failed, Some(Retry::Backoff)); 3], "{what:?} {code}");
            assert_eq!(told.len(), 1, "{what:?}: {told:?}");
            let (event, note) = (&told[0], told[0]["note"].as_str().unwrap());
            assert_eq!(
                (&event["reason"], &event["type"]),
                (&json!("ReconcileError"), &json!("Warning"))
            );
            assert_eq!(event["regarding"]["uid"], "uid");
            assert_eq!(event["regarding"]["kind"], CUSTOM_RESOURCE_DEFINITIONS.kind);
            let begins = if what == Refused::Look { "could not look" } else { "the status" };
            assert!(note.starts_with(begins) && note.contains(message), "{note}");
        }
    }
}

#[tokio::test]
async fn what_mends_itself_is_not_told() {
    for what in [Refused::Look, Refused::Status] {
        for code in [404, 409, 429, 500, 503] {
            let (ended, told) = passes(what, code, "not now").await;
            assert!(told.is_empty(), "{what:?} {code}: {told:?}");
            let failed = ended.iter().all(|(result, _)| *result == PassResult::Failed);
            assert_eq!(
                failed,
                code > 409 || (code, what) == (409, Refused::Look),
                "{what:?} {code}"
            );
        }
    }
}

#[test]
fn of_an_answer_that_is_not_understood_nothing_is_repeated() {
    let answer = ApiError::NotUnderstood("invalid type: string \"s3cret\"".to_owned());
    assert_eq!(super::super::refused::note("could not look", &answer), None);
}
