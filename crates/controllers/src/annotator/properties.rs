//! Property: any provider spec is parsed, decided on and printed without a panic, and no value is invented.

use std::sync::Arc;

use machinist_aws_spec::AwsSpecs;
use machinist_aws_spec::catalogue;
use machinist_domain::capacity_annotations::Options;
use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::capacity::ObservedCapacity;
use machinist_runtime::cache::kind::Kind as _;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::decide::decide;
use super::error::Refusal;
use super::snapshot::{CloudAnswer, Decoded};
use super::*;
use crate::kinds::{MachineSet, NoState, Scalable};

/// Any JSON value.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,12}".prop_map(Value::from),
        Just(json!("m5.large")),
        Just(json!("a,kubernetes.io/os=x")),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = prop_oneof!["[a-zA-Z]{0,8}", Just("name".to_owned()), Just("ebs".to_owned())];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A valid provider spec with some fields replaced by any value.
fn nearly_right() -> impl Strategy<Value = Value> {
    let fields =
        ["apiVersion", "kind", "instanceType", "placement", "blockDevices", "credentialsSecret"];
    let wrong =
        proptest::collection::vec((proptest::sample::select(fields.to_vec()), anything()), 0..4);
    wrong.prop_map(|wrong| {
        let mut spec = json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "AWSMachineProviderConfig",
            "instanceType": "m5.large",
            "placement": {"region": "eu-west-1", "availabilityZone": "eu-west-1a"},
            "blockDevices": [{"ebs": {"volumeSize": 120}}],
            "credentialsSecret": {"name": "credentials"},
        });
        for (field, value) in wrong {
            spec[field] = value;
        }
        spec
    })
}

fn provider_spec() -> impl Strategy<Value = Value> {
    prop_oneof![anything(), nearly_right()]
}

/// What the cache stores of a MachineSet with this provider spec.
fn stored(provider_spec: &Value) -> Result<MachineSet<NoState>, serde_json::Error> {
    let object = json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {"namespace": "ns", "name": "set", "uid": "u", "resourceVersion": "1"},
        "spec": {"template": {"spec": {"providerSpec": {"value": provider_spec}}}},
    });
    let wire = serde_json::from_str(&object.to_string())?;
    Ok(MachineSets::new(Arc::new(AwsSpecs)).project(wire))
}

fn clouds() -> [CloudAnswer; 5] {
    let failure = Failure {
        category: Category::Throttled,
        retry: Retry::Backoff,
        message: "no luck".to_owned(),
    };
    [
        CloudAnswer::NotUsed,
        CloudAnswer::NoRegion,
        CloudAnswer::NoAccess(failure.clone()),
        CloudAnswer::Answered(ObservedCapacity::Absent),
        CloudAnswer::Answered(ObservedCapacity::Unknown(failure)),
    ]
}

proptest! {
    #[test]
    fn any_provider_spec_is_decided_on(spec in provider_spec()) {
        // The wire type keeps the provider spec raw: no content of it makes the object undecodable.
        let set = stored(&spec).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let set = Arc::new(MachineSet { scalable: Scalable { provider: Some("example"), ..set.scalable }, ..set });
        let written = spec["instanceType"].as_str();
        let known = set.scalable.shape.as_ref().ok().and_then(|shape| catalogue::capacity(&shape.instance_type));
        for cloud in clouds() {
            let snapshot = Snapshot {
                meta: set.meta.clone(),
                content: Ok(Decoded { object: Arc::clone(&set), cloud, catalogue: known }),
                options: Options::default(),
                obey_migration: false,
            };
            let plan = decide(&snapshot);
            let _printed = plan.to_string();
            match (&set.scalable.shape, plan) {
                (Err(error), plan) => {
                    prop_assert_eq!(plan, Plan::Refuse(Refusal::BadSpec((**error).clone())));
                }
                (Ok(shape), Plan::Annotate(annotation)) => {
                    prop_assert_eq!(Some(&*shape.instance_type), written, "the type is the one in the spec");
                    prop_assert!(known.is_some());
                    let labels = annotation.assessment.change.iter().find_map(|(key, value)| {
                        value.filter(|_| key == machinist_api::names::ANNOTATION_CAPACITY_LABELS)
                    });
                    let pairs: Vec<_> = labels.unwrap_or_default().split(',').collect();
                    prop_assert!(pairs.len() <= 4, "a value of the spec became a pair: {pairs:?}");
                }
                (Ok(_), Plan::Refuse(_)) => {}
                (Ok(_), other) => return Err(TestCaseError::fail(other.to_string())),
            }
        }
    }
}
