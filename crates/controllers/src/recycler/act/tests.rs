use std::sync::Arc;
use std::time::Duration;

use machinist_domain::observed::Observed;
use machinist_provider::cloud::{CloudError, ErrorClass};
use machinist_provider::node_groups::{Group, GroupRef};
use machinist_runtime::clock::ManualClock;
use serde_json::json;

use crate::recycler::decide::decide;
use crate::recycler::recycling::Recycling;
use crate::recycler::samples::{REGION, Sample, group, now};
use crate::recycler::tests::cloud::{FakeCloud, recycling};

struct World {
    cloud: Arc<FakeCloud>,
    clock: Arc<ManualClock>,
    recycling: Recycling,
}

fn named(name: &str, members: usize) -> Group {
    Group { name: name.into(), ..group(members) }
}

impl World {
    fn new() -> Self {
        let (cloud, clock) = (Arc::<FakeCloud>::default(), Arc::<ManualClock>::default());
        let (recycling, _) = recycling(&cloud, clock.clone());
        Self { cloud, clock, recycling }
    }

    fn put(&self, region: &str, name: &str, answer: Result<Group, CloudError>) {
        self.cloud.put(GroupRef::new(region, name), answer);
    }

    /// One reconcile: the calls to the cloud, and the group whose recycle begins.
    async fn reconcile(&self, sample: &Sample) -> (Vec<String>, Option<String>) {
        let mut sample = sample.clone();
        for (region, name) in [(REGION, "a"), (REGION, "b"), ("us-east-1", "c")] {
            let state = self.recycling.group_cache.cached(&GroupRef::new(region, name));
            if !matches!(state, Observed::NotAsked) {
                sample = sample.described(region, name, state);
            }
        }
        let plan = decide(&sample.snapshot(), now());
        self.recycling.group_cache.fill(&plan.describe, sample.facts.group_age()).await;
        (self.cloud.calls(), plan.begin.map(|recycle| recycle.group))
    }
}

/// `b` has more events than `a`, and both reached the threshold.
fn sample() -> Sample {
    Sample::new(&json!({})).news("a", "p", 5, 0).news("b", "q", 8, 0)
}

fn describe(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("describe {REGION}/{name}")).collect()
}

#[tokio::test]
async fn a_recycle_begins_once_the_candidates_are_described() {
    for (members_of_b, begins) in [(2, "b"), (0, "a")] {
        let world = World::new();
        world.put(REGION, "a", Ok(named("a", 2)));
        world.put(REGION, "b", Ok(named("b", members_of_b)));
        assert_eq!(world.reconcile(&sample()).await, (describe(&["b", "a"]), None));
        assert_eq!(world.reconcile(&sample()).await, (Vec::new(), Some(begins.to_owned())));
    }
}

#[tokio::test]
async fn a_group_that_is_refused_is_not_described_with_every_event() {
    let world = World::new();
    world.put(REGION, "a", Ok(named("a", 0)));
    world.put(REGION, "b", Ok(named("b", 0)));
    assert_eq!(world.reconcile(&sample()).await.0, describe(&["b", "a"]));
    let age = sample().facts.timings.group_age;
    world.clock.advance(age.checked_sub(Duration::from_secs(1)).unwrap());
    assert_eq!(world.reconcile(&sample()).await, (Vec::new(), None), "the cache is used");
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(world.reconcile(&sample()).await.0, describe(&["b", "a"]));
    // A shorter watchInterval shortens the time in the cache.
    let hasty = Sample::new(&json!({"watchInterval": "2s"})).news("b", "q", 8, 0);
    world.clock.advance(age);
    assert_eq!(world.reconcile(&hasty).await.0, describe(&["b"]));
    world.clock.advance(Duration::from_secs(2));
    assert_eq!(world.reconcile(&hasty).await.0, describe(&["b"]));
}

#[tokio::test]
async fn a_region_that_cannot_be_reached_does_not_block_another_one() {
    let world = World::new();
    world.put(REGION, "a", Err(CloudError::new(ErrorClass::Unauthorised, "no")));
    world.put(REGION, "b", Err(CloudError::new(ErrorClass::Unauthorised, "no")));
    world.put("us-east-1", "c", Ok(named("c", 2)));
    let far = sample().news_in("us-east-1", "c", 3);
    assert_eq!(world.reconcile(&far).await.1, None);
    assert_eq!(world.reconcile(&far).await, (Vec::new(), Some("c".to_owned())));
}
