//! How long answers hold, with a clock that the test moves.

use std::time::Duration;

use machinist_provider::capacity::Answer;

use crate::stub::{Stub, page};
use crate::support::{TYPES, World, bed, realm};

const HOUR: Duration = Duration::from_hours(1);

#[tokio::test]
async fn an_unknown_type_is_asked_for_again_after_ten_minutes() {
    let (bed, world) = (bed().await, World::new());
    let realm = realm(&bed.endpoint_url());
    world.absent(&realm, "m99.mega").await;
    world.clock.advance(Duration::from_secs(599));
    assert_eq!(world.look(&realm, "m99.mega"), Answer::Absent);
    assert_eq!(bed.front().calls_of(TYPES).len(), 1);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(world.look(&realm, "m99.mega"), Answer::NotAsked);
    world.absent(&realm, "m99.mega").await;
    assert_eq!(bed.front().calls_of(TYPES).len(), 2);
}

#[tokio::test]
async fn a_known_type_is_forgotten_after_a_day() {
    let (bed, world) = (bed().await, World::new());
    let realm = realm(&bed.endpoint_url());
    world.capacity(&realm, "m5.large").await;
    world.clock.advance(24 * HOUR);
    assert_eq!(world.look(&realm, "m5.large"), Answer::NotAsked);
    world.capacity(&realm, "m5.large").await;
    assert_eq!(bed.front().calls_of(TYPES).len(), 2);
}

#[tokio::test]
async fn a_refresh_is_told_only_if_something_changed() {
    let stub = Stub::start([page(&[("a.1", 2)], None)]).await;
    let world = World::new();
    let realm = realm(&stub.endpoint);
    world.capacity(&realm, "a.1").await;
    assert_eq!(world.told(), ["a.1"]);

    world.clock.advance(20 * HOUR);
    assert!(matches!(world.look(&realm, "a.1"), Answer::Present(_)), "while it is refreshed");
    world.calls(2).await;
    assert_eq!(world.told(), ["a.1"], "confirmed");

    stub.say(page(&[("a.1", 4)], None));
    world.clock.advance(20 * HOUR);
    world.look(&realm, "a.1");
    world
        .until(&realm, "a.1", |answer| match answer {
            Answer::Present(capacity) if capacity.vcpus == 4 => Some(()),
            _ => None,
        })
        .await;
    assert_eq!(world.told(), ["a.1", "a.1"]);
}

#[tokio::test]
async fn an_answer_holds_while_refreshing_fails_but_not_longer_than_a_day() {
    let stub = Stub::start([page(&[("a.1", 2)], None)]).await;
    let world = World::new();
    let realm = realm(&stub.endpoint);
    world.capacity(&realm, "a.1").await;
    stub.say((503, String::new()));
    world.clock.advance(20 * HOUR);
    world.look(&realm, "a.1");
    world.calls(2).await;
    assert!(matches!(world.look(&realm, "a.1"), Answer::Present(_)));
    assert_eq!(world.told(), ["a.1"]);
    world.clock.advance(4 * HOUR);
    world.failure(&realm, "a.1").await;
    stub.say(page(&[("a.1", 2)], None));
    world.clock.advance(Duration::from_mins(5));
    world.capacity(&realm, "a.1").await;
}
