//! Rejected reads and status updates are reported on the object, once, if a person has to act.

use http::Method;
use machinist_api::resource::CUSTOM_RESOURCE_DEFINITIONS;
use serde_json::json;

use super::stage::{Definitions, Player, Role, answer, is_watch, page, silence};
use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    Look,
    Status,
}

impl Role for Refused {
    async fn look(&self, cache: &Definitions, key: &ObjectKey) -> Result<Option<Meta>, ApiError> {
        let entry = match self {
            Self::Look => cache.read_live(key).await?,
            Self::Status => cache.get(key),
        };
        Ok(entry.map(|entry| entry.meta().clone()))
    }

    fn report(&self) -> Report {
        Report { status: Some(json!({"a": 1})), ..Report::quiet(ReconcileResult::Changed) }
    }
}

/// Reads and writes are rejected; `events` receives the Events.
fn cluster(code: u16, message: &'static str, events: &Arc<Mutex<Vec<Value>>>) -> Cluster {
    let events = Arc::clone(events);
    let api_server = tower::service_fn(move |request: Request<Body>| {
        let events = Arc::clone(&events);
        async move {
            let (method, path) = (request.method().clone(), request.uri().to_string());
            Ok::<_, Infallible>(match method {
                Method::POST => {
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    events.lock().push(serde_json::from_slice(&body).unwrap());
                    answer(201, &json!({}))
                }
                Method::GET if is_watch(&request) => silence(),
                Method::GET if path.contains("limit=") => answer(200, &page(&["a"], 5, "")),
                _ => answer(code, &json!({"code": code, "message": message})),
            })
        }
    });
    Cluster::played_by(kube::Client::new(api_server, "default"), &Timings::default())
}

async fn reconcile_thrice(
    what: Refused,
    code: u16,
    message: &'static str,
) -> (Vec<(ReconcileResult, Option<Retry>)>, Vec<Value>) {
    let events = Arc::<Mutex<Vec<Value>>>::default();
    let cluster = cluster(code, message, &events);
    let controller = Player::new(what, &cluster);
    controller.cache.wait_synced().await;
    let driver = driver_of(controller, &cluster);
    let mut ended = Vec::new();
    for _ in 0..3 {
        ended.push(driver.stages(&ObjectKey::new("", "a"), &driver.writer).await);
    }
    let events = std::mem::take(&mut *events.lock());
    (ended, events)
}

#[tokio::test]
async fn failures_that_need_attention_are_reported_once_and_retried() {
    let permanent = [
        (400, "no such thing"),
        (403, "cannot patch resource"),
        (422, "status.a: Invalid value"),
        (500, r#"Internal error occurred: failed calling webhook "v.example.dev""#),
    ];
    for what in [Refused::Look, Refused::Status] {
        for (code, message) in permanent {
            let (ended, events) = reconcile_thrice(what, code, message).await;
            assert_eq!(
                ended,
                [(ReconcileResult::Failed, Some(Retry::Backoff)); 3],
                "{what:?} {code}"
            );
            assert_eq!(events.len(), 1, "{what:?}: {events:?}");
            let (event, note) = (&events[0], events[0]["note"].as_str().unwrap());
            assert_eq!(
                (&event["reason"], &event["type"]),
                (&json!("ReconcileError"), &json!("Warning"))
            );
            assert_eq!(event["regarding"]["uid"], "a");
            assert_eq!(event["regarding"]["kind"], CUSTOM_RESOURCE_DEFINITIONS.kind);
            let begins = if what == Refused::Look { "Cannot read" } else { "Cannot update" };
            assert!(note.starts_with(begins) && note.contains(message), "{note}");
        }
    }
}

#[tokio::test]
async fn transient_failures_are_not_reported() {
    for what in [Refused::Look, Refused::Status] {
        for code in [404, 409, 429, 500, 503] {
            let (ended, events) = reconcile_thrice(what, code, "not now").await;
            assert!(events.is_empty(), "{what:?} {code}: {events:?}");
            let failed = ended.iter().all(|(result, _)| *result == ReconcileResult::Failed);
            assert_eq!(
                failed,
                code > 409 || (code, what) == (409, Refused::Look),
                "{what:?} {code}"
            );
        }
    }
}
