//! The API server can be stopped and started again while etcd keeps the data.

use std::pin::pin;
use std::time::Duration;

use crate::support::programs_in;
use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{PostParams, WatchParams};
use machinist_control_plane::ControlPlane;
use machinist_testbed::audit::AuditLog;
use serde_json::json;

#[tokio::test]
async fn stop_and_start_keep_address_and_data() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    let address = control_plane.kube_config().cluster_url;
    let config_maps = Api::<ConfigMap>::namespaced(control_plane.client()?, "default");
    let object = serde_json::from_value(json!({ "metadata": { "name": "kept" } }))?;
    let uid = config_maps.create(&PostParams::default(), &object).await?.metadata.uid;
    let mut log = AuditLog::of(&control_plane);
    log.skip_to_end()?;

    for kill in [false, true] {
        let mut watch = pin!(config_maps.watch(&WatchParams::default(), "0").await?);
        ensure!(watch.next().await.is_some(), "the watch works");
        if kill {
            control_plane.kill_api_server().await;
        } else {
            control_plane.stop_api_server().await;
        }
        let ended = async { while watch.next().await.is_some_and(|event| event.is_ok()) {} };
        tokio::time::timeout(Duration::from_secs(60), ended).await.context("the watch hangs")?;
        ensure!(config_maps.get("kept").await.is_err(), "the API server still listens");
        assert_eq!(programs_in(control_plane.folder())?.len(), 1, "etcd is alone");
        // A second stop is no error, and neither is a second start.
        control_plane.stop_api_server().await;
        control_plane.start_api_server().await?;
        control_plane.start_api_server().await?;
        assert_eq!(control_plane.kube_config().cluster_url, address);
        // The client from before the stop works again, and finds what it wrote.
        assert_eq!(config_maps.get("kept").await?.metadata.uid, uid);
    }
    ensure!(
        log.read_new()?.iter().any(|it| it.name == "kept" && it.verb == "get"),
        "same audit log"
    );
    Ok(())
}
