//! Nothing of credentials or user data gets into a log, an object or an Event of the controllers of machines.

use anyhow::{Context, Result, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Event;
use kube::api::{DynamicObject, ListParams};
use machinist_testbed::aws::{Effect, Rule};
use machinist_testbed::poll;
use serde_json::json;

use super::fleet::{Fleet, SET};
use crate::ec2::support::PATIENCE;

const ID: &str = "AKIASECRETMACHINES";
const KEY: &str = "secret-key-of-machines";
const TOKEN: &str = "session-token-of-machines";
const PASSWORD: &str = "password-in-the-user-data";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_credential_and_no_user_data_is_logged_or_told() -> Result<()> {
    let fleet = Fleet::new("secrecy").await?;
    let keys =
        [("aws_access_key_id", ID), ("aws_secret_access_key", KEY), ("aws_session_token", TOKEN)];
    fleet.put_secret("aws", &keys).await?;
    let user_data = format!("#cloud-config\npassword: {PASSWORD}\n");
    fleet.put_secret("user-data", &[("userData", &user_data)]).await?;
    let broken = format!("[default]\n{KEY}\naws_session_token = {TOKEN}\n");
    fleet.put_secret("broken", &[("credentials", &broken)]).await?;
    let finest = [("RUST_LOG", "trace")];
    let mut controllers = fleet.controllers_with(&["--log-format=json"], &finest).await?;

    // Refusals and repetitions are logged, too.
    fleet.cloud.front().inject(Rule::next("RunInstances", Effect::Throttle));
    fleet.create_set(1, &fleet.spec(&json!({}))).await?;
    fleet.settled(1).await?;
    let encoded = |value: &str| -> Result<String> {
        let encoded = serde_json::to_value(ByteString(value.into()))?;
        Ok(encoded.as_str().context("text")?.to_owned())
    };
    let launches = fleet.cloud.front().calls_of("RunInstances");
    let sent = launches.last().map(|call| call.parameters["UserData"].clone());
    assert_eq!(sent, Some(encoded(&user_data)?), "the user data is used");
    // A spec whose credentials cannot be read.
    let broken_spec = json!({"providerSpec": {"value": {"credentialsSecret": {"name": "broken"}}}});
    let another = json!({"spec": {"replicas": 2, "template": {"spec": broken_spec}}});
    fleet.patch_set(SET, another).await?;
    poll::eventually(PATIENCE, "the broken Secret to be told", || async {
        let machines = fleet.all_machines().await?;
        let told = |machine: &DynamicObject| {
            machine.data["status"].to_string().contains("correct the Secret")
        };
        ensure!(machines.iter().any(told), "{machines:?}");
        Ok(())
    })
    .await?;
    let told = told(&fleet).await?;
    controllers.terminate().await?;

    let log = controllers.log()?;
    assert!(log.contains(r#""level":"TRACE""#), "the finest level is heard");
    for value in [ID, KEY, TOKEN, PASSWORD, &user_data, &broken] {
        for form in [value.to_owned(), encoded(value)?] {
            let line = log.lines().find(|line| line.contains(&form));
            assert_eq!(line, None, "{form} is in the log");
            assert!(!told.contains(&form), "{form} is told: {told}");
        }
    }
    Ok(())
}

/// All that people can read about the machines.
async fn told(fleet: &Fleet) -> Result<String> {
    let events = fleet.api::<Event>().list(&ListParams::default()).await?;
    let machines = fleet.all_machines().await?;
    Ok(json!([machines, events.items]).to_string())
}
