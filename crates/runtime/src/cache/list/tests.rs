use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body as Answer;
use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use kube::client::Body;
use machinist_domain::key::{ObjectKey, Version};
use machinist_domain::meta::Meta;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::cache::kind::CustomResourceDefinitions;
use crate::cache::registry::{Caches, Held};
use crate::cache::store::Entry;
use crate::cache::{Cache, Scope};
use crate::clock::ManualClock;
use crate::cluster::Cluster;
use crate::tasks::Tasks;
use crate::timings::Timings;

type Asked = Arc<Mutex<Vec<String>>>;

fn object(name: &str, version: u64) -> Value {
    let uid = format!("uid-{name}");
    json!({"metadata": {"name": name, "uid": uid, "resourceVersion": version.to_string()}})
}

fn list(objects: &[Value], version: u64) -> (u16, Value) {
    (200, json!({"metadata": {"resourceVersion": version.to_string()}, "items": objects}))
}

/// Lists come from `answer`, the watch is silent, and the log has the requests.
async fn cache(
    answer: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static,
) -> (Held<CustomResourceDefinitions>, Asked) {
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    let api_server = tower::service_fn(move |request: Request<Body>| {
        let path = request.uri().to_string();
        let response = if path.contains("watch=true") {
            let silence = stream::pending::<Result<Bytes, Infallible>>();
            Response::new(Answer::from_stream(silence))
        } else {
            let (code, body) = answer(&path);
            log.lock().push(path);
            Response::builder().status(code).body(Answer::from(body.to_string())).unwrap()
        };
        async move { Ok::<_, Infallible>(response) }
    });
    let timings = Timings::default();
    let cluster = Cluster::played_by(kube::Client::new(api_server, "default"), &timings);
    let clock = Arc::new(ManualClock::default());
    let caches = Caches::new(clock, timings, Arc::default(), Tasks::default());
    let cache = caches.hold(&cluster, Scope::All, CustomResourceDefinitions);
    cache.wait_synced().await;
    asked.lock().clear();
    (cache, asked)
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("", name)
}

fn version(cache: &Cache<CustomResourceDefinitions>, name: &str) -> Option<u64> {
    cache.get(&key(name)).map(|entry| entry.meta().version.0)
}

#[tokio::test]
async fn partial_list_reads_missing_objects_live() {
    let (cache, asked) = cache(|path| match path {
        path if path.contains("labelSelector") => list(&[object("changed", 8)], 10),
        path if path.ends_with("/relabelled") => (200, object("relabelled", 9)),
        path if path.ends_with("/gone") => (404, json!({"code": 404, "reason": "NotFound"})),
        _ => {
            let all = ["changed", "gone", "relabelled", "stranger"];
            list(&all.map(|name| object(name, 5)), 5)
        }
    })
    .await;
    let known = ["changed", "gone", "relabelled"].map(key);
    cache.verify_selected("ns", "set in (a,b)", &known).await.unwrap();
    let asked = asked.lock();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(asked[0].contains("/namespaces/ns/"), "{asked:?}");
    assert!(asked[0].contains("?labelSelector=set%20in%20%28a%2Cb%29&limit="), "{asked:?}");
    let versions = ["changed", "gone", "relabelled", "stranger"].map(|name| version(&cache, name));
    assert_eq!(versions, [Some(8), None, Some(9), Some(5)]);
    let position = cache.survey(|position, _| position);
    assert_eq!(position, Version(5), "of others nothing is known up to version 10");
}

#[tokio::test]
async fn regressed_partial_list_triggers_a_full_list() {
    let lists = Mutex::new(0);
    let (cache, _) = cache(move |path| {
        if path.contains("labelSelector") {
            return list(&[object("a", 2)], 3);
        }
        let mut lists = lists.lock();
        *lists += 1;
        if *lists == 1 {
            list(&[object("a", 5), object("b", 5)], 5)
        } else {
            list(&[object("a", 2)], 3)
        }
    })
    .await;
    cache.verify_selected("ns", "set=a", &[key("a")]).await.unwrap();
    assert_eq!([version(&cache, "a"), version(&cache, "b")], [Some(2), None]);
}

/// Name, version before, version after.
type Changes = Arc<Mutex<Vec<(String, Option<u64>, Option<u64>)>>>;

fn first_page(objects: &[Value], version: u64) -> (u16, Value) {
    let metadata = json!({"resourceVersion": version.to_string(), "continue": "more"});
    (200, json!({"metadata": metadata, "items": objects}))
}

#[tokio::test]
async fn restored_cluster_is_stored_at_once() {
    let changes = Changes::default();
    let (so_far, early) = (Arc::clone(&changes), Arc::new(Mutex::new(Vec::new())));
    let (pages, lists) = (Arc::clone(&early), Mutex::new(0));
    let (cache, _) = cache(move |path| {
        if path.contains("continue=more") {
            let mut pages = pages.lock();
            pages.push(so_far.lock().len());
            // The API server dies in the middle of the first list.
            return match pages.len() {
                1 => (500, json!({"code": 500})),
                _ => list(&[object("new", 4), object("z", 3)], 6),
            };
        }
        let mut lists = lists.lock();
        *lists += 1;
        match *lists {
            1 => list(&["a", "gone", "z"].map(|name| object(name, 50)), 60),
            _ => first_page(&[object("a", 2)], 6),
        }
    })
    .await;
    let log = Arc::clone(&changes);
    cache.subscribe(move |change| {
        let version = |entry: Option<&Entry<Meta>>| entry.map(|entry| entry.meta().version.0);
        let name = change.key.name.to_string();
        log.lock().push((name, version(change.before), version(change.after)));
    });
    changes.lock().clear();
    let names = ["a", "gone", "new", "z"];
    cache.verify().await.unwrap_err();
    let before = names.map(|name| version(&cache, name));
    assert_eq!(before, [Some(50), Some(50), None, Some(50)], "half a list changes nothing");
    assert_eq!(cache.verify().await.unwrap(), 4);
    assert_eq!(*early.lock(), [0, 0], "nothing is delivered before the last page");
    assert_eq!(names.map(|name| version(&cache, name)), [Some(2), None, Some(4), Some(3)]);
    let mut changes = std::mem::take(&mut *changes.lock());
    changes.sort();
    let change = |name: &str, before, after| (name.to_owned(), before, after);
    let expected = [
        change("a", Some(50), Some(2)),
        change("gone", Some(50), None),
        change("new", None, Some(4)),
        change("z", Some(50), Some(3)),
    ];
    assert_eq!(changes, expected);
    assert_eq!(cache.survey(|position, _| position), Version(6));
}
