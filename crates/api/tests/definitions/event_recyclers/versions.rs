//! One schema under two versions: an object of one is an object of the other.

use anyhow::Result;
use serde_json::json;

use crate::event_recyclers::server::{NEW, OLD, Server, definition};

#[test]
fn both_versions_have_one_schema_and_the_new_one_is_stored() {
    let versions = definition().spec.versions;
    let listed: Vec<_> = versions.iter().map(|it| (&*it.name, it.served, it.storage)).collect();
    assert_eq!(listed, [(OLD, true, false), (NEW, true, true)]);
    assert_eq!(versions[0].schema, versions[1].schema);
    let names = definition().spec.names;
    assert_eq!(names.short_names, Some(vec!["er".to_owned()]));
    assert_eq!(definition().spec.scope, "Cluster");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_the_old_version_is_one_of_the_new_and_gets_the_old_defaults() -> Result<()> {
    let server = Server::get().await?;
    let spec = json!({"searchTerms": ["no space left on device"], "awsRegion": "eu-west-3"});
    server.create(OLD, "both", Some(&spec)).await?.expect("taken");
    let object = server.read(NEW, "both").await?;
    assert_eq!(
        object["spec"],
        json!({
            "searchTerms": ["no space left on device"], "awsRegion": "eu-west-3", "watchInterval": "60s",
            "threshold": 5, "dryRun": false, "pollInterval": "15s", "recycleTimeout": "20m",
        })
    );
    assert_eq!(object["spec"], server.read(OLD, "both").await?["spec"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_is_kept_whichever_version_wrote_it() -> Result<()> {
    let server = Server::get().await?;
    let spec = json!({"searchTerms": ["x"]});
    let object = server.create(NEW, "status", Some(&spec)).await?.expect("taken");
    let status = json!({
        "lastCheckTime": "2026-11-16T01:00:00Z", "activeRecycles": ["workers"],
        "recycleHistory": [{
            "nodeGroup": "workers", "timestamp": "2026-11-15T01:00:00Z", "eventCount": 7, "status": "Succeeded",
        }],
        "eventCounts": {"workers": 7}, "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-16T01:00:00Z"}],
        "counting": {"format": 1, "mark": "17", "groups": {"workers": "29000000:7"}, "open": ["29000000:1:n:a"]},
        "unmapped": {"count": 1, "example": "a: no such node"},
        "recycles": [{
            "id": "a", "group": "workers", "region": "eu-west-3", "strategy": "Replace", "step": "Planned",
            "original": {"min": 1, "max": 3, "desired": 2}, "events": 7,
            "started": "2026-11-16T01:00:00Z", "stepSince": "2026-11-16T01:00:00Z",
            "instances": [{"id": "i-1", "node": "n", "state": "Waiting"}],
        }],
    });
    let written = server.set_status(OLD, &object, status.clone()).await?.expect("taken");
    assert_eq!(written["status"], status);
    assert_eq!(server.read(NEW, "status").await?["status"], status);
    Ok(())
}
