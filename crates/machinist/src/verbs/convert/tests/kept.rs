//! What must not be lost on the way: labels that selectors match, other keys of machine-controller-manager and objects
//! of the same name without a line, characters.

use super::*;
use crate::terminal::tests::{HOSTILE, assert_harmless};

/// A selector that matches no template any more makes the set invalid, and one that matches more its health check.
#[test]
fn labels_of_selectors_are_kept_everywhere() {
    let (own, hash) = ("pool.machine.sapcloud.io/name", "machine-template-hash");
    let labels = json!({ "labels": {own: "a", "a": "b", hash: "1"} });
    let expressions = json!([{"key": hash, "operator": "In", "values": ["1"]}]);
    let selector = json!({"matchLabels": {own: "a"}, "matchExpressions": expressions});
    let spec = json!({"selector": selector, "template": {"metadata": labels}});
    let all = [
        class(),
        with(machine(), &json!({"metadata": labels})),
        with(set(), &json!({"metadata": labels, "spec": spec})),
    ];
    let (objects, notes) =
        run(&all.map(|object| object.to_string()).each_ref().map(|text| &**text));
    assert!(notes.lines.iter().all(|line| line.contains("secretRef")), "{:?}", notes.lines);
    let (machine, set) = (of_kind(&objects, "Machine"), of_kind(&objects, "MachineSet"));
    let expected = json!({
        own: "a", "a": "b", "machinist.dev/template-hash": "1", "machine.openshift.io/cluster-api-cluster": "blue",
    });
    assert_eq!(machine["metadata"]["labels"], expected);
    assert_eq!(set["spec"]["template"]["metadata"]["labels"], expected);
    assert_eq!(set["metadata"]["labels"][own], "a");
    assert_eq!(
        set["spec"]["selector"]["matchExpressions"][0]["key"],
        "machinist.dev/template-hash"
    );
    assert_eq!(set["spec"]["selector"]["matchLabels"], json!({own: "a", "a": "b"}));
    let check = of_kind(&objects, "MachineHealthCheck");
    assert_eq!(check["spec"]["selector"], set["spec"]["selector"]);
}

#[test]
fn keys_of_machine_controller_manager_are_left_out_with_a_line() {
    let key = "x.machine.sapcloud.io/y";
    let metadata = json!({"labels": {key: "1"}, "annotations": {key: "1"}});
    let node = json!({"spec": {"nodeTemplate": {"metadata": metadata}}});
    let change = with(
        json!({ "metadata": metadata, "spec": {"template": {"metadata": metadata}} }),
        &json!({"spec": {"template": node}}),
    );
    let (objects, lines) = both(&with(deployment(), &change));
    let template = "spec.template";
    for path in [
        "metadata",
        &format!("{template}.metadata"),
        &format!("{template}.spec.nodeTemplate.metadata"),
    ] {
        for part in ["labels", "annotations"] {
            let start = format!("{path}.{part}[{key}]: left out");
            assert_eq!(
                lines.iter().filter(|line| line.starts_with(&start)).count(),
                1,
                "{start}: {lines:?}"
            );
        }
    }
    assert_eq!(lines.len(), 6, "{lines:?}");
    assert!(!objects.iter().any(|object| object.to_string().contains(key)), "{objects:?}");
    // Another domain, whose name ends alike.
    let (objects, lines) =
        both(&with(machine(), &json!({"metadata": {"labels": {"mymachine.sapcloud.io/y": "1"}}})));
    assert_eq!(lines, [""; 0]);
    assert_eq!(of_kind(&objects, "Machine")["metadata"]["labels"]["mymachine.sapcloud.io/y"], "1");
}

#[test]
fn objects_of_the_same_name_are_reported_and_the_later_one_is_used() {
    let other = with(class(), &json!({"providerSpec": {"machineType": "m7i.large"}}));
    let elsewhere = with(class(), &json!({"metadata": {"namespace": "other"}}));
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c", "namespace": "ns"}});
    let all = [class(), other, elsewhere, secret.clone(), secret, machine(), machine()];
    let texts = all.map(|object| object.to_string());
    let (objects, notes) = run(&texts.each_ref().map(|text| &**text));
    let machine = objects.iter().rfind(|object| object["kind"] == "Machine").unwrap();
    assert_eq!(machine["spec"]["providerSpec"]["value"]["instanceType"], "m7i.large");
    let lines: Vec<_> = notes.lines.iter().filter(|line| line.contains("is also at")).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    let starts = [
        "f1:1: MachineClass ns/c: is also at f0:1;",
        "f4:1: Secret ns/c: is also at f3:1;",
        "f6:1: Machine ns/m: is also at f5:1;",
    ];
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{lines:?}");
    }
    assert!(notes.unsupported >= 3, "each needs an action");
}

#[test]
fn documents_do_not_control_the_terminal_and_have_every_character() {
    let hostile = HOSTILE.trim_end_matches('\0');
    let machine = with(machine(), &json!({"metadata": {"annotations": {"note": hostile}}}));
    let text = json!([class(), machine]).to_string();
    let list = format!(r#"{{"apiVersion": "v1", "kind": "List", "items": {text}}}"#);
    let input = [Input { name: "f".to_owned(), text: list }];
    for output in [ManifestFormat::Json, ManifestFormat::Yaml] {
        let (documents, notes) = convert(&input, output).unwrap();
        assert_eq!((documents.len(), notes.invalid), (1, 0), "{:?}", notes.lines);
        assert_harmless(&documents[0]);
        let text = documents[0].to_string();
        let object: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(object["metadata"]["annotations"]["note"], hostile, "{text}");
    }
}
