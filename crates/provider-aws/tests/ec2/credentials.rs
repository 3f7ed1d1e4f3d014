//! The credentials of calls.

use std::sync::atomic::Ordering;
use std::time::Duration;

use machinist_domain::retry::{Category, Retry};
use machinist_provider::access::CloudAccess;
use machinist_provider_aws::TypeTimings;
use machinist_testbed::aws::AwsBed;
use machinist_testbed::poll::eventually;

use crate::support::{TYPES, World, access, bed, secret};

fn signers(bed: &AwsBed) -> Vec<String> {
    bed.front().calls_of(TYPES).into_iter().map(|call| call.access_key_id).collect()
}

#[tokio::test]
async fn a_file_wins_over_keys() {
    let (bed, world) = (bed().await, World::new());
    let file = "[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = y\n\
                aws_session_token = z\nregion = us-west-2\n";
    let keys = [("aws_access_key_id", "AKIAKEYS"), ("aws_secret_access_key", "x")];
    world.secrets.put("aws", &[("credentials", file), keys[0], keys[1]]);
    world.capacity(&access(&bed.endpoint_url()), "m5.large").await;
    assert_eq!(signers(&bed), ["AKIAFILE"]);
    assert_eq!(bed.front().calls_of(TYPES)[0].region, "eu-west-1", "the access's region counts");
}

#[tokio::test]
async fn a_role_is_assumed_with_another_profile() {
    let (bed, world) = (bed().await, World::new());
    let file = format!(
        "[default]\nrole_arn = arn:aws:iam::123456789012:role/machinist\nsource_profile = base\n\
         endpoint_url = {}\n[profile base]\naws_access_key_id = AKIABASE\n\
         aws_secret_access_key = y\n",
        bed.endpoint_url()
    );
    world.secrets.put("aws", &[("credentials", &file)]);
    world.capacity(&access(&bed.endpoint_url()), "m5.large").await;
    let roles = bed.front().calls_of("AssumeRole");
    assert_eq!(roles.len(), 1);
    assert_eq!(roles[0].access_key_id, "AKIABASE");
    assert!(signers(&bed)[0].starts_with("ASIA"), "{:?}", signers(&bed));
}

#[tokio::test]
async fn a_missing_or_bad_secret_waits_for_a_change() {
    let (bed, world) = (bed().await, World::new());
    world.secrets.put("empty", &[]);
    world.secrets.put("half", &[("aws_access_key_id", "AKIAONE")]);
    world.secrets.put("no-default", &[("credentials", "[other]\naws_access_key_id = A\n")]);
    world.secrets.put("no-file", &[("credentials", "hello\nworld\n")]);
    let file = "[default]\nrole_arn = a\nsource_profile = b\n\
                [b]\nrole_arn = c\nsource_profile = default\n";
    world.secrets.put("loop", &[("credentials", file)]);
    for name in ["missing", "empty", "half", "no-default", "no-file", "loop"] {
        let access = CloudAccess { credentials: secret(name, 1), ..access(&bed.endpoint_url()) };
        let failure = world.failure(&access, "m5.large").await;
        let what = (failure.category, failure.retry);
        assert_eq!(what, (Category::InvalidConfiguration, Retry::OnChange), "{name}: {failure:?}");
    }
    assert!(bed.front().calls_of(TYPES).is_empty());
}

#[tokio::test]
async fn changed_secret_replaces_the_access() {
    let (bed, world) = (bed().await, World::new());
    world.secrets.put("aws", &[("aws_access_key_id", "AKIAONE")]);
    let first = access(&bed.endpoint_url());
    world.failure(&first, "m5.large").await;

    let pair = [("aws_access_key_id", "AKIATWO"), ("aws_secret_access_key", "x")];
    world.secrets.put("aws", &pair);
    let second = CloudAccess { credentials: secret("aws", 2), ..first.clone() };
    world.capacity(&second, "m5.large").await;
    let third = CloudAccess { credentials: secret("aws", 3), ..first };
    world.capacity(&third, "m5.large").await;
    assert_eq!(signers(&bed), ["AKIATWO", "AKIATWO"], "each version is queried again");
    eventually(Duration::from_secs(10), "the askers of old versions to end", async || {
        let tasks = world.tasks.load(Ordering::SeqCst);
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
    let world = World::new();
    world.capacity(&access, "m5.large").await;
    world.capacity(&access, "m5.xlarge").await;
    assert_eq!(world.secrets.reads.load(Ordering::Relaxed), 1);

    let timings = TypeTimings { client_idle: Duration::ZERO, ..TypeTimings::default() };
    let world = World::with(timings);
    for n in 0.. {
        world.absent(&access, &format!("m99.{n}")).await;
        if world.secrets.reads.load(Ordering::Relaxed) > 1 {
            break;
        }
        assert!(n < 100, "credentials are kept for ever");
    }
}

#[tokio::test]
async fn panic_does_not_stop_later_queries() {
    let (bed, world) = (bed().await, World::new());
    let access = CloudAccess { credentials: secret("panic", 1), ..access(&bed.endpoint_url()) };
    world.look(&access, "m5.large");
    world.capacity(&access, "m5.large").await;
}
