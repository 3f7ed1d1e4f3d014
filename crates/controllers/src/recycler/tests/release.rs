use std::collections::BTreeSet;
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use machinist_domain::key::{ObjectKey, Version};
use machinist_domain::observed::Observed;
use machinist_provider::node_groups::GroupRef;
use machinist_runtime::cache::store::Entry;
use machinist_runtime::clock::ManualClock;
use machinist_runtime::controller::Controller as _;
use machinist_runtime::queue::Queue;
use machinist_testbed::stub::StubApi;
use serde_json::json;

use super::cloud::FakeCloud;
use crate::recycler::{RecyclerController, RecyclerTimings, Settings};
use crate::test_process;

const PATH: &str = "/apis/kaws.pischarti.dev/v1beta1/eventrecyclers/er";

#[tokio::test]
async fn nothing_is_kept_of_an_event_recycler_that_is_gone() {
    let (api, clock) = (StubApi::start().await.unwrap(), Arc::<ManualClock>::default());
    let shared = test_process::shared(Some(&api), &clock);
    let settings = Settings {
        groups: Arc::<FakeCloud>::default(),
        region: Some("r".into()),
        own_node: None,
        timings: RecyclerTimings::default(),
    };
    let controller = RecyclerController::new(&shared, settings);
    controller.subscribe(&Arc::new(Queue::new(shared.timings.retry)));
    api.put(
        PATH,
        json!({
            "metadata": {"name": "er", "uid": "u", "resourceVersion": "1", "generation": 1},
            "spec": {"searchTerms": ["bad"]},
            "status": {"recycles": [{
                "id": "a", "group": "workers", "region": "r", "strategy": "Replace",
                "step": "Replacing", "original": {"min": 1, "max": 1, "desired": 1},
                "instances": [], "started": "2026-01-01T00:00:00Z",
                "stepSince": "2026-01-01T00:00:00Z", "events": 3,
            }]},
        }),
    );
    let key = ObjectKey::new("", "er");
    let found = controller.recyclers.read_live(&key).await.unwrap();
    let Some(Entry::Known(recycler)) = found else { panic!("{found:?}") };
    let group = GroupRef::new("r", "workers");
    let groups = || BTreeSet::from([group.clone()]);
    let described = Duration::from_secs(60);
    controller.recycling.group_cache.fill(from_ref(&group), described).await;
    assert!(controller.abandoned.unchecked(&recycler, groups(), |_| true).is_empty());

    let kept = || {
        let none = Version::default();
        [
            shared.metrics.encode(&[]).unwrap().contains(r#"recycler="er""#),
            controller.detection.tracker.occurrences(&key, none, none).is_some(),
            controller.recycling.group_cache.cached(&group) != Observed::NotAsked,
            // It counts as checked.
            controller.abandoned.unchecked(&recycler, groups(), |_| false).is_empty(),
        ]
    };
    assert_eq!(kept(), [true; 4], "metrics, Events, description, group that was checked");
    api.remove(PATH);
    assert!(controller.recyclers.read_live(&key).await.unwrap().is_none());
    assert_eq!(kept(), [false; 4], "metrics, Events, description, group that was checked");
}
