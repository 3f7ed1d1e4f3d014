//! Against a fake API server with a paused clock.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use jiff::Timestamp;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cache::Scope;
use crate::cache::kind::CustomResourceDefinitions;
use crate::cache::registry::Caches;
use crate::clock::Clock;
use crate::cluster::Cluster;
use crate::tasks::Tasks;
use crate::timings::Timings;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ask {
    List,
    Watch,
}

#[derive(Debug, Clone, Copy)]
struct Reply {
    after: Duration,
    code: u16,
    retry_after: Option<u64>,
    message: &'static str,
    open_for: Duration,
}

const OK: Reply = Reply {
    after: Duration::ZERO,
    code: 200,
    retry_after: None,
    message: "",
    open_for: Duration::ZERO,
};

const fn refusal(code: u16) -> Reply {
    Reply { code, ..OK }
}

const fn busy(seconds: u64) -> Reply {
    Reply { retry_after: Some(seconds), ..refusal(429) }
}

const fn open_for(seconds: u64) -> Reply {
    Reply { open_for: Duration::from_secs(seconds), ..OK }
}

#[derive(Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn uptime(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Runs a cache until its n-th request. `script` gives the n-th response (from 0).
async fn asks(
    asks: usize,
    script: impl Fn(usize, Ask) -> Reply + Send + 'static,
) -> Vec<(Duration, Ask)> {
    let began = Instant::now();
    let log = Arc::new(Mutex::new(Vec::new()));
    let bell = Arc::new(Notify::new());
    let (heard, ring) = (Arc::clone(&log), Arc::clone(&bell));
    let api_server = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        let ask = if query.contains("watch=true") { Ask::Watch } else { Ask::List };
        let n = {
            let mut heard = heard.lock();
            heard.push((began.elapsed(), ask));
            heard.len() - 1
        };
        ring.notify_one();
        let reply = script(n, ask);
        async move {
            tokio::time::sleep(reply.after).await;
            Ok::<_, Infallible>(response(ask, reply))
        }
    });
    let timings = Timings::default();
    let cluster = Cluster::played_by(kube::Client::new(api_server, "default"), &timings);
    let clock = Arc::new(TokioClock(began));
    let caches = Caches::new(clock, timings, Arc::default(), Tasks::default());
    let _cache = caches.hold(&cluster, Scope::All, CustomResourceDefinitions);
    let enough = async {
        while log.lock().len() < asks {
            bell.notified().await;
        }
    };
    tokio::time::timeout(Duration::from_hours(3), enough).await.expect("it asks so often");
    log.lock()[..asks].to_vec()
}

fn response(ask: Ask, reply: Reply) -> Response<axum::body::Body> {
    let mut response = Response::builder().status(reply.code);
    if let Some(seconds) = reply.retry_after {
        response = response.header("retry-after", seconds);
    }
    let text = match (reply.code, ask) {
        (200, Ask::List) => r#"{"metadata":{"resourceVersion":"7"},"items":[]}"#.to_owned(),
        (200, Ask::Watch) => String::new(),
        (code, _) => serde_json::json!({"code": code, "message": reply.message}).to_string(),
    };
    let body = stream::once(async move {
        tokio::time::sleep(reply.open_for).await;
        Ok::<_, Infallible>(Bytes::from(text))
    });
    response.body(axum::body::Body::from_stream(body)).expect("a response")
}

fn pauses(asks: &[(Duration, Ask)]) -> Vec<Duration> {
    asks.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).collect()
}

/// The delay of each response comes on top.
fn assert_backs_off(pauses: &[Duration], after: Duration) {
    let backoff = Timings::default().reconnect;
    for (failures, pause) in (1..).zip(pauses) {
        // Tokio's clock has a resolution of a millisecond.
        let least = after + backoff.delay(failures, 1.0);
        let most = after + backoff.delay(failures, 0.0) + Duration::from_millis(10);
        assert!((least..=most).contains(pause), "after {failures} failures: {pauses:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn failing_list_backs_off() {
    let asked = asks(10, |_, _| refusal(500)).await;
    assert!(asked.iter().all(|(_, ask)| *ask == Ask::List), "{asked:?}");
    assert_backs_off(&pauses(&asked), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn failing_watch_backs_off_without_a_list() {
    let asked = asks(10, |n, _| if n == 0 { OK } else { refusal(503) }).await;
    assert!(asked[1..].iter().all(|(_, ask)| *ask == Ask::Watch), "{asked:?}");
    assert_backs_off(&pauses(&asked[1..]), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn slow_error_backs_off() {
    let slow = Duration::from_secs(5);
    let asked = asks(9, move |n, _| match n {
        0 => OK,
        _ => Reply { after: slow, ..refusal(503) },
    });
    assert_backs_off(&pauses(&asked.await[1..]), slow);
}

#[tokio::test(start_paused = true)]
async fn watch_that_ends_at_once_backs_off() {
    let asked = asks(10, |_, _| OK).await;
    assert_backs_off(&pauses(&asked[1..]), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn long_watch_is_reopened_at_once_and_resets_the_backoff() {
    let asked = asks(9, |n, _| match n {
        0 => OK,
        5 | 6 => open_for(60),
        _ => refusal(503),
    })
    .await;
    let pauses = pauses(&asked);
    for lived in &pauses[5..7] {
        assert!((60..=61).contains(&lived.as_secs()), "{pauses:?}");
    }
    assert_backs_off(&pauses[7..], Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_respected() {
    let asked = asks(4, |n, _| match n {
        0 => busy(100),
        2 => busy(200),
        _ => OK,
    })
    .await;
    let kinds: Vec<_> = asked.iter().map(|(_, ask)| *ask).collect();
    assert_eq!(kinds, [Ask::List, Ask::List, Ask::Watch, Ask::Watch]);
    let pauses = pauses(&asked);
    assert_eq!((pauses[0].as_secs(), pauses[2].as_secs()), (100, 200), "{pauses:?}");
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_bounded() {
    let asked = asks(2, |_, _| busy(u64::MAX)).await;
    assert_eq!(pauses(&asked)[0].as_secs(), 3600);
}

#[tokio::test(start_paused = true)]
async fn position_in_the_future_triggers_a_list() {
    let future = Reply { message: "Too large resource version: 7, current: 3", ..refusal(504) };
    let asked = asks(4, move |n, _| match n {
        1 => open_for(60),
        2 => future,
        _ => OK,
    })
    .await;
    let kinds: Vec<_> = asked.iter().map(|(_, ask)| *ask).collect();
    assert_eq!(kinds, [Ask::List, Ask::Watch, Ask::Watch, Ask::List]);
    assert!(pauses(&asked)[2] < Duration::from_millis(10), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn silent_watch_is_reopened_and_its_position_kept() {
    let asked = asks(5, |n, _| if n == 0 { OK } else { open_for(24 * 3600) }).await;
    assert!(asked[1..].iter().all(|(_, ask)| *ask == Ask::Watch), "no list: {asked:?}");
    for silence in &pauses(&asked)[1..] {
        assert!((150..=151).contains(&silence.as_secs()), "{asked:?}");
    }
}
