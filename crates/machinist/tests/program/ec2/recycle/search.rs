//! `recycle search`.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::Api;
use kube::api::PostParams;
use machinist_control_plane::children;
use serde_json::{Value, json};

use super::yard::{Yard, ended};

const MESSAGE: &str =
    "Failed to create pod sandbox: failed to get sandbox image \"pause:3.9\": not found";

async fn pod(yard: &Yard, name: &str, node: &str) -> Result<String> {
    let pods: Api<Pod> = yard.world.api();
    let pod = serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    }))?;
    let pod = pods.create(&PostParams::default(), &pod).await?;
    pod.metadata.uid.context("a uid")
}

async fn event(yard: &Yard, name: &str, about: Value, more: Value) -> Result<()> {
    let events: Api<Event> = yard.world.api();
    let mut event = json!({
        "metadata": {"name": name}, "involvedObject": about, "reason": "FailedCreatePodSandBox",
        "type": "Warning", "message": MESSAGE,
    });
    event["involvedObject"]["namespace"] = json!(yard.world.namespace);
    for (field, value) in more.as_object().context("an object")? {
        event[field] = value.clone();
    }
    events.create(&PostParams::default(), &serde_json::from_value(event)?).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_found_by_their_message_with_node_and_instance() -> Result<()> {
    let yard = Yard::new("search").await?;
    let (_, members) = yard.group([0, 2, 2]).await?;
    let uid = pod(&yard, "here", &members[0]).await?;
    let here = json!({"kind": "Pod", "name": "here", "uid": uid});
    let often = json!({"count": 7, "lastTimestamp": "2026-11-16T01:00:00Z"});
    event(&yard, "a", here, often).await?;
    // Another pod has its name now; the host is what is left of it.
    let gone =
        json!({"kind": "Pod", "name": "here", "uid": "00000000-0000-4000-8000-000000000000"});
    let host = json!({"source": {"host": members[1]}, "lastTimestamp": "2026-11-16T01:01:00Z"});
    event(&yard, "b", gone, host).await?;
    let other = json!({"kind": "ReplicaSet", "name": "r"});
    event(&yard, "c", other, json!({"lastTimestamp": "2026-11-16T01:02:00Z"})).await?;
    event(&yard, "d", json!({"kind": "Pod", "name": "x"}), json!({"message": "Pulled"})).await?;

    let namespace = &*yard.world.namespace;
    let search = |more: &[&'static str]| {
        let mut all = vec!["search", "-n", namespace, "-s", "failed to get sandbox image"];
        all.extend(more);
        all
    };
    let found = yard.recycle(&search(&["--show-instance-id", "-o", "json"])).await?;
    assert_eq!(found.code, Some(0), "{found:?}");
    let found = found.json()?;
    let field = |name: &str| -> Vec<Value> {
        found.as_array().unwrap().iter().map(|one| one[name].clone()).collect()
    };
    assert_eq!(field("name"), ["a", "b", "c"], "the newest last");
    assert_eq!(field("node"), [json!(members[0]), json!(members[1]), Value::Null]);
    assert_eq!(field("instanceId"), [json!(members[0]), json!(members[1]), Value::Null]);
    assert_eq!(field("count"), [7, 1, 1]);

    let table = yard.recycle(&search(&[])).await?;
    let lines: Vec<_> = table.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{table:?}");
    assert!(lines[0].starts_with("NAMESPACE") && !lines[0].contains("INSTANCE"), "{table:?}");
    assert!(lines[1].contains("Pod/here") && lines[1].ends_with("..."), "{table:?}");
    let none = yard.recycle(&["search", "-n", namespace, "-s", "FAILED TO GET"]).await?;
    assert_eq!((none.code, &*none.stdout), (Some(1), ""), "case matters: {none:?}");
    let all = yard.recycle(&["search", "-s", ""]).await?;
    assert_eq!(all.code, Some(2), "an empty text would match everything: {all:?}");
    Ok(())
}

/// People who may create Events choose what the terminal of an administrator gets.
#[tokio::test(flavor = "multi_thread")]
async fn what_events_say_does_not_control_the_terminal() -> Result<()> {
    let yard = Yard::new("hostile").await?;
    let hostile =
        "sandbox \u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}1A\u{7f}\rall is well\n\u{202e}x\u{2066}";
    let about = json!({"kind": "Pod", "name": "p\u{1b}[1A"});
    let more = json!({
        "message": hostile, "reason": "R\u{9b}2J", "source": {"host": "h\u{1b}c\u{202e}"},
    });
    event(&yard, "hostile", about, more).await?;
    let namespace = &*yard.world.namespace;
    let obeyed = |letter: char| {
        letter != '\n' && (letter.is_control() || ('\u{202a}'..='\u{2069}').contains(&letter))
    };
    for format in ["table", "json", "yaml"] {
        let found =
            yard.recycle(&["search", "-n", namespace, "-s", "sandbox", "-o", format]).await?;
        assert_eq!(found.code, Some(0), "{found:?}");
        assert!(!found.stdout.contains(obeyed), "{format}: {found:?}");
        assert!(found.stdout.contains("all is well"), "{format}: {found:?}");
        if format == "table" {
            assert_eq!(found.stdout.lines().count(), 2, "{found:?}");
        } else {
            // JSON is YAML, too.
            let read: Value = serde_saphyr::from_str(&found.stdout)?;
            assert_eq!(read[0]["message"], hostile, "{format}: {found:?}");
        }
    }
    let missed = yard.recycle(&["search", "-n", namespace, "-s", "no\u{1b}[2Jthing"]).await?;
    assert!(missed.code == Some(1) && !missed.stderr.contains(obeyed), "{missed:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_flags_variables_and_file_of_kaws_are_read() -> Result<()> {
    let yard = Yard::new("as-kaws").await?;
    event(&yard, "a", json!({"kind": "Pod", "name": "p"}), json!({})).await?;
    let (namespace, kubeconfig) = (&*yard.world.namespace, yard.world.kubeconfig());
    let config = yard.path("config.yaml");
    let text = format!("kubeconfig: {}\nnamespace: {namespace}\n", kubeconfig.display());
    std::fs::write(&config, text)?;
    let config = config.to_string_lossy();
    let kubeconfig = kubeconfig.to_string_lossy();
    let bad = [("KAWS_KUBECONFIG", "/nonexistent"), ("KAWS_NAMESPACE", "other")];
    let good = [("KAWS_KUBECONFIG", &*kubeconfig), ("KAWS_NAMESPACE", namespace)];
    let other = [("KAWS_KUBECONFIG", &*kubeconfig), ("KAWS_NAMESPACE", "other")];
    for (flags, variables, code) in [
        (&["-k", &*kubeconfig, "-n", namespace][..], &bad[..], 0),
        (&[], &good[..], 0),
        (&[], &other[..], 1),
        (&[], &bad[..], 2),
        (&["--config", &*config], &[], 0),
        (&["--config", &*config], &other[..], 1),
        (&["--config", "/nonexistent"], &good[..], 2),
    ] {
        let mut command = yard.command(&[&["search", "-s", "sandbox"], flags].concat());
        command.env_remove("KUBECONFIG").envs(variables.iter().copied());
        let found = ended(children::spawn(&mut command)?).await?;
        assert_eq!(found.code, Some(code), "{flags:?} {variables:?}: {found:?}");
    }
    Ok(())
}
