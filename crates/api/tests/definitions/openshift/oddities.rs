//! Where definitions usually go wrong: nothing at all, nulls, unknown fields, and the fields that are ours alone.

use anyhow::Result;
use machinist_testbed::openshift::FeatureSet;
use serde_json::{Value, json};

use crate::openshift::server::{KINDS, Server, Whose};

const MACHINE: (&str, &str) = KINDS[0];
const SET: (&str, &str) = KINDS[1];

#[tokio::test(flavor = "multi_thread")]
async fn an_object_without_a_spec_stays_one() -> Result<()> {
    let server = Server::get().await?;
    for whose in Whose::ALL {
        for kind in KINDS {
            let object = server.create(whose, kind, ("no-spec", ""), None).await?.object()?;
            assert_eq!(object.get("spec"), None, "{whose:?}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_are_one_where_nothing_or_null_is_said() -> Result<()> {
    let server = Server::get().await?;
    for whose in Whose::ALL {
        for (name, spec) in [("nothing", json!({})), ("null", json!({"replicas": null}))] {
            let object = server.create(whose, SET, (name, ""), Some(&spec)).await?.object()?;
            assert_eq!(object["spec"]["replicas"], 1, "{whose:?} {spec}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_go_and_what_a_provider_wrote_stays() -> Result<()> {
    let server = Server::get().await?;
    let value = json!({"kind": "Other", "deep": {"null": null, "list": [1, {"a": []}]}, "": ""});
    let spec = json!({"providerSpec": {"value": value, "more": 1}, "future": {"x": 1}});
    for whose in Whose::ALL {
        let created = server.create(whose, MACHINE, ("unknown", ""), Some(&spec)).await?;
        let mut spec = created.object()?["spec"].take();
        // The default of the set with all gates open.
        spec.as_object_mut().map(|spec| spec.remove("authoritativeAPI"));
        assert_eq!(spec, json!({"providerSpec": {"value": value}}), "{whose:?}");
    }
    Ok(())
}

/// cluster-autoscaler reads `failureMessage`. OpenShift's definitions drop it without a word, so nothing may depend on
/// it.
#[tokio::test(flavor = "multi_thread")]
async fn failures_are_kept_by_our_definition_and_dropped_by_openshifts() -> Result<()> {
    let server = Server::get().await?;
    let status = json!({"phase": "Failed", "failureReason": "CreateError", "failureMessage": "no"});
    for (whose, kept) in [
        (Whose::Ours, status.clone()),
        (Whose::OpenShifts(FeatureSet::Default), json!({"phase": "Failed"})),
        (Whose::OpenShifts(FeatureSet::CustomNoUpgrade), json!({"phase": "Failed"})),
    ] {
        let object = server.create(whose, MACHINE, ("failed", ""), Some(&json!({}))).await?;
        let object: Value =
            server.set_status(whose, MACHINE, &object.object()?, &status).await?.object()?;
        assert_eq!(object["status"], kept, "{whose:?}");
    }
    Ok(())
}
