//! The credentials of calls.

use std::sync::atomic::Ordering;
use std::time::Duration;

use machinist_domain::retry::{Category, Retry};
use machinist_provider::access::CloudAccess;
use machinist_provider_aws::TypeTimings;
use machinist_testbed::aws::AwsBed;
use machinist_testbed::poll::eventually;

use crate::failures::NO_PAUSE;
use crate::support::{Fixture, PATIENCE, TYPES, access, bed, secret};

fn signers(bed: &AwsBed) -> Vec<String> {
    bed.front().calls_of(TYPES).into_iter().map(|call| call.access_key_id).collect()
}

#[tokio::test]
async fn a_file_wins_over_keys() {
    let (bed, fixture) = (bed().await, Fixture::new());
    let file = "[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = y\n\
                aws_session_token = z\nregion = us-west-2\n";
    let keys = [("aws_access_key_id", "AKIAKEYS"), ("aws_secret_access_key", "x")];
    fixture.secrets.put("aws", &[("credentials", file), keys[0], keys[1]]);
    fixture.capacity(&access(&bed.endpoint_url()), "m5.large").await;
    assert_eq!(signers(&bed), ["AKIAFILE"]);
    assert_eq!(bed.front().calls_of(TYPES)[0].region, "eu-west-1", "the access's region counts");
}

#[tokio::test]
async fn a_role_is_assumed_with_another_profile() {
    let (bed, fixture) = (bed().await, Fixture::new());
    let file = format!(
        "[default]\nrole_arn = arn:aws:iam::123456789012:role/machinist\nsource_profile = base\n\
         endpoint_url = {}\n[profile base]\naws_access_key_id = AKIABASE\n\
         aws_secret_access_key = y\n",
        bed.endpoint_url()
    );
    fixture.secrets.put("aws", &[("credentials", &file)]);
    fixture.capacity(&access(&bed.endpoint_url()), "m5.large").await;
    let roles = bed.front().calls_of("AssumeRole");
    assert_eq!(roles.len(), 1);
    assert_eq!(roles[0].access_key_id, "AKIABASE");
    assert!(signers(&bed)[0].starts_with("ASIA"), "{:?}", signers(&bed));
}

#[tokio::test]
async fn a_missing_or_bad_secret_waits_for_a_change() {
    let (bed, fixture) = (bed().await, Fixture::new());
    fixture.secrets.put("empty", &[]);
    fixture.secrets.put("half", &[("aws_access_key_id", "AKIAONE")]);
    fixture.secrets.put("no-default", &[("credentials", "[other]\naws_access_key_id = A\n")]);
    fixture.secrets.put("no-file", &[("credentials", "hello\nworld\n")]);
    let file = "[default]\nrole_arn = a\nsource_profile = b\n\
                [b]\nrole_arn = c\nsource_profile = default\n";
    fixture.secrets.put("loop", &[("credentials", file)]);
    for name in ["missing", "empty", "half", "no-default", "no-file", "loop"] {
        let access = CloudAccess { credentials: secret(name, 1), ..access(&bed.endpoint_url()) };
        let failure = fixture.failure(&access, "m5.large").await;
        let what = (failure.category, failure.retry);
        assert_eq!(what, (Category::InvalidConfiguration, Retry::OnChange), "{name}: {failure:?}");
    }
    assert!(bed.front().calls_of(TYPES).is_empty());
}

#[tokio::test]
async fn changed_secret_replaces_the_access() {
    let (bed, fixture) = (bed().await, Fixture::new());
    fixture.secrets.put("aws", &[("aws_access_key_id", "AKIAONE")]);
    let first = access(&bed.endpoint_url());
    fixture.failure(&first, "m5.large").await;

    let pair = [("aws_access_key_id", "AKIATWO"), ("aws_secret_access_key", "x")];
    fixture.secrets.put("aws", &pair);
    let second = CloudAccess { credentials: secret("aws", 2), ..first.clone() };
    fixture.capacity(&second, "m5.large").await;
    let third = CloudAccess { credentials: secret("aws", 3), ..first };
    fixture.capacity(&third, "m5.large").await;
    assert_eq!(signers(&bed), ["AKIATWO", "AKIATWO"], "each version is queried again");
    eventually(PATIENCE, "the askers of old versions to end", async || {
        let tasks = fixture.tasks.load(Ordering::SeqCst);
        anyhow::ensure!(tasks == 1, "{tasks} tasks");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn idle_client_is_dropped() {
    let bed = bed().await;
    let access = access(&bed.endpoint_url());
    let fixture = Fixture::new();
    fixture.capacity(&access, "m5.large").await;
    fixture.capacity(&access, "m5.xlarge").await;
    assert_eq!(fixture.secrets.reads.load(Ordering::Relaxed), 1);

    let timings = TypeTimings { client_idle: Duration::ZERO, ..TypeTimings::default() };
    let fixture = Fixture::with(timings);
    for n in 0.. {
        fixture.absent(&access, &format!("m99.{n}")).await;
        if fixture.secrets.reads.load(Ordering::Relaxed) > 1 {
            break;
        }
        assert!(n < 100, "credentials are kept for ever");
    }
}

#[tokio::test]
async fn panic_is_a_failure_that_is_retried() {
    let timings = TypeTimings { retry: NO_PAUSE, ..TypeTimings::default() };
    let (bed, fixture) = (bed().await, Fixture::with(timings));
    let access = CloudAccess { credentials: secret("panic", 1), ..access(&bed.endpoint_url()) };
    fixture.look(&access, "m5.large");
    fixture.capacity(&access, "m5.large").await;
}
