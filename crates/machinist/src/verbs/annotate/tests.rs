//! Output of whole runs, byte by byte where the format is kept, else by value.

use machinist_domain::capacity_annotations::Families;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::terminal::tests::{HOSTILE, assert_harmless};

fn known(shape: &Shape) -> Option<Capacity> {
    catalogue::capacity(&shape.instance_type)
}

const OPENSHIFT: Options = Options {
    families: Families::OpenShift,
    max_pods: machinist_domain::capacity_annotations::MaxPods::Off,
    overwrite: false,
    arch_only_labels: false,
};

fn run(texts: &[&str], output: Option<ManifestFormat>, options: Options) -> Annotated {
    let inputs: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| Input { name: format!("f{index}"), text: (*text).to_owned() })
        .collect();
    annotate(&inputs, output, options, &known)
}

fn annotated(text: &str) -> String {
    let result = run(&[text], None, OPENSHIFT);
    assert_eq!((result.bad, result.unknown), (0, 0), "{:?}", result.notes);
    result.text
}

fn meaning(text: &str) -> Vec<Node> {
    let nodes = stream::documents(text).into_iter().map(|document| {
        Node::parse(document).unwrap_or_else(|error| panic!("{error} in:\n{}", document.text))
    });
    nodes.filter(|node| !matches!(node, Node::Null)).collect()
}

fn set(metadata: &str) -> String {
    format!(
        "apiVersion: machine.openshift.io/v1beta1\nkind: MachineSet\n{metadata}spec:\n  template:\n    spec:\n      \
         providerSpec: {{value: {{instanceType: m6g.large}}}} # small\n"
    )
}

const FOUR_LINES: &str = r#"    capacity.cluster-autoscaler.kubernetes.io/labels: "kubernetes.io/arch=arm64"
    machine.openshift.io/GPU: "0"
    machine.openshift.io/memoryMb: "8192"
    machine.openshift.io/vCPU: "2"
"#;

#[test]
fn block_maps_get_lines_and_keep_everything_else() {
    let cases = [
        (
            "metadata: # m\n  # first\n  name: a\n",
            format!("metadata: # m\n  annotations:\n{FOUR_LINES}  # first\n  name: a\n"),
        ),
        (
            "metadata:\n  annotations:   # why\n    # mine\n    team: a # b\n  name: a\n",
            format!(
                "metadata:\n  annotations:   # why\n{FOUR_LINES}    # mine\n    team: a # b\n  name: a\n"
            ),
        ),
        (
            "metadata:\n  annotations: {}\n  name: a\n",
            format!("metadata:\n  annotations:\n{FOUR_LINES}  name: a\n"),
        ),
        (
            "metadata:\n  name: a\n  annotations: null # none\n",
            format!("metadata:\n  name: a\n  annotations:  # none\n{FOUR_LINES}"),
        ),
        (
            "metadata:\n  annotations:\n  name: a\n",
            format!("metadata:\n  annotations:\n{FOUR_LINES}  name: a\n"),
        ),
    ];
    for (before, after) in cases {
        assert_eq!(annotated(&set(before)), set(&after));
    }
}

#[test]
fn what_stands_there_is_replaced_in_its_place_and_what_no_longer_applies_goes() {
    let before = "metadata:\n  annotations:\n    machine.openshift.io/vCPU: '4' # four\n    a: b\n    \
                  capacity.cluster-autoscaler.kubernetes.io/cpu: \"4\"\n    machine.openshift.io/GPU: \"0\"\n    \
                  machine.openshift.io/memoryMb: 8192\n    machinist.dev/annotated: v1:cpu=4 # ours\n    \
                  capacity.cluster-autoscaler.kubernetes.io/labels: x=y\n  name: a\n";
    let after = "metadata:\n  annotations:\n    machine.openshift.io/vCPU: \"2\" # four\n    a: b\n    \
                 machine.openshift.io/GPU: \"0\"\n    machine.openshift.io/memoryMb: \"8192\"\n    \
                 capacity.cluster-autoscaler.kubernetes.io/labels: \"kubernetes.io/arch=arm64,x=y\"\n  name: a\n";
    assert_eq!(annotated(&set(before)), set(after));
}

#[test]
fn flow_maps_and_json_are_changed_in_their_place() {
    let four = [
        r#"{"a":"b","capacity.cluster-autoscaler.kubernetes.io/labels":"kubernetes.io/arch=arm64","#,
        r#""machine.openshift.io/GPU":"0","machine.openshift.io/memoryMb":"8192","machine.openshift.io/vCPU":"2"}"#,
    ]
    .concat();
    let before = set("metadata: {name: a, annotations: {a: b}} # flow\n");
    let after = set(&format!("metadata: {{name: a, annotations: {four}}} # flow\n"));
    assert_eq!(annotated(&before), after);

    let json = [
        r#"{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineSet","metadata":{"name":"a"},"#,
        r#""spec":{"template":{"spec":{"providerSpec":{"value":{"instanceType":"m6g.large"}}}}}}"#,
    ]
    .concat();
    let inserted = format!(r#""annotations": {},"#, four.replace(r#""a":"b","#, ""));
    let after = json.replace(r#""metadata":{"#, &format!(r#""metadata":{{{inserted}"#));
    assert_eq!(annotated(&json), after);
}

#[test]
fn windows_lines_stay_windows_lines() {
    let before = set("metadata:\n  name: a\n").replace('\n', "\r\n");
    let after =
        set(&format!("metadata:\n  annotations:\n{FOUR_LINES}  name: a\n")).replace('\n', "\r\n");
    assert_eq!(annotated(&before), after);
}

#[test]
fn sets_in_a_list_are_found() {
    let set = set("metadata:\n  name: a\n").replace('\n', "\n  ");
    let list = format!("apiVersion: v1\nitems:\n# one\n- {}\nkind: List\n", set.trim_end());
    let result = annotated(&list);
    assert!(result.contains("# one\n- apiVersion") && result.contains("# small"), "{result}");
    assert!(result.contains("      machine.openshift.io/vCPU: \"2\"\n"), "{result}");
}

#[test]
fn deployments_are_annotated_as_sets_are_and_their_sets_are_not() {
    let written = "metadata: # m\n  # first\n  name: a\n";
    let deployment = |metadata: &str| set(metadata).replace("MachineSet", "MachineDeployment");
    let expected = format!("metadata: # m\n  annotations:\n{FOUR_LINES}  # first\n  name: a\n");
    assert_eq!(annotated(&deployment(written)), deployment(&expected));

    let item = deployment("metadata:\n  name: a\n").replace('\n', "\n  ");
    for kind in ["List", "MachineDeploymentList"] {
        let version = if kind == "List" { "v1" } else { "machine.openshift.io/v1beta1" };
        let list = format!("apiVersion: {version}\nitems:\n- {}\nkind: {kind}\n", item.trim_end());
        let result = annotated(&list);
        assert!(result.contains("      machine.openshift.io/vCPU: \"2\"\n"), "{result}");
    }

    let unknown = deployment("metadata: {name: u}\n").replace("m6g.large", "m99.mega");
    let result = run(&[&unknown], None, OPENSHIFT);
    assert_eq!((result.unknown, &result.text), (1, &unknown));
    let of = "metadata:\n  name: a\n  ownerReferences:\n  - {kind: MachineDeployment, name: b}\n";
    let owned = run(&[&set(of)], None, OPENSHIFT);
    assert_eq!(owned.text, set(of));
    assert!(owned.notes[0].starts_with("f0:1: MachineSet a: its MachineDeployment"), "{owned:?}");
    assert!(result.notes[0].starts_with("f0:1: MachineDeployment u: instance"), "{result:?}");
}

#[test]
fn odd_documents_are_written_anew_and_mean_the_same() {
    let aliased = "metadata: {annotations: &a {x: y}, labels: *a, name: a}\n";
    let complex = "? metadata\n: name: a\n";
    for metadata in [aliased, complex, "", "metadata:\n"] {
        let text = set(metadata);
        let result = annotated(&text);
        let (before, after) = (meaning(&text).remove(0), meaning(&result).remove(0));
        assert_eq!(without_ours(before), without_ours(after.clone()), "{result}");
        let vcpu = after.at(&["metadata", "annotations", "machine.openshift.io/vCPU"]);
        assert_eq!(vcpu.and_then(Node::text), Some("2"), "{result}");
    }
}

#[test]
fn other_documents_and_unknown_types_are_not_touched() {
    let others = "# c\nkind: ConfigMap\ndata: {  a:   'b' }\n--- # x\n[1,\n 2]\n---\n";
    let foreign = "---\napiVersion: machine.openshift.io/v1beta1\nkind: MachineSet\nmetadata: {name: g}\n\
                   spec: {template: {spec: {providerSpec: {value: {kind: GCPMachineProviderSpec}}}}}\n";
    let unknown = set("metadata: {name: u}\n").replace("m6g.large", "m99.mega");
    let text = format!("{others}{unknown}{foreign}");
    let result = run(&[&text], None, Options::default());
    assert_eq!(result.text, text);
    assert_eq!((result.unknown, result.bad), (1, 0));
    let notes = result.notes.join("\n");
    assert!(notes.contains("f0:7: MachineSet u: instance type \"m99.mega\" is unknown"), "{notes}");
    assert!(notes.contains("MachineSet g: not changed"), "{notes}");
}

#[test]
fn bad_documents_are_told_with_their_place() {
    let missing = set("metadata: {name: a}\n").replace("instanceType", "other");
    let cases = [
        ("a: 1\n---\nb: [\n".to_owned(), "f0:2"),
        ("a: 1\na: 2\n".to_owned(), "f0:1"),
        (missing, "instanceType: is required"),
        (set("metadata: {annotations: [1], name: a}\n"), "must be maps"),
    ];
    for (text, reason) in cases {
        let result = run(&[&text], None, OPENSHIFT);
        assert_eq!(result.bad, 1, "{text}");
        assert!(result.notes.iter().any(|note| note.contains(reason)), "{:?}", result.notes);
    }
}

#[test]
fn a_key_of_a_users_is_kept_and_told() {
    let metadata = "metadata:\n  annotations:\n    capacity.cluster-autoscaler.kubernetes.io/cpu: 1500m\n  name: a\n";
    let text = set(metadata);
    let result = run(&[&text], None, Options::default());
    assert!(result.text.contains("/cpu: 1500m\n"));
    assert!(result.notes[0].contains("--overwrite"), "{:?}", result.notes);
    let result = run(&[&text], None, Options { overwrite: true, ..Options::default() });
    assert!(result.text.contains("/cpu: \"2\"\n"), "{}", result.text);
}

#[test]
fn files_are_held_apart_and_formats_can_be_chosen() {
    let json = "{\"a\":1}";
    let texts = ["x: 1", "%YAML 1.2\n---\ny: 2\n...\n", "z: 3\n", json, json, "# only a comment\n"];
    let same = run(&texts, None, OPENSHIFT).text;
    assert_eq!(
        same,
        "x: 1\n...\n%YAML 1.2\n---\ny: 2\n...\nz: 3\n---\n{\"a\":1}\n{\"a\":1}\n# only a comment\n"
    );
    let as_json = run(&texts, Some(ManifestFormat::Json), OPENSHIFT).text;
    assert_eq!(
        meaning(&as_json),
        meaning(&texts[..5].join("\n---\n").replace("---\n%YAML 1.2\n", ""))
    );
    let as_yaml = run(&texts, Some(ManifestFormat::Yaml), OPENSHIFT).text;
    assert_eq!(meaning(&as_yaml), meaning(&as_json));
}

fn without_ours(mut node: Node) -> Node {
    if let Some(Node::List(items)) = node.get_mut("items") {
        *items = std::mem::take(items).into_iter().map(without_ours).collect();
    }
    let Node::Map(mut entries) = node else { return node };
    for (_, metadata) in entries.iter_mut().filter(|entry| entry.0 == "metadata") {
        if matches!(metadata, Node::Null) {
            *metadata = Node::Map(Vec::new());
        }
        if let Some(Node::Map(annotations)) = metadata.get_mut("annotations") {
            annotations.retain(|entry| {
                !["machine.openshift.io/", "capacity.cluster-", "machinist.dev/"]
                    .iter()
                    .any(|prefix| entry.0.starts_with(prefix))
            });
        }
        if let Node::Map(entries) = metadata {
            let empty = |node: &Node| matches!(node, Node::Null) || *node == Node::Map(Vec::new());
            entries.retain(|entry| entry.0 != "annotations" || !empty(&entry.1));
        }
    }
    entries.retain(|entry| entry.0 != "metadata" || entry.1 != Node::Map(Vec::new()));
    Node::Map(entries)
}

fn value() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        Just(Node::Null),
        any::<bool>().prop_map(Node::Bool),
        any::<i64>().prop_map(|number| Node::Number(number.into())),
        "[ -~\n\t]{0,12}".prop_map(Node::Text),
        "\\PC{0,8}".prop_map(Node::Text),
        prop_oneof![
            Just("yes"),
            Just("~"),
            Just("0x1f"),
            Just("1e3"),
            Just("---"),
            Just("2001-01-01")
        ]
        .prop_map(|text| Node::Text(text.to_owned())),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop_oneof!["[a-z]{1,6}", "[ -~]{0,6}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Node::List),
            proptest::collection::btree_map(key, inner, 0..4)
                .prop_map(|map| Node::Map(map.into_iter().collect())),
        ]
    })
}

fn map(entries: Vec<(&str, Node)>) -> Node {
    Node::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn text(text: &str) -> Node {
    Node::Text(text.to_owned())
}

fn machine_set() -> impl Strategy<Value = Node> {
    let key = proptest::sample::select(vec![
        "a/b",
        "machine.openshift.io/vCPU",
        "capacity.cluster-autoscaler.kubernetes.io/labels",
        "capacity.cluster-autoscaler.kubernetes.io/cpu",
        "machinist.dev/annotated",
    ]);
    let annotations = proptest::collection::btree_map(key, "[ -~]{0,10}", 0..4).prop_map(|found| {
        Node::Map(
            found.into_iter().map(|(key, value)| (key.to_owned(), Node::Text(value))).collect(),
        )
    });
    let annotations = proptest::option::of(prop_oneof![Just(Node::Null), annotations]);
    let kind = prop_oneof![Just("MachineSet"), Just("MachineDeployment")];
    (annotations, value(), value(), kind).prop_map(|(annotations, one, other, kind)| {
        let mut metadata = vec![("name", text("a")), ("labels", one)];
        metadata.extend(annotations.map(|annotations| ("annotations", annotations)));
        let spec = map(vec![("instanceType", text("g4ad.xlarge")), ("more", other.clone())]);
        let nested = ["value", "providerSpec", "spec", "template", "spec"];
        let spec = nested.iter().fold(spec, |inner, key| map(vec![(key, inner)]));
        map(vec![
            ("status", other),
            ("apiVersion", text("machine.openshift.io/v1beta1")),
            ("kind", text(kind)),
            ("metadata", map(metadata)),
            ("spec", spec.get("spec").cloned().unwrap_or(Node::Null)),
        ])
    })
}

fn written(node: &Node, json: bool) -> String {
    serialise(node, json).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// In all notations; doing it again changes nothing.
    #[test]
    fn sets_mean_the_same_but_for_the_annotations(
        set in machine_set(),
        listed in any::<bool>(),
        json in any::<bool>(),
        output in proptest::option::of(prop_oneof![Just(ManifestFormat::Yaml), Just(ManifestFormat::Json)]),
    ) {
        let list = vec![("kind", text("List")), ("apiVersion", text("v1")), ("items", Node::List(vec![set.clone()]))];
        let document = if listed { map(list) } else { set };
        let before = written(&document, json);
        prop_assert_eq!(meaning(&before), vec![document.clone()], "{}", before);
        let result = run(&[&before], output, Options::default());
        prop_assert_eq!(result.bad, 0, "{:?} in\n{}", result.notes, before);
        let after = meaning(&result.text).remove(0);
        prop_assert_eq!(without_ours(document), without_ours(after), "{}", result.text);
        prop_assert!(result.text.contains("amd.com/gpu"));
        let again = run(&[&result.text], output, Options::default());
        prop_assert_eq!(again.text, result.text);
    }

    #[test]
    fn others_pass_through(documents in proptest::collection::vec((value(), any::<bool>()), 0..4)) {
        let texts: Vec<_> = documents.iter().map(|(node, json)| written(node, *json)).collect();
        for text in &texts {
            prop_assert_eq!(&run(&[text], None, Options::default()).text, text);
        }
        let all: Vec<_> = texts.iter().map(String::as_str).collect();
        let joined = run(&all, None, Options::default());
        prop_assert_eq!(joined.bad, 0, "{:?}", joined.notes);
        let yaml = run(&all, Some(ManifestFormat::Yaml), Options::default());
        let expected = documents.into_iter().map(|(node, _)| node);
        let expected: Vec<_> = expected.filter(|node| !matches!(node, Node::Null)).collect();
        prop_assert_eq!(meaning(&yaml.text), expected);
    }

    #[test]
    fn no_text_upsets_it(
        text in prop_oneof![
            ".{0,80}",
            "([ \\-]{0,4}(&a |\\*a|!!str |<<: )?[a-z\"'|>\\[{,]{0,4}(: |:\n|\n|---\n|\\.\\.\\.\n|%Y)){0,12}",
        ],
    ) {
        for output in [None, Some(ManifestFormat::Yaml), Some(ManifestFormat::Json)] {
            run(&[&text, "a: 1\n", &text], output, Options::default());
        }
    }

    /// It is refused, or means the same afterwards.
    #[test]
    fn no_mistake_upsets_it(
        style in 0..4_usize,
        at in any::<prop::sample::Index>(),
        cut in 0..3_usize,
        put in prop_oneof!["[ -~\n]{0,3}", Just("&a ".to_owned()), Just("\n---\n".to_owned()), Just("\t".to_owned())],
    ) {
        let styles = [
            set("metadata: # m\n  name: a\n  annotations:\n    team: a\n    machine.openshift.io/vCPU: \"4\"\n"),
            set("metadata: {name: a, annotations: {a: b}} # flow\n"),
            set("metadata:\n  annotations: {}\n  name: a\n"),
            written(&meaning(&set("metadata:\n  name: a\n")).remove(0), true),
        ];
        let mut broken = styles[style].clone();
        let start = at.index(broken.len());
        broken.replace_range(start..(start + cut).min(broken.len()), &put);
        let result = run(&[&broken], None, Options::default());
        if result.bad == 0 {
            let both = [meaning(&broken), meaning(&result.text)];
            let [before, after] = both.map(|nodes| nodes.into_iter().map(without_ours).collect::<Vec<_>>());
            prop_assert_eq!(before, after, "{}\n=>\n{}", broken, result.text);
        }
    }
}

#[test]
fn refuses_a_document_that_is_too_deep_for_the_stack() {
    for text in [format!("x: {}{}", "[".repeat(20_000), "]".repeat(20_000)), "- ".repeat(20_000)] {
        let result = run(&[&text], None, OPENSHIFT);
        assert_eq!((result.bad, result.notes.len()), (1, 1), "{:?}", result.notes);
    }
    let deep = format!("x: {}{}", "[".repeat(60), "]".repeat(60));
    assert_eq!(run(&[&deep], None, OPENSHIFT).bad, 0);
}

#[test]
fn notes_about_hostile_manifests_do_not_control_the_terminal() {
    let set = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": {"name": HOSTILE},
        "spec": {"template": {"spec": {"providerSpec": {"value": {"instanceType": HOSTILE}}}}},
    });
    let result = run(&[&Printable::json(&set.to_string()).to_string()], None, OPENSHIFT);
    assert_eq!((result.bad, result.unknown), (0, 1), "{:?}", result.notes);
    assert_harmless(&result.printed_notes());
    let file = Input { name: HOSTILE.to_owned(), text: HOSTILE.to_owned() };
    let result = annotate(&[file], None, OPENSHIFT, &known);
    assert_eq!(result.bad, 1);
    assert_harmless(&result.printed_notes());
}

/// In every notation and format; files of others are in it, too.
#[test]
fn fuzz_manifests() -> anyhow::Result<()> {
    let flow = "metadata: {name: a, annotations: {a: b}} # flow\n";
    let plain = "metadata:\n  name: a\n  annotations:\n    machine.openshift.io/vCPU: \"4\"\n";
    let list = format!("kind: ConfigMap\ndata: {{a: |\n  b}}\n---\n{}...\n", set(plain));
    let json = written(&meaning(&set(plain)).remove(0), true);
    let samples = [set(flow), set(plain), list, json];
    let samples: Vec<&str> = samples.iter().map(String::as_str).collect();
    machinist_testbed::fuzz::feed(&samples, |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        for output in [None, Some(ManifestFormat::Json), Some(ManifestFormat::Yaml)] {
            drop(run(&[text], output, OPENSHIFT));
        }
    })
}
