//! Failures of EC2, what is reported meanwhile, and the recovery.

use std::time::Duration;

use http::StatusCode;
use machinist_domain::backoff::Backoff;
use machinist_domain::retry::{Category, Retry};
use machinist_provider::capacity::ObservedCapacity;
use machinist_provider_aws::TypeTimings;
use machinist_testbed::aws::{Effect, Rule};

use crate::stub::{Stub, page};
use crate::support::{Fixture, TYPES, access, bed};

pub(crate) const NO_PAUSE: Backoff = Backoff { base: Duration::ZERO, max: Duration::ZERO };

#[tokio::test]
async fn throttled_twice_then_answered() {
    let (bed, fixture) = (bed().await, Fixture::new());
    bed.front().inject(Rule::next(TYPES, Effect::Throttle).times(2));
    let access = access(&bed.endpoint_url());
    let failure = fixture.failure(&access, "m5.large").await;
    assert_eq!((failure.category, failure.retry), (Category::Throttled, Retry::Backoff));
    assert_eq!(bed.front().calls_of(TYPES).len(), 1, "the SDK does not retry");
    assert_eq!(fixture.notified(), ["m5.large"]);

    // Nothing happens before the pause ends; a late query wakes the task.
    fixture.look(&access, "m5.large");
    fixture.clock.advance(Duration::from_secs(1));
    fixture.look(&access, "m5.large");
    fixture.calls(2).await;
    fixture.clock.advance(Duration::from_secs(2));
    fixture.capacity(&access, "m5.large").await;
    assert_eq!(fixture.notified(), ["m5.large", "m5.large"], "a repeat is no news");
    let results: Vec<_> = fixture.counter.calls.lock().iter().map(|call| call.1).collect();
    assert_eq!(results, ["Throttled", "Throttled", "ok"]);
    assert!(bed.front().unmet_rules().is_empty());
}

#[tokio::test]
async fn source_retries_without_queries() {
    let bed = bed().await;
    bed.front().inject(Rule::next(TYPES, Effect::ResetBefore));
    // The manual clock does not advance during retries.
    let timings = TypeTimings { retry: NO_PAUSE, ..TypeTimings::default() };
    let fixture = Fixture::with(timings);
    let access = access(&bed.endpoint_url());
    fixture.look(&access, "m5.large");
    fixture.calls(2).await;
    assert!(matches!(fixture.look(&access, "m5.large"), ObservedCapacity::Present(_)));
    assert_eq!(fixture.notified(), ["m5.large", "m5.large"]);
}

#[tokio::test]
async fn refusals_and_lost_answers_by_category() {
    let refuse = |status: u16, code: &str| Effect::Refuse {
        status: StatusCode::from_u16(status).unwrap(),
        code: code.to_owned(),
        message: "No. Encoded authorization failure message: x1".to_owned(),
    };
    let cases = [
        (refuse(401, "AuthFailure"), Category::Unauthorised, Retry::Backoff),
        (refuse(403, "UnauthorizedOperation"), Category::Unauthorised, Retry::Backoff),
        (refuse(400, "RequestExpired"), Category::Unauthorised, Retry::Backoff),
        (refuse(401, "OptInRequired"), Category::InvalidConfiguration, Retry::OnChange),
        (refuse(500, "InternalError"), Category::Unavailable, Retry::Backoff),
        (refuse(400, "InvalidParameterValue"), Category::Unexpected, Retry::Backoff),
        (Effect::ResetBefore, Category::Unavailable, Retry::Backoff),
    ];
    let bed = bed().await;
    for (effect, category, retry) in cases {
        let fixture = Fixture::new();
        bed.front().inject(Rule::next(TYPES, effect.clone()));
        let failure = fixture.failure(&access(&bed.endpoint_url()), "m5.large").await;
        assert_eq!((failure.category, failure.retry), (category, retry), "{effect:?}: {failure:?}");
        assert!(!failure.message.contains("x1"), "{failure:?}");
    }
}

#[tokio::test]
async fn responses_without_xml_are_an_outage() {
    let half = "<DescribeInstanceTypesResponse><instanceTypeSet></instanceTypeSet>";
    for reply in [
        (500, "<html>oops</html>"),
        (200, "hello"),
        (403, "<h1>proxy</h1>"),
        (200, ""),
        (200, half),
    ] {
        let stub = Stub::start([(reply.0, reply.1.to_owned())]).await;
        let fixture = Fixture::new();
        let answer = fixture
            .until(&access(&stub.endpoint), "m5.large", |answer| match answer {
                ObservedCapacity::NotAsked => None,
                other => Some(other.clone()),
            })
            .await;
        let ObservedCapacity::Unknown(failure) = &answer else { panic!("{reply:?}: {answer:?}") };
        assert_eq!(failure.category, Category::Unavailable, "{reply:?}: {failure:?}");
    }
}

#[tokio::test]
async fn refused_connections_and_timeouts_are_outages() {
    let timings =
        TypeTimings { request_timeout: Duration::from_millis(300), ..TypeTimings::default() };
    let fixture = Fixture::with(timings);
    // Bound, so that the port is not used otherwise; not accepting, so that the request waits.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let failure = fixture.failure(&access(&endpoint), "m5.large").await;
    assert_eq!(failure.category, Category::Unavailable, "{failure:?}");
    drop(silent);
    let failure = fixture.failure(&access(&format!("{endpoint}/again")), "m5.large").await;
    assert_eq!(failure.category, Category::Unavailable, "{failure:?}");
}

#[tokio::test]
async fn other_failure_category_is_announced() {
    let stub = Stub::start([(500, "<html/>".to_owned())]).await;
    let timings = TypeTimings { retry: NO_PAUSE, ..TypeTimings::default() };
    let fixture = Fixture::with(timings);
    let access = access(&stub.endpoint);
    fixture.failure(&access, "a.1").await;
    fixture.calls(3).await;
    assert_eq!(fixture.notified(), ["a.1"]);
    let refusal = "<Response><Errors><Error><Code>AuthFailure</Code><Message>No</Message></Error>\
                   </Errors><RequestID>r</RequestID></Response>";
    stub.set_reply((401, refusal.to_owned()));
    fixture
        .until(&access, "a.1", |answer| match answer {
            ObservedCapacity::Unknown(failure) if failure.category == Category::Unauthorised => {
                Some(())
            }
            _ => None,
        })
        .await;
    stub.set_reply(page(&[("a.1", 1)], None));
    fixture.capacity(&access, "a.1").await;
    assert_eq!(fixture.notified(), ["a.1", "a.1", "a.1"]);
}
