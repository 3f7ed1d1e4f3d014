//! Whole runs: an example as a snapshot, then every field of every kind. Fields of AWS's provider spec are tested in
//! `aws-spec/src/mcm`.

mod kept;

use machinist_api::machine::Machine;
use machinist_api::machine_deployment::MachineDeployment;
use machinist_api::machine_set::MachineSet;
use serde_json::{Value, json};

use super::*;

const EXAMPLE: &str = include_str!("samples/aws.yaml");

fn text(inputs: &[Input], output: ManifestFormat) -> (String, Notes) {
    let (documents, notes) = convert(inputs, output).unwrap();
    (documents.iter().map(ToString::to_string).collect(), notes)
}

fn run(texts: &[&str]) -> (Vec<Value>, Notes) {
    let inputs: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| Input { name: format!("f{at}"), text: (*text).to_owned() })
        .collect();
    let (text, notes) = text(&inputs, ManifestFormat::Json);
    let values = serde_json::Deserializer::from_str(&text).into_iter();
    (values.collect::<Result<_, _>>().unwrap(), notes)
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let found: Vec<_> = objects.iter().filter(|object| object["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind} in {objects:#?}");
    found[0]
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

fn with(mut base: Value, change: &Value) -> Value {
    merge(&mut base, change);
    base
}

fn class() -> Value {
    json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineClass",
        "metadata": {"name": "c", "namespace": "ns"}, "provider": "AWS",
        "providerSpec": {
            "ami": "ami-0123456789abcdef0", "machineType": "m6i.large", "region": "eu-west-1",
            "tags": {"kubernetes.io/cluster/blue": "1"},
        },
    })
}

fn machine() -> Value {
    json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": "m", "namespace": "ns"}, "spec": {"class": {"kind": "MachineClass", "name": "c"}},
    })
}

fn set() -> Value {
    json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineSet",
        "metadata": {"name": "s", "namespace": "ns"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"class": {"kind": "MachineClass", "name": "c"}}},
        },
    })
}

fn deployment() -> Value {
    with(set(), &json!({"kind": "MachineDeployment", "metadata": {"name": "d"}}))
}

/// The objects of a class and another object, and the lines without their place and title.
fn both(object: &Value) -> (Vec<Value>, Vec<String>) {
    let (objects, notes) = run(&[&class().to_string(), &object.to_string()]);
    let lines = notes.lines.iter();
    let lines = lines.filter_map(|line| line.strip_prefix("f1:1: ")?.split_once(": "));
    (objects, lines.map(|(_, line)| line.to_owned()).collect())
}

#[test]
fn example_of_a_worker_pool() {
    let inputs = [Input { name: "workers.yaml".to_owned(), text: EXAMPLE.to_owned() }];
    let (text, notes) = text(&inputs, ManifestFormat::Yaml);
    insta::assert_snapshot!("example", text);
    insta::assert_snapshot!("example_notes", notes.lines.join("\n"));
    assert_eq!(notes.invalid, 0);
    assert!(notes.unsupported > 0);
}

#[test]
fn output_is_of_our_types_and_nothing_is_lost_in_them() {
    fn same<T: serde::de::DeserializeOwned + serde::Serialize>(object: &Value) {
        let typed: T = serde_json::from_value(object.clone()).unwrap();
        let mut again = serde_json::to_value(typed).unwrap();
        again.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        assert_eq!(&again, object);
    }
    let (objects, _) = run(&[EXAMPLE]);
    same::<Machine>(of_kind(&objects, "Machine"));
    same::<MachineSet>(of_kind(&objects, "MachineSet"));
    same::<MachineDeployment>(of_kind(&objects, "MachineDeployment"));
    let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    let order = ["Secret", "Machine", "MachineSet", "MachineDeployment", "MachineHealthCheck"];
    assert_eq!(kinds, order, "a MachineSet before its Machines would create others");
}

/// A living set keeps its Machines only if its template is that of the deployment, apart from the hash.
#[test]
fn living_set_has_the_template_of_its_deployment() {
    let (objects, _) = run(&[EXAMPLE]);
    let template = |kind| of_kind(&objects, kind)["spec"]["template"].clone();
    let (of_deployment, mut of_set) = (template("MachineDeployment"), template("MachineSet"));
    let labels = of_set["metadata"]["labels"].as_object_mut().unwrap();
    assert_eq!(labels.remove("machinist.dev/template-hash"), Some(json!("4065")));
    assert_eq!(of_set, of_deployment);
    let selector = &of_kind(&objects, "MachineSet")["spec"]["selector"]["matchLabels"];
    let machine = &of_kind(&objects, "Machine")["metadata"]["labels"];
    for (name, value) in selector.as_object().unwrap() {
        assert_eq!(machine.get(name), Some(value), "{name}");
    }
}

#[test]
fn fields_of_a_deployment() {
    let rolling = |limits: Value| json!({"spec": {"strategy": {"rollingUpdate": limits}}});
    let strategy = "/spec/strategy";
    let limits = "/spec/strategy/rollingUpdate";
    let rows = [
        (json!({}), "/spec/replicas", json!(0)),
        (json!({"spec": {"replicas": 3}}), "/spec/replicas", json!(3)),
        (json!({"spec": {"paused": true}}), "/spec/paused", json!(true)),
        (json!({"spec": {"minReadySeconds": 9}}), "/spec/minReadySeconds", json!(9)),
        (json!({}), "/spec/revisionHistoryLimit", json!(i32::MAX)),
        (json!({"spec": {"revisionHistoryLimit": 0}}), "/spec/revisionHistoryLimit", json!(0)),
        (
            json!({"spec": {"progressDeadlineSeconds": 9}}),
            "/spec/progressDeadlineSeconds",
            json!(9),
        ),
        (json!({}), "/spec/selector", json!({"matchLabels": {"a": "b"}})),
        (json!({}), limits, json!({"maxSurge": 0, "maxUnavailable": 1})),
        (rolling(json!({"maxSurge": 2})), limits, json!({"maxSurge": 2, "maxUnavailable": 0})),
        (
            rolling(json!({"maxSurge": "10%", "maxUnavailable": "3"})),
            limits,
            json!({"maxSurge": "10%", "maxUnavailable": 3}),
        ),
        (
            json!({"spec": {"strategy": {"type": "Recreate"}}}),
            strategy,
            json!({"type": "Recreate"}),
        ),
        (
            json!({"metadata": {"annotations": {"deployment.kubernetes.io/revision": "4"}}}),
            "/metadata/annotations",
            json!({"machinedeployment.clusters.x-k8s.io/revision": "4"}),
        ),
        (
            json!({"metadata": {"annotations": {"node.machine.sapcloud.io/effective-creation-timeout": "7m"}}}),
            "/spec/template/metadata/annotations/machinist.dev~1creation-timeout",
            json!("7m"),
        ),
        (
            json!({"metadata": {"labels": {"freeze": "True", "x": "y"}}}),
            "/metadata/labels",
            json!({"x": "y"}),
        ),
        (
            json!({}),
            "/spec/template/metadata/labels",
            json!({"a": "b", "machine.openshift.io/cluster-api-cluster": "blue"}),
        ),
    ];
    for (change, pointer, expected) in rows {
        let (objects, lines) = both(&with(deployment(), &change));
        assert_eq!(lines, [""; 0], "{change}");
        let converted = of_kind(&objects, "MachineDeployment");
        assert_eq!(converted.pointer(pointer), Some(&expected), "{change}");
    }
}

#[test]
fn fields_of_a_machine() {
    let spec = |spec: Value| json!({ "spec": spec });
    let node = |node: Value| json!({ "spec": { "nodeTemplate": node } });
    let annotation = |name: &str| format!("/metadata/annotations/{}", name.replace('/', "~1"));
    let (creation, drain) =
        (annotation("machinist.dev/creation-timeout"), annotation("machinist.dev/drain-timeout"));
    let taint = json!([{"key": "k", "effect": "NoExecute", "value": "v"}]);
    let rows = [
        (json!({}), &*creation, json!("20m")),
        (json!({}), &*drain, json!("2h")),
        (spec(json!({"creationTimeout": "30m0s"})), &*creation, json!("30m0s")),
        (spec(json!({"drainTimeout": "90s"})), &*drain, json!("90s")),
        (spec(json!({"drainTimeout": "0s"})), &*drain, json!("1s")),
        (spec(json!({"providerID": "aws:///r/i-1"})), "/spec/providerID", json!("aws:///r/i-1")),
        (
            node(json!({"metadata": {"labels": {"x": "y"}, "annotations": {"p": "q"}}})),
            "/spec/metadata",
            json!({"labels": {"x": "y"}, "annotations": {"p": "q"}}),
        ),
        (node(json!({"spec": {"taints": taint}})), "/spec/taints", taint),
        (
            json!({"metadata": {"labels": {"node": "ip-1", "x": "y"}}}),
            "/metadata/labels",
            json!({"x": "y", "machine.openshift.io/cluster-api-cluster": "blue"}),
        ),
        (
            json!({"metadata": {"annotations": {"machinepriority.machine.sapcloud.io": "1"}}}),
            "/metadata/annotations/machine.openshift.io~1delete-machine",
            json!("true"),
        ),
        (
            json!({"metadata": {"labels": {"force-deletion": "True"}}}),
            "/metadata/annotations/machinist.dev~1force-deletion",
            json!(""),
        ),
    ];
    for (change, pointer, expected) in rows {
        let (objects, lines) = both(&with(machine(), &change));
        assert_eq!(lines, [""; 0], "{change}");
        assert_eq!(of_kind(&objects, "Machine").pointer(pointer), Some(&expected), "{change}");
    }
}

#[test]
fn health_checks_come_from_the_template() {
    let template = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
    let check = |change: Value| {
        let (objects, lines) = both(&with(deployment(), &change));
        assert_eq!(lines, [""; 0], "{change}");
        objects.into_iter().find(|object| object["kind"] == "MachineHealthCheck")
    };
    let default = check(json!({})).unwrap();
    assert_eq!(default["metadata"], json!({"name": "d", "namespace": "ns"}));
    assert_eq!(default["spec"]["selector"], json!({"matchLabels": {"a": "b"}}));
    assert_eq!(default["spec"]["nodeStartupTimeout"], "20m");
    assert_eq!(default["spec"]["maxUnhealthy"], 1);
    assert_eq!(default["spec"]["unhealthyConditions"].as_array().map(Vec::len), Some(10));
    let own =
        check(template(json!({"healthTimeout": "3m", "nodeConditions": " Bad , Ready"}))).unwrap();
    let condition =
        |kind: &str, status: &str| json!({"type": kind, "status": status, "timeout": "3m"});
    let expected = json!([
        condition("Ready", "False"),
        condition("Ready", "Unknown"),
        condition("Bad", "True"),
        condition("Bad", "Unknown"),
    ]);
    assert_eq!(own["spec"]["unhealthyConditions"], expected);
    assert_eq!(check(template(json!({"disableHealthTimeout": true}))), None);
    // A set without a deployment needs its own.
    let (objects, _) = both(&set());
    assert_eq!(of_kind(&objects, "MachineHealthCheck")["metadata"]["name"], "s");
    let owner = json!([{"kind": "MachineDeployment", "controller": true}]);
    let (objects, _) = both(&with(set(), &json!({"metadata": {"ownerReferences": owner}})));
    assert!(objects.iter().all(|object| object["kind"] != "MachineHealthCheck"), "{objects:?}");
}

#[test]
fn unsupported_fields_are_reported_with_their_path() {
    let spec = |spec: Value| json!({ "spec": spec });
    let template = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
    let annotation = |name: &str| json!({"metadata": {"annotations": {name: "x"}}});
    let strategy = json!({"strategy": {"type": "InPlaceUpdate", "inPlaceUpdate": {"orchestrationType": "Manual"}}});
    let rows = [
        (spec(strategy), "spec.strategy.type"),
        (spec(json!({"rollbackTo": {"revision": 2}})), "spec.rollbackTo"),
        (spec(json!({"future": 1})), "spec.future"),
        (
            template(json!({"inPlaceUpdateTimeout": "1m"})),
            "spec.template.spec.inPlaceUpdateTimeout",
        ),
        (template(json!({"maxEvictRetries": 3})), "spec.template.spec.maxEvictRetries"),
        (template(json!({"class": {"kind": "AWSMachineClass"}})), "spec.template.spec.class.kind"),
        (template(json!({"class": {"name": "x"}})), "spec.template.spec.class.name"),
        (
            template(json!({"nodeTemplate": {"spec": {"podCIDR": "10.0.0.0/24"}}})),
            "spec.template.spec.nodeTemplate.spec.podCIDR",
        ),
        (
            template(
                json!({"nodeTemplate": {"metadata": {"annotations": {"machine.sapcloud.io/awsPlacement": "{}"}}}}),
            ),
            "spec.template.spec.nodeTemplate.metadata.annotations[machine.sapcloud.io/awsPlacement]",
        ),
        (
            annotation("node.machine.sapcloud.io/trigger-deletion-by-mcm"),
            "metadata.annotations[node.machine.sapcloud.io/trigger-deletion-by-mcm]",
        ),
        (
            json!({"spec": {"template": annotation("node.machine.sapcloud.io/preserve")}}),
            "spec.template.metadata.annotations[node.machine.sapcloud.io/preserve]",
        ),
        (
            annotation("node.machine.sapcloud.io/effective-creation-timeout"),
            "metadata.annotations[node.machine.sapcloud.io/effective-creation-timeout]",
        ),
    ];
    for (change, path) in rows {
        let (_, lines) = both(&with(deployment(), &change));
        assert_eq!(lines.len(), 1, "{change}: {lines:?}");
        assert!(lines[0].starts_with(&format!("{path}: ")), "{change}: {lines:?}");
    }
    let (objects, _) =
        both(&with(deployment(), &spec(json!({"strategy": {"type": "InPlaceUpdate"}}))));
    assert_eq!(of_kind(&objects, "MachineDeployment")["spec"]["paused"], true);
}

#[test]
fn preservation_is_converted() {
    let annotation = "node.machine.sapcloud.io/preserve";
    let on = |value: &str| json!({"metadata": {"annotations": {annotation: value}}});
    let annotations = |object: &Value, lines: usize| {
        let (objects, found) = both(object);
        assert_eq!(found.len(), lines, "{found:?}");
        let converted = of_kind(&objects, object["kind"].as_str().unwrap()).clone();
        let pointers = ["/metadata", "/spec/template/metadata", "/spec/template/spec/metadata"];
        pointers.map(|pointer| {
            let annotations = &converted.pointer(pointer).unwrap_or(&Value::Null)["annotations"];
            let names = ["preserve", "preserve-timeout", "preserved-until"];
            names.map(|name| annotations[format!("machinist.dev/{name}")].clone())
        })
    };
    let nothing = || [Value::Null, Value::Null, Value::Null];
    for (own, expected, lines) in [
        ("now", json!("now"), 0),
        ("when-failed", json!("when-failed"), 0),
        ("auto-preserved", json!("auto"), 0),
        ("false", json!("false"), 0),
        ("soon", Value::Null, 1),
    ] {
        let expected = [expected, Value::Null, Value::Null];
        assert_eq!(annotations(&with(machine(), &on(own)), lines)[0], expected, "{own}");
        let change = json!({"spec": {"template": on(own)}});
        assert_eq!(
            annotations(&with(set(), &change), lines),
            [nothing(), expected, nothing()],
            "{own}"
        );
    }
    let node = json!({"spec": {"template": {"spec": {"nodeTemplate": on("now")}}}});
    let on_node = [json!("now"), Value::Null, Value::Null];
    assert_eq!(annotations(&with(deployment(), &node), 0), [nothing(), nothing(), on_node]);
    assert_eq!(annotations(&with(deployment(), &on("now")), 1), [nothing(), nothing(), nothing()]);
    for (name, value, expected) in
        [("machinePreserveTimeout", "8h", "8h"), ("preserveTimeout", "0s", "1s")]
    {
        let change = json!({"spec": {"template": {"spec": {name: value}}}});
        let expected = [Value::Null, json!(expected), Value::Null];
        assert_eq!(annotations(&with(deployment(), &change), 0)[1], expected, "{name}");
    }
    let until = "2026-06-05T12:00:00Z";
    let status = json!({"status": {"currentStatus": {"preserveExpiryTime": until}}});
    let kept = with(machine(), &status);
    assert_eq!(annotations(&kept, 0)[0], [json!("now"), Value::Null, json!(until)]);
    let kept = with(kept, &on("when-failed"));
    assert_eq!(annotations(&kept, 0)[0], [json!("when-failed"), Value::Null, json!(until)]);
}

#[test]
fn failed_machines_are_kept_by_deployments_and_not_by_sets_alone() {
    let change = json!({"spec": {"autoPreserveFailedMachineMax": 2}});
    let (objects, lines) = both(&with(deployment(), &change));
    assert_eq!(lines, [""; 0]);
    let spec = &of_kind(&objects, "MachineDeployment")["spec"];
    assert_eq!(spec["autoPreserveFailedMachineMax"], 2);
    let alone = with(set(), &change);
    let (_, lines) = both(&alone);
    assert!(lines[0].starts_with("spec.autoPreserveFailedMachineMax: "), "{lines:?}");
    let owner = json!([{"kind": "MachineDeployment", "controller": true}]);
    let (_, lines) = both(&with(alone, &json!({"metadata": {"ownerReferences": owner}})));
    assert_eq!(lines, [""; 0]);
}

#[test]
fn a_template_marks_no_machine_for_deletion() {
    let metadata = json!({"annotations": {
        "machinepriority.machine.sapcloud.io": "1", "machine.openshift.io/cluster-api-delete-machine": "x",
    }});
    let (objects, lines) =
        both(&with(deployment(), &json!({"spec": {"template": {"metadata": metadata}}})));
    let template = &of_kind(&objects, "MachineDeployment")["spec"]["template"]["metadata"];
    for mark in ["delete-machine", "cluster-api-delete-machine"] {
        assert_eq!(template["annotations"].get(format!("machine.openshift.io/{mark}")), None);
    }
    assert!(
        lines.iter().filter(|line| line.contains("mark every Machine")).count() == 2,
        "{lines:?}"
    );
}

#[test]
fn objects_that_are_deleted_or_uncertain_are_not_printed() {
    let stored = json!({"metadata": {"uid": "u"}});
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let cases = [
        (machine(), &stored, "spec.providerID"),
        (machine(), &deleted, "metadata.deletionTimestamp"),
        (set(), &deleted, "metadata.deletionTimestamp"),
        (deployment(), &deleted, "metadata.deletionTimestamp"),
    ];
    for (object, change, path) in cases {
        let (objects, lines) = both(&with(object, change));
        assert!(objects.is_empty(), "{objects:?}");
        assert!(lines[0].starts_with(path), "{lines:?}");
    }
}

#[test]
fn invalid_fields_are_bad_input() {
    let rows = [
        json!({"metadata": {"name": null}}),
        json!({"spec": {"replicas": -1}}),
        json!({"spec": {"replicas": "many"}}),
        json!({"spec": {"selector": null}}),
        json!({"spec": {"strategy": {"type": "Canary"}}}),
        json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": "all"}}}}),
        json!({"spec": {"template": {"spec": {"drainTimeout": "soon"}}}}),
    ];
    for change in rows {
        let (_, notes) = run(&[&class().to_string(), &with(deployment(), &change).to_string()]);
        assert_eq!(notes.invalid, 1, "{change}: {:?}", notes.lines);
    }
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "?"}});
    assert_eq!(run(&[&secret.to_string()]).1.invalid, 1);
    assert_eq!(run(&["a: ["]).1.invalid, 1);
}

#[test]
fn secrets_get_our_keys_and_their_absence_is_reported() {
    let named = with(class(), &json!({"secretRef": {"name": "all"}}));
    let metadata = json!({"name": "all", "namespace": "ns"});
    let secret = |data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data});
    let run = |class: &Value, secret: Option<Value>| {
        let secret = secret.map(|secret| secret.to_string()).unwrap_or_default();
        let (objects, notes) = run(&[&class.to_string(), &secret, &machine().to_string()]);
        let spec = of_kind(&objects, "Machine")["spec"]["providerSpec"]["value"].clone();
        let secret = objects.iter().find(|object| object["kind"] == "Secret").cloned();
        (spec, secret, notes)
    };
    for keys in
        [["accessKeyID", "secretAccessKey"], ["providerAccessKeyId", "providerSecretAccessKey"]]
    {
        let data = json!({"userData": "#!/bin/sh", keys[0]: "AKIA\n", keys[1]: "key"});
        let (spec, created, notes) = run(&named, Some(secret(data)));
        assert_eq!(notes.lines, [""; 0]);
        assert_eq!(spec["userDataSecret"], json!({"name": "all"}));
        assert_eq!(spec["credentialsSecret"], json!({"name": "all-aws"}));
        let created = created.unwrap();
        assert_eq!(created["metadata"], json!({"name": "all-aws", "namespace": "ns"}));
        let data = json!({"aws_access_key_id": "QUtJQQ==", "aws_secret_access_key": "a2V5"});
        assert_eq!(created["data"], data);
    }
    let (spec, created, notes) = run(&named, None);
    assert_eq!((spec["credentialsSecret"]["name"].as_str(), created), (Some("all-aws"), None));
    assert_eq!((notes.unsupported, notes.lines.len()), (2, 2), "{:?}", notes.lines);
    let (spec, _, notes) = run(&named, Some(secret(json!({"other": "x"}))));
    assert_eq!(spec.get("credentialsSecret"), None);
    assert_eq!(notes.unsupported, 2, "neither user data nor keys: {:?}", notes.lines);
    let (spec, _, notes) = run(&class(), None);
    assert_eq!(spec.get("userDataSecret"), None);
    assert_eq!(notes.unsupported, 1, "no user data: {:?}", notes.lines);
    assert!(notes.lines[0].contains("secretRef: is missing"), "{:?}", notes.lines);
    let elsewhere = with(named, &json!({"secretRef": {"namespace": "garden"}}));
    let (_, _, notes) = run(&elsewhere, None);
    assert!(notes.lines[0].contains("secretRef.namespace: Secret all is in namespace garden"));
}

#[test]
fn placeholders_in_user_data_are_reported_once_each() {
    let class = with(class(), &json!({"secretRef": {"name": "all"}}));
    for (text, count) in [
        ("<<BOOTSTRAP_TOKEN>> and <<BOOTSTRAP_TOKEN>>", 1),
        ("%3C%3CBOOTSTRAP_TOKEN%3E%3E <<BOOTSTRAP_TOKEN>>", 1),
        ("<<BOOTSTRAP_TOKEN>> <<MACHINE_NAME>>", 2),
        ("<BOOTSTRAP_TOKEN>", 0),
    ] {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "all", "namespace": "ns"},
            "stringData": {"userData": text, "accessKeyID": "a", "secretAccessKey": "b"},
        });
        let (_, notes) = run(&[&class.to_string(), &secret.to_string()]);
        assert_eq!(notes.unsupported, count, "{text}: {:?}", notes.lines);
    }
}

#[test]
fn spec_of_another_provider_is_kept_where_no_provider_takes_it_for_its_own() {
    let azure = json!({"location": "west", "properties": {"x": [1]}});
    let change = json!({
        "provider": "Azure",
        "nodeTemplate": {
            "capacity": {"cpu": 4, "memory": "16Gi", "gpu": "1"}, "architecture": "arm64", "zone": "1",
        },
    });
    let mut class = with(class(), &change);
    class["providerSpec"] = azure.clone();
    let (objects, notes) = run(&[&class.to_string(), &deployment().to_string()]);
    assert_eq!(notes.unsupported, 1, "{:?}", notes.lines);
    let converted = of_kind(&objects, "MachineDeployment");
    let spec = &converted["spec"]["template"]["spec"]["providerSpec"]["value"];
    assert_eq!((&spec["providerSpec"], &spec["kind"]), (&azure, &json!("MachineClass")));
    let capacity = |name: &str| {
        let name = format!("capacity.cluster-autoscaler.kubernetes.io/{name}");
        converted["metadata"]["annotations"][name].as_str().unwrap_or_default().to_owned()
    };
    let found = ["cpu", "memory", "gpu-count", "labels"].map(capacity);
    assert_eq!(found, ["4", "16Gi", "1", "kubernetes.io/arch=arm64,topology.kubernetes.io/zone=1"]);
}

#[test]
fn what_is_not_printed_is_mentioned() {
    let others = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n---\n\
                  kind: AWSMachineClass\napiVersion: machine.sapcloud.io/v1alpha1\nmetadata: {name: y}\n";
    let (objects, notes) = run(&[others, &class().to_string()]);
    assert!(objects.is_empty());
    // Two kinds, no user data, and no user of the class.
    assert_eq!((notes.lines.len(), notes.unsupported), (4, 2), "{:?}", notes.lines);
}

#[test]
fn fuzz_manifests_of_machine_controller_manager() -> anyhow::Result<()> {
    let all = json!([class(), machine(), set(), deployment()]);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string();
    machinist_testbed::fuzz::feed(&[&list, EXAMPLE], |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let input = [Input { name: "f".to_owned(), text: text.to_owned() }];
        for output in [ManifestFormat::Json, ManifestFormat::Yaml] {
            for document in convert(&input, output).unwrap().0 {
                let text = document.to_string();
                assert!(
                    !text.contains(|letter| controls_terminal(letter) && letter != '\n'),
                    "{text:?}"
                );
            }
        }
    })
}
