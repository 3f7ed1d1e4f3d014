//! `machinist convert` as people and scripts call it: exit codes, streams, and an API server that accepts the result.

use std::process::{Output, Stdio};

use anyhow::{Context, Result, ensure};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use machinist_testbed::{cluster, process};
use serde_json::Value;
use tokio::process::Command;

use crate::control_plane;

const EXAMPLE: &str = include_str!("../../src/verbs/convert/samples/aws.yaml");

async fn machinist(arguments: &[&str], stdin: &str) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
    process::output(command.args(arguments), stdin).await
}

fn text(bytes: &[u8]) -> Result<&str> {
    Ok(std::str::from_utf8(bytes)?)
}

fn resource(object: &Value) -> Result<ApiResource> {
    let text = |name: &str| object[name].as_str().with_context(|| format!("no {name}: {object}"));
    let (group, version) = text("apiVersion")?.split_once('/').unwrap_or(("", "v1"));
    Ok(ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("kind")?)))
}

#[tokio::test]
async fn an_api_server_accepts_every_object_and_every_field() -> Result<()> {
    let control_plane = control_plane().await?;
    let client = control_plane.client()?;
    let namespace = cluster::namespace(&client, "convert").await?;
    let input = EXAMPLE.replace("namespace: shoot", &format!("namespace: {namespace}"));
    let output = machinist(&["convert", "-f", "-", "-o", "json"], &input).await?;
    let errors = text(&output.stderr)?;
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("userData of Secret workers has <<BOOTSTRAP_TOKEN>>"), "{errors}");
    let objects = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let objects = objects.collect::<Result<Vec<_>, _>>()?;
    assert_eq!(objects.len(), 5, "{objects:?}");
    for object in objects {
        let kind = resource(&object)?;
        let name = object["metadata"]["name"].as_str().context("no name")?;
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind);
        // An unknown field is an error.
        let strict = PatchParams::apply("test").validation_strict();
        let stored = api.patch(name, &strict, &Patch::Apply(&object)).await;
        let stored = stored.with_context(|| format!("the API server refused {object}"))?;
        assert_eq!(stored.data.get("spec"), object.get("spec"), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn a_reader_that_closes_the_pipe_early_is_no_error() -> Result<()> {
    for verb in ["crds", "catalogue"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
        let mut child = command.arg(verb).stdout(Stdio::piped()).spawn()?;
        drop(child.stdout.take());
        assert_eq!(child.wait().await?.code(), Some(0), "{verb}");
    }
    Ok(())
}

#[tokio::test]
async fn files_are_read_together_and_a_complete_conversion_is_exit_0() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let class = "apiVersion: machine.sapcloud.io/v1alpha1\nkind: MachineClass\nmetadata: {name: c}\nprovider: AWS\n\
                 secretRef: {name: u}\nproviderSpec: {ami: ami-0123456789abcdef0,\n  \
                 machineType: m6i.large, region: eu-west-1,\n  \
                 tags: {kubernetes.io/cluster/blue: '1'}}\n";
    let set = "apiVersion: machine.sapcloud.io/v1alpha1\nkind: MachineSet\nmetadata: {name: s}\n\
               spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},\n  \
               spec: {class: {kind: MachineClass, name: c}}}}\n";
    std::fs::write(folder.path().join("class.yaml"), class)?;
    let path = folder.path().to_str().context("path")?;
    // Without the Secret, as in git, nothing is known about placeholders in user data.
    let output = machinist(&["convert", "-f", "-", "-f", path], set).await?;
    let errors = text(&output.stderr)?;
    ensure!(output.status.code() == Some(1) && errors.contains("<<BOOTSTRAP_TOKEN>>"), "{errors}");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: u}\n\
                  stringData: {userData: '#!/bin/sh', accessKeyID: a, secretAccessKey: b}\n";
    std::fs::write(folder.path().join("secret.yaml"), secret)?;
    let output = machinist(&["convert", "-f", "-", "-f", path], set).await?;
    ensure!(output.status.code() == Some(0), "{}", text(&output.stderr)?);
    let objects: Vec<Value> = serde_saphyr::from_multiple(text(&output.stdout)?)?;
    let kinds: Vec<_> = objects.iter().map(|object| &object["kind"]).collect();
    assert_eq!(kinds, ["Secret", "MachineSet", "MachineHealthCheck"]);
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr)?);
    Ok(())
}

#[tokio::test]
async fn invalid_input_is_exit_2_and_nothing_is_printed() -> Result<()> {
    let invalid = EXAMPLE.replace("replicas: 1", "replicas: many");
    for (arguments, stdin) in [
        (&["convert", "-f", "-"][..], &*invalid),
        (&["convert", "-f", "-"], "a: ["),
        (&["convert", "-f", "/does/not/exist.yaml"], ""),
        (&["convert"], ""),
    ] {
        let output = machinist(arguments, stdin).await?;
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
    Ok(())
}

#[tokio::test]
async fn names_in_files_cannot_control_the_terminal() -> Result<()> {
    let hostile = r#"{"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": "a\u001b[2J\nb"}, "spec": {"class": {"name": "c\u009b1A"}, "x\u001b]0;t\u0007": 1}}"#;
    let output = machinist(&["convert", "-f", "-"], hostile).await?;
    assert_eq!(output.status.code(), Some(1));
    let errors = text(&output.stderr)?;
    assert!(errors.chars().all(|letter| letter == '\n' || !letter.is_control()), "{errors:?}");
    assert_eq!(errors.lines().count(), 3, "one line each, and the summary: {errors}");
    Ok(())
}
