//! Which groups are looked at before a recycle begins, and how often.

use std::time::Duration;

use machinist_provider::cloud::{CloudError, ErrorClass};
use machinist_provider::node_groups::{Group, Process};
use machinist_runtime::clock::ManualClock;
use serde_json::json;

use super::*;
use crate::recycler::decide::decide;
use crate::recycler::samples::{REGION, Sample, group, now};
use crate::recycler::tests::cloud::{FakeCloud, recycling};

/// `b` has more events than `a`, and both have too many.
fn sample() -> Sample {
    Sample::new(&json!({})).news("a", "p", 5, 0).news("b", "q", 8, 0)
}

struct World {
    cloud: Arc<FakeCloud>,
    clock: Arc<ManualClock>,
    recycling: Recycling,
}

impl World {
    fn new(groups: [(&str, Result<Group, CloudError>); 2]) -> Self {
        let (cloud, clock) = (Arc::<FakeCloud>::default(), Arc::<ManualClock>::default());
        for (name, answer) in groups {
            cloud.put(GroupRef::new(REGION, name), answer);
        }
        let (recycling, _) = recycling(&cloud, clock.clone());
        Self { cloud, clock, recycling }
    }

    /// The groups that were looked at, and what was asked for that.
    async fn look(&self, sample: &Sample) -> (Vec<String>, Vec<String>) {
        let snapshot = sample.snapshot();
        let begin = decide(&snapshot, now()).begin;
        let seen = look(&self.recycling, &snapshot, &sample.facts, &begin).await;
        let seen = seen.iter().map(|begun| begun.begin.group.name.to_string()).collect();
        (seen, self.cloud.calls())
    }
}

fn suspended() -> Group {
    Group { suspended: [Process::Launch].into(), ..group(2) }
}

fn describe(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("describe {REGION}/{name}")).collect()
}

#[tokio::test]
async fn where_the_worst_group_is_refused_the_next_one_is_looked_at() {
    let world = World::new([("a", Ok(group(2))), ("b", Ok(suspended()))]);
    let (seen, calls) = world.look(&sample()).await;
    assert_eq!(seen, ["b", "a"]);
    assert_eq!(calls, describe(&["b", "a"]));
}

#[tokio::test]
async fn the_first_that_can_be_recycled_is_enough() {
    let world = World::new([("a", Ok(group(2))), ("b", Ok(group(2)))]);
    assert_eq!(world.look(&sample()).await, (vec!["b".to_owned()], describe(&["b"])));
}

#[tokio::test]
async fn a_group_that_is_refused_is_not_asked_for_with_every_event() {
    let world = World::new([("a", Ok(suspended())), ("b", Ok(suspended()))]);
    assert_eq!(world.look(&sample()).await.1, describe(&["b", "a"]));
    let age = sample().facts.timings.group_age;
    world.clock.advance(age.checked_sub(Duration::from_secs(1)).unwrap());
    let (seen, calls) = world.look(&sample()).await;
    assert_eq!((seen.len(), calls), (2, Vec::new()), "what was seen lately serves");
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(world.look(&sample()).await.1, describe(&["b", "a"]));
    // Whoever looks more often wants to know sooner.
    let hasty = Sample::new(&json!({"watchInterval": "2s"})).news("b", "q", 8, 0);
    world.clock.advance(Duration::from_secs(2));
    assert_eq!(world.look(&hasty).await.1, describe(&["b"]));
}

#[tokio::test]
async fn a_region_that_cannot_be_asked_for_one_group_is_not_asked_for_the_next() {
    let denied = CloudError::new(ErrorClass::Unauthorised, "no");
    let world = World::new([("a", Ok(group(2))), ("b", Err(denied))]);
    world.cloud.put(GroupRef::new("us-east-1", "c"), Ok(group(2)));
    let far = sample().news_in("us-east-1", "c", 3);
    let (seen, calls) = world.look(&far).await;
    assert_eq!(seen, ["b", "c"]);
    assert_eq!(calls, [format!("describe {REGION}/b"), "describe us-east-1/c".to_owned()]);
}
