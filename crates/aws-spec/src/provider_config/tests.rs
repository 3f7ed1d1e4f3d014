use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;

fn shape(json: &str) -> Result<Shape, SpecError> {
    AwsSpecs.shape(&RawValue::from_string(json.to_owned()).unwrap())
}

#[test]
fn reads_both_api_groups() {
    for group in ["awsproviderconfig.openshift.io/v1beta1", "machine.openshift.io/v1beta1"] {
        let spec = format!(
            r#"{{"apiVersion":"{group}","kind":"AWSMachineProviderConfig","instanceType":"m6i.large",
                "placement":{{"region":"eu-west-1","availabilityZone":"eu-west-1a"}},"x":[1],
                "credentialsSecret":{{"name":"aws"}},
                "blockDevices":[{{"deviceName":"/dev/xvdb","ebs":{{"volumeSize":9}}}},
                    {{"ebs":{{"volumeSize":120}}}}]}}"#
        );
        let expected = Shape {
            instance_type: "m6i.large".into(),
            region: Some("eu-west-1".into()),
            zone: Some("eu-west-1a".into()),
            root_disk_gib: Some(120),
            credentials_secret: Some("aws".into()),
        };
        assert_eq!(shape(&spec), Ok(expected));
    }
}

#[test]
fn bad_specs_say_what_is_wrong() {
    let cases = [
        ("[]", "must be an object"),
        ("{}", "instanceType: is required"),
        (r#"{"instanceType":""}"#, "instanceType: is required"),
        (r#"{"instanceType":5}"#, "instanceType: invalid type: integer `5`, expected a string"),
        (
            r#"{"instanceType":"a","placement":{"region":["x"]}}"#,
            "placement.region: invalid type: sequence, expected a string",
        ),
        (
            r#"{"instanceType":"a","blockDevices":[{"ebs":{"volumeSize":-1}}]}"#,
            "blockDevices[0].ebs.volumeSize: must be 1 to 65536 GiB (got -1)",
        ),
        (
            r#"{"instanceType":"a","blockDevices":[{"deviceName":"/dev/xvdb"},{"ebs":{"volumeSize":4294967296}}]}"#,
            "blockDevices[1].ebs.volumeSize: must be 1 to 65536 GiB (got 4294967296)",
        ),
        (
            r#"{"instanceType":"a","blockDevices":[{},{"deviceName":"/dev/xvdb","ebs":{"volumeSize":"9"}}]}"#,
            "blockDevices[1].ebs.volumeSize: invalid type: string \"9\", expected a whole number",
        ),
    ];
    for (spec, expected) in cases {
        match shape(spec) {
            Err(SpecError::Invalid { reason }) => {
                assert!(reason.ends_with(expected), "{spec}: {reason}");
            }
            other => panic!("{spec}: {other:?}"),
        }
    }
    // A manifest template with placeholders has a shape as well.
    let template = r#"{"instanceType":"a","credentialsSecret":{"name":"${SECRET}"}}"#;
    assert_eq!(shape(template).unwrap().credentials_secret.as_deref(), Some("${SECRET}"));
    let foreign = shape(r#"{"kind":"GCPMachineProviderSpec"}"#);
    let kind = "GCPMachineProviderSpec".to_owned();
    assert_eq!(foreign, Err(SpecError::ForeignKind { kind, known: KINDS.to_vec() }));
}

#[test]
fn reports_all_problems_but_only_the_first_wrong_type() {
    let paths = |json: &str| {
        let problems = AwsSpecs.validate(&RawValue::from_string(json.to_owned()).unwrap());
        problems.into_iter().map(|problem| problem.path).collect::<Vec<_>>()
    };
    let spec = r#"{"credentialsSecret":{"name":"A"},"blockDevices":[{"ebs":{"volumeSize":-1}}]}"#;
    assert_eq!(
        paths(spec),
        [
            "ami.id",
            "instanceType",
            "placement.region",
            "credentialsSecret.name",
            "blockDevices[0].ebs.volumeSize"
        ]
    );
    let types = r#"{"instanceType":"","placement":{"tenancy":1},"tags":[{"name":2}]}"#;
    assert_eq!(paths(types), ["placement.tenancy"]);
}

/// Mostly known names, so that every field is tried with every type.
fn field() -> impl Strategy<Value = String> {
    let known = vec![
        "kind",
        "instanceType",
        "placement",
        "region",
        "availabilityZone",
        "credentialsSecret",
        "name",
        "blockDevices",
        "deviceName",
        "ebs",
        "volumeSize",
    ];
    prop_oneof![8 => proptest::sample::select(known).prop_map(str::to_owned), 1 => any::<String>()]
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(Value::from(KIND)),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            object(inner),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::collection::vec((field(), inner), 0..8)
        .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()))
}

proptest! {
    #[test]
    fn any_spec_is_read_or_refused(
        spec in prop_oneof![1 => anything(), 4 => object(anything())],
    ) {
        let kind = spec.get("kind").and_then(Value::as_str).map(str::to_owned);
        let instance_type = spec.get("instanceType").and_then(Value::as_str);
        match shape(&spec.to_string()) {
            Ok(shape) => prop_assert_eq!(Some(&*shape.instance_type), instance_type),
            Err(SpecError::ForeignKind { kind: found, .. }) => prop_assert_eq!(Some(found), kind),
            Err(SpecError::Invalid { reason }) => prop_assert!(!reason.is_empty()),
            Err(SpecError::Missing) => prop_assert!(false, "it is there: {spec}"),
        }
    }
}
