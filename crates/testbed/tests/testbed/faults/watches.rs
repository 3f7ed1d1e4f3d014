//! Watches through the proxy: streamed, delayed, thinned out and cut.

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use crate::faults::api_server::world;
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams},
};
use machinist_testbed::{
    World,
    faults::{Effect, EventFilter, Match, Outcome, Rule, Verb},
};

const AGENT: &str = "machinist-cache/1";
/// Longer than any event takes, far shorter than a watch lives.
const PATIENCE: Duration = Duration::from_secs(60);

fn through(world: &World) -> Api<ConfigMap> {
    let client = Client::try_from(world.proxy.config(AGENT).unwrap()).unwrap();
    Api::namespaced(client, &world.namespace)
}

async fn create(world: &World, name: &str) {
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    world.api().create(&PostParams::default(), &map).await.unwrap();
}

type Event = kube::Result<WatchEvent<ConfigMap>>;

async fn watch(world: &World) -> impl Stream<Item = Event> + use<> {
    through(world).watch(&WatchParams::default(), "0").await.unwrap()
}

/// The name in the next event, or `None` when the watch broke or ended.
async fn next_name(events: &mut (impl Stream<Item = Event> + Unpin)) -> Option<String> {
    loop {
        match tokio::time::timeout(PATIENCE, events.next()).await.expect("an event or an end")? {
            Ok(WatchEvent::Added(map)) => return map.metadata.name,
            Ok(WatchEvent::Bookmark(_)) => {}
            Ok(other) => panic!("unexpected {other:?}"),
            Err(_) => return None,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_streamed_while_the_watch_is_open() {
    let world = world("stream").await;
    let mut events = pin!(watch(&world).await);
    for name in ["a", "b"] {
        create(&world, name).await;
        assert_eq!(next_name(&mut events).await.as_deref(), Some(name));
    }
    let entry = world.proxy.log().entries().pop().unwrap();
    assert_eq!((entry.request.verb, entry.outcome), (Verb::Watch, Outcome::InFlight));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_collection_only_one_object_is_there() {
    let world = world("only").await;
    world.proxy.add_rule(Rule::new(Match::any(), Effect::OnlyNamed("b".to_owned())));
    let mut events = pin!(watch(&world).await);
    for name in ["a", "b"] {
        create(&world, name).await;
    }
    assert_eq!(next_name(&mut events).await.as_deref(), Some("b"));
    let maps = through(&world);
    let list = maps.list(&ListParams::default().limit(10)).await.unwrap();
    let names: Vec<_> = list.items.into_iter().filter_map(|map| map.metadata.name).collect();
    assert_eq!(names, ["b"]);
    // A request for another one by its name is answered.
    assert!(maps.get("a").await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_delayed_in_order() {
    let world = world("late").await;
    let delay = Duration::from_secs(1);
    world.proxy.add_rule(Rule::new(Match::any(), Effect::DelayEvents(delay)));
    let mut events = pin!(watch(&world).await);
    let start = Instant::now();
    create(&world, "a").await;
    create(&world, "b").await;
    assert_eq!(next_name(&mut events).await.as_deref(), Some("a"));
    assert!(start.elapsed() >= delay);
    assert_eq!(next_name(&mut events).await.as_deref(), Some("b"));
    // Plain requests are not delayed: a list has what the watch has not delivered yet.
    create(&world, "c").await;
    assert_eq!(through(&world).list(&ListParams::default()).await.unwrap().items.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_events_never_arrive() {
    let world = world("hide").await;
    let filter = EventFilter::all().types(["ADDED"]).name("secret");
    world.proxy.add_rule(Rule::new(Match::any(), Effect::HideEvents(filter)));
    let mut events = pin!(watch(&world).await);
    create(&world, "secret").await;
    create(&world, "public").await;
    assert_eq!(next_name(&mut events).await.as_deref(), Some("public"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_connection_breaks_the_watch_in_the_middle() {
    let world = world("drop").await;
    // Long enough for an event, also on a busy machine.
    let effect = Effect::DropConnection(Duration::from_secs(5));
    world.proxy.add_rule(Rule::new(Match::any().verbs([Verb::Watch]), effect).times(1));
    let mut events = pin!(watch(&world).await);
    create(&world, "a").await;
    assert_eq!(next_name(&mut events).await.as_deref(), Some("a"));
    assert_eq!(next_name(&mut events).await, None);
    assert_eq!(world.proxy.log().entries().pop().unwrap().outcome, Outcome::Cut);
    let mut again = pin!(watch(&world).await);
    assert_eq!(next_name(&mut again).await.as_deref(), Some("a"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_cuts_what_is_open_and_refuses_what_is_new() {
    let world = world("partition").await;
    let mut events = pin!(watch(&world).await);
    create(&world, "a").await;
    assert_eq!(next_name(&mut events).await.as_deref(), Some("a"));
    world.proxy.refuse_all(true);
    assert_eq!(next_name(&mut events).await, None);
    let refused = through(&world).list(&ListParams::default()).await.unwrap_err();
    assert!(!matches!(refused, kube::Error::Api(_)), "{refused}");
    world.proxy.refuse_all(false);
    through(&world).list(&ListParams::default()).await.expect("the partition is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_cut_again_and_again_until_the_timer_is_dropped() {
    let world = world("cuts").await;
    create(&world, "a").await;
    let timer = world.proxy.cut_connections_every(Duration::from_millis(200));
    for _ in 0..3 {
        // A watch may be cut before its first event, so only its end matters.
        let Ok(events) = through(&world).watch(&WatchParams::default(), "0").await else {
            continue;
        };
        let mut events = pin!(events);
        while next_name(&mut events).await.is_some() {}
    }
    drop(timer);
    let mut events = pin!(watch(&world).await);
    assert_eq!(next_name(&mut events).await.as_deref(), Some("a"));
    let calm = tokio::time::timeout(Duration::from_millis(600), next_name(&mut events)).await;
    assert!(calm.is_err(), "three periods without a cut: {calm:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_api_server_looks_like_one() {
    let world = world("absent").await;
    let mut nowhere = crate::faults::api_server::admin().await;
    // No server is ever given this port.
    nowhere.cluster_url = "https://127.0.0.1:9".parse().unwrap();
    let proxy = machinist_testbed::faults::Proxy::start(&nowhere).await.unwrap();
    let client = Client::try_from(proxy.config(AGENT).unwrap()).unwrap();
    let api = Api::<ConfigMap>::namespaced(client, &world.namespace);
    let error = api.list(&ListParams::default()).await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "{error}");
    let outcome = proxy.log().entries().pop().unwrap().outcome;
    assert!(matches!(outcome, Outcome::Upstream(_)), "{outcome:?}");
}
