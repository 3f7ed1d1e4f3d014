//! Nothing of a Secret gets into a log, an Event or a file.

use anyhow::{Context, Result, ensure};
use k8s_openapi::ByteString;
use machinist_testbed::aws::{Effect, Rule};
use machinist_testbed::poll;

use crate::ec2::support::PATIENCE;
use crate::ec2::support::annotator::Launch;
use crate::ec2::support::cloud::{TYPES, askers, cloud};
use crate::ec2::support::world::{Ec2World, VCPU, machine, machine_as};

const VALUES: [&str; 6] = [
    "AKIASECRETID",
    "secret-key-value",
    "session-token-value",
    "AKIASECRET2ND",
    "second-secret-key",
    "ambient-session-token",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_value_of_a_secret_is_logged_told_or_written_to_disk() -> Result<()> {
    let (world, cloud) = (Ec2World::plain("secrecy").await?, cloud().await?);
    let [id, key, token, second_id, second_key, ambient_token] = VALUES;
    let launch = Launch::new(&world)?.asking(&cloud).flag("--log-format=json");
    let launch = launch.environment("RUST_LOG", "trace");
    let mut annotator = launch.environment("AWS_SESSION_TOKEN", ambient_token).start().await?;

    let keys =
        [("aws_access_key_id", id), ("aws_secret_access_key", key), ("aws_session_token", token)];
    world.put_secret("keys", &keys).await?;
    let file = format!(
        "[default]\naws_access_key_id = {id}\naws_secret_access_key = {key}\n\
         aws_session_token = {token}\n"
    );
    world.put_secret("file", &[("credentials", &file)]).await?;
    let broken = format!("[default]\n{key}\naws_session_token = {token}\n");
    world.put_secret("broken", &[("credentials", &broken)]).await?;
    world.create("ambient", machine("m5.large")).await?;
    for name in ["keys", "file", "broken"] {
        world.create(name, machine_as(name, "m5.large")).await?;
    }
    for name in ["ambient", "keys", "file"] {
        world.until_annotated(name, VCPU, "2").await?;
    }
    world.hears("broken", "ReconcileError", "").await?;
    // Failures and rotation are logged, too.
    cloud.front().inject(Rule::every(TYPES, Effect::Throttle));
    let rotated = [("aws_access_key_id", second_id), ("aws_secret_access_key", second_key)];
    world.put_secret("keys", &rotated).await?;
    world.change("keys", machine_as("keys", "m5.xlarge")).await?;
    world.hears("keys", "CatalogueUsed", "").await?;
    // The Event may be about the former type, and the new key may be seen after the new type.
    poll::eventually(PATIENCE, "the second key to be used", || async {
        let askers = askers(&cloud, "m5.xlarge");
        ensure!(askers.contains(&second_id.to_owned()), "{askers:?}");
        Ok(())
    })
    .await?;
    annotator.terminate().await?;

    let log = annotator.log()?;
    assert!(log.contains(r#""level":"TRACE""#), "the finest level is heard");
    let events = world.event_notes("broken", "ReconcileError").await?.join("\n");
    for value in VALUES {
        assert!(!events.contains(value), "{events}");
    }
    // As they are, and as the API server hands them out.
    let mut forms = VALUES.map(str::to_owned).to_vec();
    for value in VALUES.into_iter().chain([&*file, &broken]) {
        let encoded = serde_json::to_value(ByteString(value.into()))?;
        forms.push(encoded.as_str().context("text")?.to_owned());
    }
    for form in forms {
        let line = log.lines().find(|line| line.contains(&form));
        assert_eq!(line, None, "{form} is in the log");
    }
    let files: Vec<_> = std::fs::read_dir(annotator.home())?.collect();
    assert!(files.is_empty(), "{files:?}");
    Ok(())
}
