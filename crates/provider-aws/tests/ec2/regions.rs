//! Validation of regions. The endpoint is in the Secret here: a custom endpoint of the access skips the validation.

use std::time::Duration;

use http::StatusCode;
use machinist_domain::retry::{Category, Retry};
use machinist_provider::access::CloudAccess;
use machinist_testbed::aws::{AwsBed, Effect, Rule};

use crate::support::{Fixture, REGIONS, TYPES, access, bed};

/// A fixture whose Secret `aws` leads to the bed.
async fn fixture() -> (AwsBed, Fixture) {
    let (bed, fixture) = (bed().await, Fixture::new());
    let file = format!(
        "[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = y\nendpoint_url = {}\n",
        bed.endpoint_url()
    );
    fixture.secrets.put("aws", &[("credentials", &file)]);
    (bed, fixture)
}

fn region(name: &str) -> CloudAccess {
    CloudAccess { region: name.into(), endpoint: None, ..access("") }
}

#[tokio::test]
async fn well_known_regions_are_not_looked_up() {
    let (bed, fixture) = fixture().await;
    fixture.capacity(&region("eu-west-1"), "m5.large").await;
    fixture.capacity(&region("us-gov-west-1"), "m5.large").await;
    let closed = CloudAccess { region: "ap-southeast-4".into(), ..access(&bed.endpoint_url()) };
    fixture.capacity(&closed, "m5.large").await;
    assert!(bed.front().calls_of(REGIONS).is_empty());
}

#[tokio::test]
async fn invalid_and_disabled_regions_take_one_call() {
    let (bed, fixture) = fixture().await;
    let invalid = fixture.failure(&region("eu-nowhere-1"), "m5.large").await;
    assert_eq!(
        (invalid.category, invalid.retry),
        (Category::InvalidConfiguration, Retry::OnChange)
    );
    assert_eq!(invalid.message, "region eu-nowhere-1 is not a valid region");
    let closed = fixture.failure(&region("ap-southeast-4"), "m5.large").await;
    assert!(closed.message.starts_with("region ap-southeast-4 is not opted in"));
    assert_eq!((closed.category, closed.retry), (Category::InvalidConfiguration, Retry::OnChange));
    fixture.capacity(&region("af-south-1"), "m5.large").await;
    let calls = bed.front().calls_of(REGIONS);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].region, "us-east-1");
    assert_eq!(calls[0].parameters["AllRegions"], "true");

    // After ten minutes the region is tried again, after thirty the list is fetched again.
    fixture.clock.advance(Duration::from_mins(10));
    fixture.look(&region("eu-nowhere-1"), "m5.large");
    fixture.clock.advance(Duration::from_mins(20));
    fixture.look(&region("eu-nowhere-1"), "m5.large");
    fixture.calls(3).await;
    assert_eq!(bed.front().calls_of(REGIONS).len(), 2);
    assert_eq!(fixture.notified().iter().filter(|types| *types == "m5.large").count(), 3);
}

#[tokio::test]
async fn each_partition_answers_for_itself() {
    let (bed, fixture) = fixture().await;
    for (name, asked) in [("us-gov-north-9", "us-gov-west-1"), ("cn-south-9", "cn-north-1")] {
        let failure = fixture.failure(&region(name), "m5.large").await;
        assert!(failure.message.contains("not a valid region"), "{failure:?}");
        assert_eq!(bed.front().calls_of(REGIONS).last().unwrap().region, asked);
    }
    assert!(bed.front().calls_of(TYPES).is_empty());
}

#[tokio::test]
async fn known_region_is_accepted_without_list_permission() {
    let (bed, fixture) = fixture().await;
    let refusal = Effect::Refuse {
        status: StatusCode::FORBIDDEN,
        code: "UnauthorizedOperation".to_owned(),
        message: "No.".to_owned(),
    };
    bed.front().inject(Rule::every(REGIONS, refusal));
    fixture.capacity(&region("af-south-1"), "m5.large").await;
    let failure = fixture.failure(&region("eu-nowhere-1"), "m5.large").await;
    assert_eq!(failure.category, Category::Unauthorised, "{failure:?}");
}

#[tokio::test]
async fn outage_does_not_invalidate_a_region() {
    let (bed, fixture) = fixture().await;
    bed.front().inject(Rule::next(REGIONS, Effect::Throttle));
    let failure = fixture.failure(&region("af-south-1"), "m5.large").await;
    assert_eq!(failure.category, Category::Throttled, "{failure:?}");
    fixture.clock.advance(Duration::from_secs(1));
    fixture.capacity(&region("af-south-1"), "m5.large").await;
}
