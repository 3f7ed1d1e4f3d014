//! Expiry, with a manual clock.

use std::time::Duration;

use machinist_provider::capacity::ObservedCapacity;

use crate::stub::{Stub, page};
use crate::support::{TYPES, World, access, bed};

const HOUR: Duration = Duration::from_hours(1);

#[tokio::test]
async fn unknown_type_is_fetched_again_after_ten_minutes() {
    let (bed, world) = (bed().await, World::new());
    let access = access(&bed.endpoint_url());
    world.absent(&access, "m99.mega").await;
    world.clock.advance(Duration::from_secs(599));
    assert_eq!(world.look(&access, "m99.mega"), ObservedCapacity::Absent);
    assert_eq!(bed.front().calls_of(TYPES).len(), 1);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(world.look(&access, "m99.mega"), ObservedCapacity::NotAsked);
    world.absent(&access, "m99.mega").await;
    assert_eq!(bed.front().calls_of(TYPES).len(), 2);
}

#[tokio::test]
async fn known_type_expires_after_a_day() {
    let (bed, world) = (bed().await, World::new());
    let access = access(&bed.endpoint_url());
    world.capacity(&access, "m5.large").await;
    world.clock.advance(24 * HOUR);
    assert_eq!(world.look(&access, "m5.large"), ObservedCapacity::NotAsked);
    world.capacity(&access, "m5.large").await;
    assert_eq!(bed.front().calls_of(TYPES).len(), 2);
}

#[tokio::test]
async fn unchanged_refresh_is_not_announced() {
    let stub = Stub::start([page(&[("a.1", 2)], None)]).await;
    let world = World::new();
    let access = access(&stub.endpoint);
    world.capacity(&access, "a.1").await;
    assert_eq!(world.told(), ["a.1"]);

    world.clock.advance(20 * HOUR);
    assert!(
        matches!(world.look(&access, "a.1"), ObservedCapacity::Present(_)),
        "while it is refreshed"
    );
    world.calls(2).await;
    assert_eq!(world.told(), ["a.1"], "confirmed");

    stub.say(page(&[("a.1", 4)], None));
    world.clock.advance(20 * HOUR);
    world.look(&access, "a.1");
    world
        .until(&access, "a.1", |answer| match answer {
            ObservedCapacity::Present(capacity) if capacity.vcpus == 4 => Some(()),
            _ => None,
        })
        .await;
    assert_eq!(world.told(), ["a.1", "a.1"]);
}

#[tokio::test]
async fn answer_is_kept_for_a_day_while_refreshing_fails() {
    let stub = Stub::start([page(&[("a.1", 2)], None)]).await;
    let world = World::new();
    let access = access(&stub.endpoint);
    world.capacity(&access, "a.1").await;
    stub.say((503, String::new()));
    world.clock.advance(20 * HOUR);
    world.look(&access, "a.1");
    world.calls(2).await;
    assert!(matches!(world.look(&access, "a.1"), ObservedCapacity::Present(_)));
    assert_eq!(world.told(), ["a.1"]);
    world.clock.advance(4 * HOUR);
    world.failure(&access, "a.1").await;
    stub.say(page(&[("a.1", 2)], None));
    world.clock.advance(Duration::from_mins(5));
    world.capacity(&access, "a.1").await;
}
