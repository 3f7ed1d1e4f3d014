//! Every field of `AWSProviderSpec`, one row each.

use machinist_provider::spec::SpecHalf as _;
use serde_json::value::RawValue;

use super::*;
use crate::AwsSpecs;

fn minimal() -> Map<String, Value> {
    let minimal =
        json!({"ami": "ami-0123456789abcdef0", "machineType": "m6i.large", "region": "eu-west-1"});
    minimal.as_object().cloned().unwrap()
}

fn run(extra: &Value) -> (Translated, Vec<Finding>) {
    let mut spec = minimal();
    spec.extend(extra.as_object().cloned().unwrap());
    let mut findings = Vec::new();
    let translated = translate(spec, Some("eu-west-1a"), &mut findings);
    (translated, findings)
}

fn problems(spec: &Map<String, Value>) -> Vec<String> {
    let raw = RawValue::from_string(Value::Object(spec.clone()).to_string()).unwrap();
    AwsSpecs.validate(&raw).iter().map(ToString::to_string).collect()
}

#[test]
fn minimal_spec_is_valid() {
    let (translated, findings) = run(&json!({"apiVersion": "mcm.gardener.cloud/v1alpha1"}));
    assert_eq!(findings, []);
    let expected = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "AWSMachineProviderConfig",
        "ami": {"id": "ami-0123456789abcdef0"}, "instanceType": "m6i.large",
        "placement": {"region": "eu-west-1", "availabilityZone": "eu-west-1a"},
    });
    assert_eq!(Value::Object(translated.spec.clone()), expected);
    assert_eq!(problems(&translated.spec), [""; 0]);
}

#[test]
fn supported_fields_are_translated_to_a_valid_spec() {
    let key = "arn:aws:kms:eu-west-1:123456789012:key/1f2e3d4c-5b6a-7988-9a0b-c1d2e3f4a5b6";
    let volume = |ebs: Value| json!({"blockDevices": [{"deviceName": "/root", "ebs": ebs}]});
    let interface = |it: Value| json!({"networkInterfaces": [it]});
    let rows = [
        (json!({"keyName": "ops"}), "/keyName", json!("ops")),
        (json!({"iam": {"name": "worker"}}), "/iamInstanceProfile", json!({"id": "worker"})),
        (
            json!({"iam": {"arn": "arn:aws:iam::123456789012:instance-profile/a/worker"}}),
            "/iamInstanceProfile",
            json!({"id": "worker"}),
        ),
        (volume(json!({"volumeSize": 50})), "/blockDevices/0", json!({"ebs": {"volumeSize": 50}})),
        (
            volume(json!({"volumeType": "gp3", "iops": 3000, "throughput": 250})),
            "/blockDevices/0/ebs",
            json!({"volumeType": "gp3", "iops": 3000, "throughputMib": 250}),
        ),
        (volume(json!({"encrypted": false})), "/blockDevices/0/ebs/encrypted", json!(false)),
        (volume(json!({"kmsKeyID": key})), "/blockDevices/0/ebs/kmsKey", json!({"arn": key})),
        (
            volume(json!({"kmsKeyID": "alias/ebs"})),
            "/blockDevices/0/ebs/kmsKey",
            json!({"id": "alias/ebs"}),
        ),
        (volume(json!({"deleteOnTermination": true})), "/blockDevices/0", json!({"ebs": {}})),
        // A single device is the root device, whatever its name.
        (
            json!({"blockDevices": [{"deviceName": "/dev/sda1", "ebs": {"volumeSize": 8}}]}),
            "/blockDevices/0",
            json!({"ebs": {"volumeSize": 8}}),
        ),
        (
            json!({"blockDevices": [{"deviceName": "/root"}, {"deviceName": "/dev/sdb"}]}),
            "/blockDevices",
            json!([{"ebs": {}}, {"deviceName": "/dev/sdb", "ebs": {}}]),
        ),
        (
            interface(json!({"subnetID": "subnet-0123abcd"})),
            "/subnet",
            json!({"id": "subnet-0123abcd"}),
        ),
        (
            interface(json!({"securityGroupIDs": ["sg-0123abcd"]})),
            "/securityGroups",
            json!([{"id": "sg-0123abcd"}]),
        ),
        (interface(json!({"associatePublicIPAddress": false})), "/publicIp", json!(false)),
        (interface(json!({"deviceIndex": 1})), "/deviceIndex", json!(1)),
        (interface(json!({"interfaceType": "efa"})), "/networkInterfaceType", json!("EFA")),
        (interface(json!({"interfaceType": "interface"})), "/networkInterfaceType", json!("ENA")),
        (json!({"spotPrice": ""}), "/spotMarketOptions", json!({})),
        (json!({"spotPrice": "0.05"}), "/spotMarketOptions", json!({"maxPrice": "0.05"})),
        (
            json!({"capacityReservation": {"capacityReservationId": "cr-0123456789abcdef0"}}),
            "/capacityReservationId",
            json!("cr-0123456789abcdef0"),
        ),
        (
            json!({"capacityReservation": {
                "capacityReservationId": "cr-0123456789abcdef0", "isMLCapacityBlock": true}}),
            "/marketType",
            json!("CapacityBlock"),
        ),
        (
            json!({"instanceMetadataOptions": {"httpTokens": "required", "httpEndpoint": "enabled"}}),
            "/metadataServiceOptions",
            json!({"authentication": "Required"}),
        ),
        (
            json!({"cpuOptions": {"amdSevSnp": "enabled"}}),
            "/cpuOptions",
            json!({"confidentialCompute": "AMDEncryptedVirtualizationNestedPaging"}),
        ),
        (json!({"placement": {"tenancy": "dedicated"}}), "/placement/tenancy", json!("dedicated")),
        (
            json!({"placement": {"tenancy": "host", "hostId": "h-0123abcd", "affinity": "host"}}),
            "/placement/host",
            json!({"affinity": "DedicatedHost", "dedicatedHost": {"id": "h-0123abcd"}}),
        ),
        (
            json!({"placement": {"tenancy": "host", "hostId": "h-0123abcd"}}),
            "/placement/host/affinity",
            json!("AnyAvailable"),
        ),
        (
            json!({"tags": {"team": "a", "Name": "x", "kubernetes.io/cluster/blue": "1"}}),
            "/tags",
            json!([{"name": "team", "value": "a"}]),
        ),
        (json!({"ebsOptimized": false, "monitoring": false}), "/instanceType", json!("m6i.large")),
        (json!({"srcAndDstChecksEnabled": true}), "/instanceType", json!("m6i.large")),
    ];
    for (from, pointer, expected) in rows {
        let (translated, findings) = run(&from);
        assert_eq!(findings, [], "{from}");
        assert_eq!(problems(&translated.spec), [""; 0], "{from}");
        assert_eq!(Value::Object(translated.spec).pointer(pointer), Some(&expected), "{from}");
    }
}

#[test]
fn unsupported_fields_are_reported_with_their_path() {
    let volume = |ebs: Value| json!({"blockDevices": [{"deviceName": "/root", "ebs": ebs}]});
    let interface = |it: Value| json!({"networkInterfaces": [it]});
    let rows = [
        (json!({"ebsOptimized": true}), "ebsOptimized"),
        (json!({"monitoring": true}), "monitoring"),
        (json!({"srcAndDstChecksEnabled": false}), "srcAndDstChecksEnabled"),
        (json!({"future": 1}), "future"),
        (json!({"blockDevices": [{"noDevice": "x"}]}), "blockDevices[0].noDevice"),
        (json!({"blockDevices": [{"virtualName": "ephemeral0"}]}), "blockDevices[0].virtualName"),
        (volume(json!({"snapshotID": "snap-1"})), "blockDevices[0].ebs.snapshotID"),
        (volume(json!({"deleteOnTermination": false})), "blockDevices[0].ebs.deleteOnTermination"),
        (json!({"networkInterfaces": [{}, {}]}), "networkInterfaces[1]"),
        (interface(json!({"ipv6AddressCount": 1})), "networkInterfaces[0].ipv6AddressCount"),
        (interface(json!({"ipv6PrefixCount": 1})), "networkInterfaces[0].ipv6PrefixCount"),
        (interface(json!({"primaryIpv6": true})), "networkInterfaces[0].primaryIpv6"),
        (interface(json!({"description": "x"})), "networkInterfaces[0].description"),
        (interface(json!({"networkCardIndex": 1})), "networkInterfaces[0].networkCardIndex"),
        (
            interface(json!({"deleteOnTermination": false})),
            "networkInterfaces[0].deleteOnTermination",
        ),
        (interface(json!({"interfaceType": "efa-only"})), "networkInterfaces[0].interfaceType"),
        (
            json!({"capacityReservation": {"capacityReservationResourceGroupArn": "arn:x"}}),
            "capacityReservation.capacityReservationResourceGroupArn",
        ),
        (
            json!({"capacityReservation": {"capacityReservationPreference": "none"}}),
            "capacityReservation.capacityReservationPreference",
        ),
        (
            json!({"instanceMetadataOptions": {"httpEndpoint": "disabled"}}),
            "instanceMetadataOptions.httpEndpoint",
        ),
        (
            json!({"instanceMetadataOptions": {"httpPutResponseHopLimit": 2}}),
            "instanceMetadataOptions.httpPutResponseHopLimit",
        ),
        (
            json!({"instanceMetadataOptions": {"httpProtocolIpv6": "enabled"}}),
            "instanceMetadataOptions.httpProtocolIpv6",
        ),
        (json!({"cpuOptions": {"coreCount": 2}}), "cpuOptions.coreCount"),
        (json!({"cpuOptions": {"threadsPerCore": 1}}), "cpuOptions.threadsPerCore"),
        (json!({"placement": {"groupId": "pg-1"}}), "placement.groupId"),
        (json!({"tags": {"kubernetes.io/cluster/a": "1", "kubernetes.io/cluster/b": "1"}}), "tags"),
    ];
    for (from, path) in rows {
        let (_, findings) = run(&from);
        let found: Vec<_> = findings.iter().map(|one| (one.level, &*one.path)).collect();
        assert_eq!(found, [(Level::Unsupported, &*format!("providerSpec.{path}"))], "{from}");
    }
}

#[test]
fn invalid_values_are_reported_as_such() {
    let rows = [
        (json!({"machineType": 5}), "machineType"),
        (
            json!({"networkInterfaces": [{"interfaceType": "x"}]}),
            "networkInterfaces[0].interfaceType",
        ),
        (
            json!({"instanceMetadataOptions": {"httpTokens": "x"}}),
            "instanceMetadataOptions.httpTokens",
        ),
        (json!({"cpuOptions": {"amdSevSnp": "x"}}), "cpuOptions.amdSevSnp"),
        (json!({"placement": {"affinity": "x"}}), "placement.affinity"),
        (json!({"blockDevices": [{"ebs": {"volumeSize": -1}}]}), "blockDevices[0].ebs.volumeSize"),
    ];
    for (from, path) in rows {
        let (_, findings) = run(&from);
        let found: Vec<_> = findings.iter().map(|one| (one.level, &*one.path)).collect();
        assert_eq!(found, [(Level::Invalid, &*format!("providerSpec.{path}"))], "{from}");
    }
}

#[test]
fn cluster_comes_from_its_tag_and_the_role_is_left_out_with_a_note() {
    let (translated, findings) =
        run(&json!({"tags": {"kubernetes.io/cluster/blue": "1", "kubernetes.io/role/node": "1"}}));
    assert_eq!(translated.cluster.as_deref(), Some("blue"));
    assert_eq!(translated.spec.get("tags"), None);
    assert_eq!(findings.iter().map(|one| one.level).collect::<Vec<_>>(), [Level::Note]);
}

#[test]
fn zone_of_another_region_is_left_out() {
    let translated = translate(minimal(), Some("us-east-1a"), &mut Vec::new());
    assert_eq!(translated.spec["placement"], json!({"region": "eu-west-1"}));
}

#[test]
fn provider_decides_and_without_one_the_fields_do() {
    let spec = minimal();
    assert!(is_aws(Some("AWS"), &spec) && is_aws(None, &spec));
    assert!(!is_aws(Some("GCP"), &spec) && !is_aws(None, &Map::new()));
}
