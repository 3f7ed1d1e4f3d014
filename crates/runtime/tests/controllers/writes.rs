//! Create, patch and delete: preconditions, lost answers, and the cache afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use machinist_domain::key::{ObjectKey, Uid};
use machinist_domain::meta::Meta;
use machinist_domain::retry::{Category, Classified};
use machinist_runtime::cache::Scope;
use machinist_runtime::lease::Leadership;
use machinist_runtime::user_agent::UserAgent;
use machinist_runtime::writer::{Guard, Part, WriteError, Writer};
use machinist_testbed::faults::{Effect, Match, Rule, Verb};
use machinist_testbed::poll::eventually;
use serde_json::json;

use crate::things::Desk;
use crate::toys::ConfigMaps;
use crate::world::{PATIENCE, ToyWorld};

/// The watch delivers nothing during the test.
fn deaf(world: &ToyWorld) {
    let watches = Match::any().verbs([Verb::Watch]).resource("things");
    world.proxy.add_rule(Rule::new(watches, Effect::DelayEvents(PATIENCE * 10)));
}

fn lose_the_answer(desk: &Desk, verb: Verb) {
    let when = Match::writes().verbs([verb]).resource("things");
    desk.world.proxy.add_rule(Rule::new(when, Effect::LoseAnswer).times(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_is_in_the_cache_when_it_is_answered() {
    let desk = Desk::new("create", deaf).await;
    let object = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"colour": "blue"}});
    let made = desk.writer.create(&desk.cache, &desk.key("one"), &object, &"make it").await;
    let meta = made.unwrap().unwrap();
    let cached = desk.cached("one").unwrap();
    assert_eq!((&cached.meta, cached.colour.as_deref()), (&meta, Some("blue")));
    let truth = desk.truth("one").await.unwrap();
    assert_eq!(truth.labels()["a"], "b");
    assert_eq!(truth.uid().as_deref(), Some(&*meta.uid.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_whose_answer_was_lost_is_found_and_not_repeated() {
    let desk = Desk::new("create-lost", deaf).await;
    let (key, object) = (desk.key("one"), json!({"spec": {"colour": "blue"}}));
    lose_the_answer(&desk, Verb::Create);
    let error = desk.writer.create(&desk.cache, &key, &object, &"make it").await.unwrap_err();
    assert_eq!(error.category(), Category::Unavailable);
    assert!(desk.cached("one").is_none() && desk.cache.is_uncertain(&key));
    // The next attempt finds the object of the first.
    let error = desk.writer.create(&desk.cache, &key, &object, &"make it").await.unwrap_err();
    assert!(error.already_exists() && !error.conflict(), "{error}");
    desk.cache.certain_among([&key].into_iter()).await.unwrap();
    assert!(!desk.cache.is_uncertain(&key));
    assert_eq!(desk.cached("one").unwrap().colour.as_deref(), Some("blue"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_was_abandoned_leaves_its_key_uncertain() {
    let desk = Desk::new("create-left", deaf).await;
    let key = desk.key("one");
    let when = Match::writes().resource("things");
    desk.world.proxy.add_rule(Rule::new(when, Effect::Timeout).times(1));
    let object = json!({});
    let create = desk.writer.create(&desk.cache, &key, &object, &"make it");
    assert!(tokio::time::timeout(Duration::from_millis(200), create).await.is_err());
    assert!(desk.cache.is_uncertain(&key));
    assert!(desk.certain("one").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_is_in_the_cache_when_it_is_answered_and_touches_nothing_else() {
    let desk = Desk::new("patch", deaf).await;
    let meta = desk.given("one", &["test.machinist.dev/x"]).await;
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    let patched =
        desk.writer.patch(&desk.cache, &meta, Part::Object, Guard::Version, patch, &"label it");
    let meta = patched.await.unwrap().unwrap();
    assert_eq!(desk.cached("one").unwrap().meta, meta);
    let truth = desk.truth("one").await.unwrap();
    assert_eq!((truth.labels()["a"].as_str(), &truth.data["spec"]["colour"]), ("b", &json!("red")));
    assert_eq!(truth.finalizers(), ["test.machinist.dev/x"]);

    // The status endpoint changes only the status.
    let patch = json!({"spec": {"colour": "blue"}, "status": {"seen": "yes"}});
    let patched =
        desk.writer.patch(&desk.cache, &meta, Part::Status, Guard::Version, patch, &"see it");
    patched.await.unwrap().unwrap();
    let cached = desk.cached("one").unwrap();
    assert_eq!((cached.colour.as_deref(), cached.seen.as_deref()), (Some("red"), Some("yes")));

    // An empty patch is not sent.
    let sent = desk.world.proxy.log().entries().len();
    let nothing = json!({"metadata": {"labels": {}}});
    let patched =
        desk.writer.patch(&desk.cache, &meta, Part::Object, Guard::Uid, nothing, &"nothing");
    assert_eq!(patched.await.unwrap(), None);
    assert_eq!(desk.world.proxy.log().entries().len(), sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_guards_against_every_change_and_a_uid_only_against_another_object() {
    let desk = Desk::new("guards", deaf).await;
    for part in [Part::Object, Part::Status] {
        let patch = |value: &str| match part {
            Part::Object => json!({"spec": {"size": value}}),
            Part::Status => json!({"status": {"seen": value}}),
        };
        let found = |thing: kube::api::DynamicObject| match part {
            Part::Object => thing.data["spec"]["size"].clone(),
            Part::Status => thing.data["status"]["seen"].clone(),
        };
        let name = format!("{part:?}").to_lowercase();
        let write = async |meta, guard, value: &str| {
            desk.writer.patch(&desk.cache, meta, part, guard, patch(value), &"try").await
        };
        let old = desk.given(&name, &[]).await;
        let meta = desk.painted(&name, "green").await;
        let error = write(&old, Guard::Version, "old").await.unwrap_err();
        assert!(error.conflict(), "{part:?}: {error}");
        assert!(desk.cache.is_uncertain(&meta.key), "{part:?}");
        // Only a patch of the status treats a uid as a version.
        let with_uid = if part == Part::Object { &old } else { &meta };
        assert!(write(with_uid, Guard::Uid, "new").await.unwrap().is_some(), "{part:?}");
        assert_eq!(found(desk.truth(&name).await.unwrap()), "new");

        desk.replaced(&name).await;
        for guard in [Guard::Uid, Guard::Version] {
            let error = write(&meta, guard, "late").await.unwrap_err();
            let by_uid = part == Part::Object && guard == Guard::Uid;
            let expected = if by_uid { error.not_found() } else { error.conflict() };
            assert!(expected, "{part:?}, {guard:?}: {error}");
            assert!(desk.cache.is_uncertain(&meta.key), "{part:?}");
        }
        let truth = found(desk.truth(&name).await.unwrap());
        assert!(truth.is_null(), "{part:?}: {truth}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_uid_guards_objects_of_built_in_kinds_too() {
    let world = ToyWorld::new("built-in").await;
    world.create_config_maps(1).await;
    let manager = world.manager(world.options());
    let shared = manager.shared();
    let scope = Scope::Namespace(world.namespace.clone());
    let cache = shared.caches.open(&shared.control, scope, ConfigMaps);
    cache.wait_synced().await;
    let session = shared.control.session(UserAgent::of("machine"));
    let writer = Writer::new(shared.gateway.clone(), session, "test", Leadership::NotNeeded);
    let key = ObjectKey::new(world.namespace.as_str(), "map-0");
    let now = cache.get(&key).unwrap().meta().clone();
    let gone = Meta { uid: Uid("6b58c36a-3010-4b2b-a9da-1a0013b0beb0".into()), ..now.clone() };
    let patch = |meta| {
        let patch = json!({"data": {"a": "b"}});
        writer.patch(&cache, meta, Part::Object, Guard::Uid, patch, &"change it")
    };
    let error = patch(&gone).await.unwrap_err();
    assert!(error.not_found(), "{error}");
    assert_eq!(writer.delete(&cache, &gone, &"remove it").await.unwrap(), Some(()));
    assert!(world.config_maps().get("map-0").await.unwrap().data.is_none());
    assert!(patch(&now).await.unwrap().unwrap().version > now.version);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_whose_answer_was_lost_makes_its_key_uncertain() {
    let desk = Desk::new("patch-lost", deaf).await;
    let meta = desk.given("one", &[]).await;
    lose_the_answer(&desk, Verb::Patch);
    let patch = json!({"spec": {"colour": "blue"}});
    let patched =
        desk.writer.patch(&desk.cache, &meta, Part::Object, Guard::Version, patch, &"paint it");
    patched.await.unwrap_err();
    assert_eq!(desk.certain("one").await.unwrap().colour.as_deref(), Some("blue"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_counts_as_done_from_its_answer_on() {
    let desk = Desk::new("delete", deaf).await;
    // An object with a finalizer exists and is being deleted.
    let slow = desk.given("slow", &["test.machinist.dev/x"]).await;
    assert_eq!(desk.writer.delete(&desk.cache, &slow, &"remove it").await.unwrap(), Some(()));
    assert!(desk.cached("slow").unwrap().meta.deleting);
    // Any other is gone.
    let key = desk.key("quick");
    let made = desk.writer.create(&desk.cache, &key, &json!({}), &"make it").await.unwrap();
    let quick = made.unwrap();
    assert_eq!(desk.writer.delete(&desk.cache, &quick, &"remove it").await.unwrap(), Some(()));
    assert!(desk.cached("quick").is_none() && !desk.cache.is_uncertain(&key));
    assert!(desk.truth("quick").await.is_none());
    // A second deletion is no error.
    assert_eq!(desk.writer.delete(&desk.cache, &quick, &"remove it").await.unwrap(), Some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_deleted_is_not_brought_back_by_a_watch_that_is_late() {
    let late = Effect::DelayEvents(Duration::from_secs(1));
    let desk = Desk::new("delete-late", |world| {
        let watches = Match::any().verbs([Verb::Watch]).resource("things");
        world.proxy.add_rule(Rule::new(watches, late));
    })
    .await;
    let key = desk.key("one");
    let made = desk.writer.create(&desk.cache, &key, &json!({}), &"make it").await;
    let meta = made.unwrap().unwrap();
    desk.painted("one", "green").await;
    desk.writer.delete(&desk.cache, &meta, &"remove it").await.unwrap();
    let returns = Arc::new(AtomicUsize::new(0));
    let (counter, watched) = (returns.clone(), key.clone());
    desk.cache.subscribe(move |change| {
        if *change.key == watched && change.after.is_some() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    // When this one arrives by the watch, everything about the first has arrived.
    desk.given("last", &[]).await;
    let caught_up = eventually(PATIENCE, "the watch has caught up", || async {
        ensure!(desk.cached("last").is_some());
        Ok(())
    });
    caught_up.await.unwrap();
    assert_eq!(returns.load(Ordering::Relaxed), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_whose_answer_was_lost_is_found_out() {
    let desk = Desk::new("delete-lost", deaf).await;
    let key = desk.key("one");
    let made = desk.writer.create(&desk.cache, &key, &json!({}), &"make it").await;
    let meta = made.unwrap().unwrap();
    lose_the_answer(&desk, Verb::Delete);
    desk.writer.delete(&desk.cache, &meta, &"remove it").await.unwrap_err();
    assert!(desk.cached("one").is_some() && desk.cache.is_uncertain(&key));
    assert!(desk.certain("one").await.is_none());
    assert!(!desk.cache.is_uncertain(&key));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_of_a_version_is_a_conflict_after_a_change() {
    let desk = Desk::new("delete-version", deaf).await;
    let key = desk.key("one");
    let made = desk.writer.create(&desk.cache, &key, &json!({}), &"make it").await;
    let meta = made.unwrap().unwrap();
    desk.painted("one", "green").await;
    let deleted = desk.writer.delete_version(&desk.cache, &meta, &"remove it").await;
    assert!(deleted.unwrap_err().conflict());
    assert!(desk.truth("one").await.is_some() && desk.cache.is_uncertain(&key));
    let current = desk.certain("one").await.unwrap().meta.clone();
    let deleted = desk.writer.delete_version(&desk.cache, &current, &"remove it").await;
    assert_eq!(deleted.unwrap(), Some(()));
    assert!(desk.truth("one").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_has_the_name_of_another_is_not_deleted_in_its_place() {
    let desk = Desk::new("delete-other", deaf).await;
    let key = desk.key("one");
    let made = desk.writer.create(&desk.cache, &key, &json!({}), &"make it").await;
    let first = made.unwrap().unwrap();
    let second = desk.replaced("one").await;
    assert_eq!(desk.writer.delete(&desk.cache, &first, &"remove it").await.unwrap(), Some(()));
    let truth = desk.truth("one").await.unwrap();
    assert!(truth.metadata.deletion_timestamp.is_none());
    // The first is gone, and the recreated one is read.
    assert!(desk.cached("one").is_none() && desk.cache.is_uncertain(&key));
    assert_eq!(desk.certain("one").await.unwrap().meta, second);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_target_cluster_is_another_one_or_none() {
    let desk = Desk::new("target", deaf).await;
    let elsewhere = ToyWorld::new("target").await;
    let other = elsewhere.manager(elsewhere.options());
    let there = other.shared().control.session(UserAgent::of("machine"));
    let writer = desk.writer.clone().with_target(Some(there));
    let (key, object) = (desk.key("one"), json!({}));
    writer.target().create(&desk.cache, &key, &object, &"make it").await.unwrap();
    let sent_to = |world: &ToyWorld| {
        let entries = world.proxy.log().entries();
        entries.iter().filter(|entry| entry.request.verb.is_write()).count()
    };
    assert_eq!((sent_to(&desk.world), sent_to(&elsewhere)), (0, 1));

    let writer = desk.writer.clone().with_target(None);
    let error = writer.target().create(&desk.cache, &key, &object, &"make it").await.unwrap_err();
    assert!(matches!(error, WriteError::NoTarget("test")), "{error}");
    assert_eq!(sent_to(&desk.world), 0);
}

/// Writes in the namespace fail from now on: its webhook does not exist.
async fn break_the_webhook(desk: &Desk) {
    let rule = json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["things"]});
    let configuration = json!({
        "metadata": {"name": desk.world.namespace},
        "webhooks": [{
            "name": "absent.test.machinist.dev",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 1,
            "clientConfig": {"url": "https://127.0.0.1:9/"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": desk.world.namespace}},
            "rules": [rule],
        }],
    });
    let configuration = serde_json::from_value(configuration).unwrap();
    let all: Api<ValidatingWebhookConfiguration> = Api::all(desk.world.client.clone());
    all.create(&PostParams::default(), &configuration).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_fails_is_told_apart_from_an_outage() {
    let desk = Desk::new("webhook", |_| {}).await;
    let meta = desk.given("one", &[]).await;
    break_the_webhook(&desk).await;
    let refused = eventually(PATIENCE, "the webhook to be asked", || async {
        let (patch, guard) = (json!({"spec": {"colour": "green"}}), Guard::Uid);
        let painted =
            desk.writer.patch(&desk.cache, &meta, Part::Object, guard, patch, &"paint it");
        painted.await.err().context("it was painted")
    });
    let error = refused.await.unwrap();
    assert_eq!(error.category(), Category::Unexpected, "{error}");
    assert!(error.to_string().contains("absent.test.machinist.dev"), "{error}");
    assert!(error.leaves_uncertain(), "{error}");
}
