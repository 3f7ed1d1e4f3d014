//! Nothing of the credentials of the process, for AWS and for Kubernetes, gets into its log.

use anyhow::{Context, Result, ensure};
use machinist_testbed::service_account;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::process;
use super::rights::{ACCOUNT, NAMESPACE, install};
use super::world::alone;

const NAME: &str = "secret";
const ID: &str = "AKIASECRETRECYCLER";
const KEY: &str = "secret-key-of-the-recycler";
const TOKEN: &str = "session-token-of-the-recycler";

#[test]
fn no_credential_is_logged_during_a_recycle() -> Result<()> {
    alone(async |world| {
        let folder = TempDir::new()?;
        let kubeconfig = folder.path().join("kubeconfig");
        install(world).await?;
        let config = service_account::kubeconfig(&world.control_plane, NAMESPACE, ACCOUNT).await?;
        std::fs::write(&kubeconfig, &config)?;
        let config: Value = serde_json::from_str(&config)?;
        let token = config["users"][0]["user"]["token"].as_str().context("a token")?;
        let variables = [
            ("RUST_LOG", "trace"),
            ("AWS_ACCESS_KEY_ID", ID),
            ("AWS_SECRET_ACCESS_KEY", KEY),
            ("AWS_SESSION_TOKEN", TOKEN),
        ];
        let flags = ["--time-scale=0.2", "--log-format=json", "--metrics-bind-address=0"];
        let (cloud, region) = (&world.cloud, world.estate.region());
        let mut recycler = process::start_with(&kubeconfig, cloud, region, &flags, &variables)?;
        let old = world.group(NAME, [0, 2, 1]).await?;
        world.create(NAME, json!({})).await?;
        world.complain(NAME, &old[0]).await?;
        world.ended(NAME).await?;
        recycler.terminate().await?;
        let log = recycler.log()?;
        ensure!(log.contains(r#""level":"TRACE""#), "the finest level is heard");
        for value in [ID, KEY, TOKEN, token] {
            let line = log.lines().find(|line| line.contains(value));
            ensure!(line.is_none(), "{value} is in the log: {line:?}");
        }
        Ok(())
    })
}
