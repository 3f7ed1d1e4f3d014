//! What is taken and what is refused.

use anyhow::Result;
use machinist_api::event_recycler::EventRecyclerSpec;
use serde_json::{Value, json};

use crate::event_recyclers::server::{NEW, OLD, Server};

/// Specs as they are found where kaws runs, and specs that use what is new.
fn good() -> Vec<Value> {
    vec![
        json!({"searchTerms": ["failed to create pod sandbox"]}),
        json!({
            "watchInterval": "2m", "searchTerms": ["ErrImagePull", "disk pressure"], "threshold": 1, "dryRun": true,
            "awsRegion": "ap-southeast-2", "pollInterval": "1m30s", "recycleTimeout": "1h",
        }),
        json!({"searchTerms": ["x", ""], "watchInterval": "1.5h", "pollInterval": "0"}),
        json!({"match": {"reason": ["NodeNotReady"], "type": "Warning", "involvedKinds": ["Node"]}}),
        json!({
            "searchTerms": ["a"],
            "match": {"message": [{"contains": "b"}, {"regex": "^c[0-9]+$"}], "namespaces": ["d"]},
            "window": "30m", "countBy": "Pods", "nodeGroups": {"names": ["e"], "matchLabels": {"pool": "f"}},
            "coolDown": "12h", "maxConcurrent": 2, "maxUnavailable": 3, "strategy": "InstanceRefresh",
            "drain": false, "drainTimeout": "5m",
            "schedule": {"timeZone": "+01:00", "from": "22:00", "to": "05:30", "days": ["Mon", "Sun"]},
        }),
        json!({
            "searchTerms": ["a"], "match": {"reporters": ["kubelet"]}, "countBy": "Events", "maxPerObject": 3,
            "trustEventHost": true,
        }),
        json!({"searchTerms": ["a"], "knownToNobody": true}),
    ]
}

/// Specs that mean nothing, and a word of the reason.
fn bad() -> Vec<(Value, &'static str)> {
    let with = |field: &str, value: Value| {
        let mut spec = json!({"searchTerms": ["x"]});
        spec[field] = value;
        spec
    };
    vec![
        (json!({}), "searchTerms or match"),
        (json!({"searchTerms": []}), "searchTerms"),
        (with("watchInterval", json!("abc")), "watchInterval"),
        (with("pollInterval", json!("15")), "pollInterval"),
        (with("recycleTimeout", json!("-20m")), "recycleTimeout"),
        (with("window", json!("10 minutes")), "window"),
        (with("coolDown", json!(60)), "coolDown"),
        (with("threshold", json!(0)), "threshold"),
        (with("maxPerObject", json!(0)), "maxPerObject"),
        (with("match", json!({"reporters": []})), "reporters"),
        (with("strategy", json!("Explode")), "strategy"),
        (with("maxConcurrent", json!(0)), "maxConcurrent"),
        (with("schedule", json!({"from": "25:00"})), "from"),
        (with("schedule", json!({"days": ["Someday"]})), "days"),
        (with("schedule", json!({"timeZone": "Europe/Berlin"})), "timeZone"),
        (with("match", json!({"message": [{}]})), "exactly one of contains and regex"),
        (
            with("match", json!({"message": [{"contains": "a", "regex": "b"}]})),
            "exactly one of contains and regex",
        ),
        (with("match", json!({"message": [{"regex": "("}]})), "regex"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_means_something_is_taken_under_both_versions() -> Result<()> {
    let server = Server::get().await?;
    for (number, spec) in good().iter().enumerate() {
        for version in [OLD, NEW] {
            let name = format!("good-{number}-{version}");
            let stored = server.create(version, &name, Some(spec)).await?;
            let stored = stored.unwrap_or_else(|why| panic!("{spec}: {why}"));
            // What is stored can be read by the type, and says the same.
            let read: EventRecyclerSpec = serde_json::from_value(stored["spec"].clone())?;
            assert_eq!(serde_json::to_value(&read)?, stored["spec"]);
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_means_nothing_is_refused_with_a_reason() -> Result<()> {
    let server = Server::get().await?;
    for (number, (spec, reason)) in bad().iter().enumerate() {
        for version in [OLD, NEW] {
            let name = format!("bad-{number}-{version}");
            let why = server.create(version, &name, Some(spec)).await?.expect_err("taken");
            assert!(why.contains(reason), "{spec}: {why}");
        }
    }
    Ok(())
}

/// kaws's schema takes it, so it may be there.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_without_a_spec_is_taken_and_gets_none() -> Result<()> {
    let server = Server::get().await?;
    for version in [OLD, NEW] {
        let name = format!("empty-{version}");
        let stored = server.create(version, &name, None).await?.expect("taken");
        assert_eq!(stored["spec"], Value::Null);
        assert!(server.set_status(version, &stored, json!({"eventCounts": {}})).await?.is_ok());
    }
    Ok(())
}
