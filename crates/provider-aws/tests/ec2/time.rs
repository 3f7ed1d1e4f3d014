//! Expiry, with a manual clock.

use std::time::Duration;

use machinist_provider::capacity::ObservedCapacity;

use crate::stub::{Stub, page};
use crate::support::{Fixture, TYPES, access, bed};

const HOUR: Duration = Duration::from_hours(1);

#[tokio::test]
async fn unknown_type_is_fetched_again_after_ten_minutes() {
    let (bed, fixture) = (bed().await, Fixture::new());
    let access = access(&bed.endpoint_url());
    fixture.absent(&access, "m99.mega").await;
    fixture.clock.advance(Duration::from_secs(599));
    assert_eq!(fixture.look(&access, "m99.mega"), ObservedCapacity::Absent);
    assert_eq!(bed.front().calls_of(TYPES).len(), 1);
    fixture.clock.advance(Duration::from_secs(1));
    assert_eq!(fixture.look(&access, "m99.mega"), ObservedCapacity::NotAsked);
    fixture.absent(&access, "m99.mega").await;
    assert_eq!(bed.front().calls_of(TYPES).len(), 2);
}

#[tokio::test]
async fn known_type_expires_after_a_day() {
    let (bed, fixture) = (bed().await, Fixture::new());
    let access = access(&bed.endpoint_url());
    fixture.capacity(&access, "m5.large").await;
    fixture.clock.advance(24 * HOUR);
    assert_eq!(fixture.look(&access, "m5.large"), ObservedCapacity::NotAsked);
    fixture.capacity(&access, "m5.large").await;
    assert_eq!(bed.front().calls_of(TYPES).len(), 2);
}

#[tokio::test]
async fn unchanged_refresh_is_not_announced() {
    let stub = Stub::start([page(&[("a.1", 2)], None)]).await;
    let fixture = Fixture::new();
    let access = access(&stub.endpoint);
    fixture.capacity(&access, "a.1").await;
    assert_eq!(fixture.notified(), ["a.1"]);

    fixture.clock.advance(20 * HOUR);
    assert!(
        matches!(fixture.look(&access, "a.1"), ObservedCapacity::Present(_)),
        "while it is refreshed"
    );
    fixture.calls(2).await;
    assert_eq!(fixture.notified(), ["a.1"], "confirmed");

    stub.set_reply(page(&[("a.1", 4)], None));
    fixture.clock.advance(20 * HOUR);
    fixture.look(&access, "a.1");
    fixture
        .until(&access, "a.1", |answer| match answer {
            ObservedCapacity::Present(capacity) if capacity.vcpus == 4 => Some(()),
            _ => None,
        })
        .await;
    assert_eq!(fixture.notified(), ["a.1", "a.1"]);
}

#[tokio::test]
async fn answer_is_kept_for_a_day_while_refreshing_fails() {
    let stub = Stub::start([page(&[("a.1", 2)], None)]).await;
    let fixture = Fixture::new();
    let access = access(&stub.endpoint);
    fixture.capacity(&access, "a.1").await;
    stub.set_reply((503, String::new()));
    fixture.clock.advance(20 * HOUR);
    fixture.look(&access, "a.1");
    fixture.calls(2).await;
    assert!(matches!(fixture.look(&access, "a.1"), ObservedCapacity::Present(_)));
    assert_eq!(fixture.notified(), ["a.1"]);
    fixture.clock.advance(4 * HOUR);
    fixture.failure(&access, "a.1").await;
    stub.set_reply(page(&[("a.1", 2)], None));
    fixture.clock.advance(Duration::from_mins(5));
    fixture.capacity(&access, "a.1").await;
}
