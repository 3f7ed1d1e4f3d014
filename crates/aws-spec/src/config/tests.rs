use machinist_domain::message_table::message_table;
use serde_json::{Value, json};

use super::*;

fn raw(spec: &Value) -> Box<RawValue> {
    RawValue::from_string(spec.to_string()).unwrap()
}

fn good() -> Value {
    json!({
        "kind": "AWSMachineProviderConfig",
        "ami": { "id": "ami-0123456789abcdef0" },
        "instanceType": "m6i.large",
        "placement": { "region": "eu-west-1" },
    })
}

fn with(extra: &Value) -> ProviderConfig {
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
    let mut spec = good();
    merge(&mut spec, extra);
    ProviderConfig::read(&raw(&spec)).unwrap()
}

#[test]
fn load_balancers_of_an_invalid_spec_are_read() {
    let named = |extra: &Value| {
        let mut spec = good();
        spec.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        LoadBalancer::all_of(&raw(&spec)).map(|all| all.len())
    };
    let one = json!([{ "name": "a", "type": "network" }]);
    assert_eq!(named(&json!({ "loadBalancers": one, "blockDevices": "none" })), Ok(1));
    assert_eq!(named(&json!({ "loadBalancers": null })), Ok(0));
    assert_eq!(named(&json!({})), Ok(0));
    let error = named(&json!({ "loadBalancers": 7 })).unwrap_err().to_string();
    assert!(error.contains("loadBalancers: "), "{error}");
    let error = named(&json!({ "loadBalancers": [{ "type": 7 }] })).unwrap_err().to_string();
    assert!(error.contains("loadBalancers[0].type: "), "{error}");
}

fn paths(extra: &Value) -> Vec<String> {
    with(extra).problems().into_iter().map(|problem| problem.path).collect()
}

/// Each spec has one problem, at this path. All messages are in a snapshot.
fn check_problems(name: &str, cases: impl IntoIterator<Item = (Value, impl Into<String>)>) {
    let mut rows = Vec::new();
    for (extra, path) in cases {
        let (path, problems) = (path.into(), with(&extra).problems());
        assert_eq!(paths(&extra), std::slice::from_ref(&path), "{extra}");
        rows.extend(problems.into_iter().map(|one| ("provider spec", path.clone(), one.message)));
    }
    insta::assert_snapshot!(name, message_table(&rows));
}

#[test]
fn small_and_large_specs_are_valid() {
    assert_eq!(with(&json!({})).problems(), []);
    let large = json!({
        "metadata": { "creationTimestamp": null },
        "ami": { "arn": null },
        "tags": [{ "name": "team", "value": "a" }, { "name": "empty" }],
        "iamInstanceProfile": { "id": "worker" },
        "userDataSecret": { "name": "worker-user-data" },
        "credentialsSecret": { "name": "aws-cloud-credentials" },
        "keyName": "ssh",
        "deviceIndex": 0,
        "publicIp": false,
        "networkInterfaceType": "EFA",
        "securityGroups": [{ "id": "sg-01234567" }, { "filters": [{ "name": "tag:Name", "values": ["x"] }] }],
        "subnet": { "filters": [{ "name": "tag:Name", "values": ["a", "b"] }] },
        "placement": { "availabilityZone": "eu-west-1a", "tenancy": "host", "host": {
            "affinity": "DedicatedHost",
            "dedicatedHost": { "allocationStrategy": "Dynamic",
                "dynamicHostAllocation": { "tags": [{ "name": "cost", "value": "b" }] } },
        } },
        "loadBalancers": [{ "name": "a", "type": "network" }, { "name": "b", "type": "classic" }],
        "blockDevices": [
            { "ebs": { "volumeSize": 120, "volumeType": "gp3", "iops": 4000, "throughputMib": 250,
                "encrypted": true,
                "kmsKey": { "arn": "arn:aws:kms:eu-west-1:123456789012:key/1f2e3d4c-5b6a-7988-9a0b-c1d2e3f4a5b6" } } },
            { "deviceName": "/dev/xvdb", "ebs": { "volumeSize": 9, "volumeType": "gp2", "iops": 5 } },
            { "deviceName": "/dev/xvdc", "virtualName": "ephemeral0" },
        ],
        "spotMarketOptions": { "maxPrice": "0.05" },
        "metadataServiceOptions": { "authentication": "Required" },
        "placementGroupName": "g",
        "placementGroupPartition": 3,
        "capacityReservationId": "",
        "marketType": "",
        "cpuOptions": { "confidentialCompute": "AMDEncryptedVirtualizationNestedPaging" },
        "aFieldOfTomorrow": [1],
    });
    let config = with(&large);
    assert_eq!(config.problems(), []);
    assert_eq!(config.market(), Some(Market::Spot { max_price: Some("0.05".to_owned()) }));
    assert_eq!(config.cpu_options.as_ref().and_then(CpuOptions::sev_snp), Some(true));
    let volume = |at: usize| config.block_devices[at].ebs.as_ref().unwrap();
    assert_eq!((volume(0).iops(), volume(0).throughput()), (Some(4000), Some(250)));
    assert_eq!(
        volume(0).kms_key(),
        Some("arn:aws:kms:eu-west-1:123456789012:key/1f2e3d4c-5b6a-7988-9a0b-c1d2e3f4a5b6")
    );
    assert_eq!(volume(1).iops(), None, "gp2 has none");
    let host = config.placement.host.as_ref().unwrap();
    assert!(host.is_dynamic() && host.is_bound() && host.provided().is_none());
    assert_eq!(host.tags()[0].name, "cost");
}

#[test]
fn null_counts_as_missing() {
    let config = with(&json!({
        "tags": null, "securityGroups": null, "subnet": null, "blockDevices": null,
        "deviceIndex": null, "marketType": null, "loadBalancers": null,
        "metadataServiceOptions": null, "placement": { "tenancy": null, "host": null },
    }));
    assert_eq!(config, with(&json!({})));
}

#[test]
fn every_field_with_a_format_is_checked_and_named() {
    let cases = [
        (json!({ "ami": { "id": "" } }), "ami.id"),
        (json!({ "ami": { "id": "image" } }), "ami.id"),
        (
            json!({ "ami": { "id": "", "filters": [{ "name": "", "values": ["x"] }] } }),
            "ami.filters[0].name",
        ),
        (json!({ "instanceType": "" }), "instanceType"),
        (json!({ "instanceType": "large" }), "instanceType"),
        (json!({ "placement": { "region": "" } }), "placement.region"),
        (json!({ "placement": { "region": "Europe 1" } }), "placement.region"),
        (json!({ "placement": { "availabilityZone": "eu west" } }), "placement.availabilityZone"),
        (json!({ "tags": [{ "name": "" }] }), "tags[0].name"),
        (json!({ "tags": [{ "name": "AWS:x" }] }), "tags[0].name"),
        (json!({ "tags": [{ "name": "x", "value": "y".repeat(257) }] }), "tags[0].value"),
        (json!({ "tags": vec![json!({ "name": "x" }); 51] }), "tags"),
        (json!({ "iamInstanceProfile": { "arn": "arn:x" } }), "iamInstanceProfile.id"),
        (json!({ "userDataSecret": {} }), "userDataSecret.name"),
        (json!({ "credentialsSecret": { "name": "" } }), "credentialsSecret.name"),
        (json!({ "keyName": "" }), "keyName"),
        (json!({ "deviceIndex": -1 }), "deviceIndex"),
        (json!({ "networkInterfaceType": "efa" }), "networkInterfaceType"),
        (json!({ "securityGroups": [{}] }), "securityGroups[0]"),
        (json!({ "securityGroups": [{ "id": "x" }] }), "securityGroups[0].id"),
        (
            json!({ "securityGroups": [{ "filters": [{ "name": "a" }] }] }),
            "securityGroups[0].filters[0].values",
        ),
        (json!({ "subnet": { "id": "x" } }), "subnet.id"),
        (json!({ "blockDevices": [{ "ebs": {} }, { "ebs": {} }] }), "blockDevices"),
        (
            json!({ "blockDevices": [{ "ebs": { "volumeSize": 0 } }] }),
            "blockDevices[0].ebs.volumeSize",
        ),
        (
            json!({ "blockDevices": [{ "ebs": { "volumeType": "gp9" } }] }),
            "blockDevices[0].ebs.volumeType",
        ),
        (json!({ "blockDevices": [{ "ebs": { "iops": -1 } }] }), "blockDevices[0].ebs.iops"),
        (
            json!({ "blockDevices": [{ "ebs": { "volumeType": "gp2", "throughputMib": 125 } }] }),
            "blockDevices[0].ebs.throughputMib",
        ),
        (
            json!({ "blockDevices": [{ "ebs": { "volumeType": "gp3", "throughputMib": 124 } }] }),
            "blockDevices[0].ebs.throughputMib",
        ),
        (json!({ "loadBalancers": [{ "type": "network" }] }), "loadBalancers[0].name"),
        (json!({ "loadBalancers": [{ "name": "a", "type": "big" }] }), "loadBalancers[0].type"),
        (json!({ "marketType": "Free" }), "marketType"),
        (json!({ "marketType": "OnDemand", "spotMarketOptions": {} }), "marketType"),
        (json!({ "marketType": "CapacityBlock" }), "marketType"),
        (
            json!({ "marketType": "Spot", "capacityReservationId": "cr-0123456789abcdef0" }),
            "marketType",
        ),
        (
            json!({ "spotMarketOptions": {}, "capacityReservationId": "cr-0123456789abcdef0" }),
            "capacityReservationId",
        ),
        (json!({ "capacityReservationId": "cr-1" }), "capacityReservationId"),
        (json!({ "spotMarketOptions": { "maxPrice": "cheap" } }), "spotMarketOptions.maxPrice"),
        (json!({ "placement": { "tenancy": "shared" } }), "placement.tenancy"),
        (
            json!({ "placementGroupName": "g", "placementGroupPartition": 8 }),
            "placementGroupPartition",
        ),
        (json!({ "placementGroupPartition": 1 }), "placementGroupPartition"),
        (json!({ "placement": { "host": { "affinity": "AnyAvailable" } } }), "placement.host"),
        (
            json!({ "metadataServiceOptions": { "authentication": "required" } }),
            "metadataServiceOptions.authentication",
        ),
        (json!({ "cpuOptions": {} }), "cpuOptions"),
        (json!({ "cpuOptions": { "confidentialCompute": "" } }), "cpuOptions.confidentialCompute"),
    ];
    check_problems("format_messages", cases);
}

#[test]
fn every_type_of_volume_has_sizes_of_its_own() {
    let cases = [
        (None, 1, 65_536),
        (Some("gp2"), 1, 16_384),
        (Some("gp3"), 1, 65_536),
        (Some("io1"), 4, 16_384),
        (Some("io2"), 4, 65_536),
        (Some("st1"), 125, 16_384),
        (Some("sc1"), 125, 16_384),
        (Some("standard"), 1, 1024),
    ];
    for (kind, least, most) in cases {
        let problems = |size: i64| {
            let ebs = json!({ "volumeSize": size, "volumeType": kind, "iops": 100 });
            with(&json!({ "blockDevices": [{ "ebs": ebs }] })).problems()
        };
        for size in [least, most] {
            assert_eq!(problems(size), [], "{kind:?}: {size}");
        }
        for size in [least - 1, most + 1] {
            let found = problems(size);
            assert_eq!(found[0].path, "blockDevices[0].ebs.volumeSize", "{kind:?}: {size}");
            let range = format!("must be {least} to {most} GiB");
            assert!(found[0].message.starts_with(&range), "{kind:?}: {}", found[0]);
        }
    }
}

#[test]
fn every_name_is_checked_and_named() {
    let cases = [
        (json!({ "keyName": "x".repeat(256) }), "keyName"),
        (json!({ "iamInstanceProfile": { "id": "role/x" } }), "iamInstanceProfile.id"),
        (json!({ "userDataSecret": { "name": "../x" } }), "userDataSecret.name"),
        (json!({ "credentialsSecret": { "name": "A" } }), "credentialsSecret.name"),
        (json!({ "placementGroupName": "x".repeat(256) }), "placementGroupName"),
        (
            json!({ "loadBalancers": [{ "name": "a b", "type": "network" }] }),
            "loadBalancers[0].name",
        ),
        (
            json!({ "blockDevices": [{ "deviceName": "disk 1", "ebs": {} }] }),
            "blockDevices[0].deviceName",
        ),
        (
            json!({ "blockDevices": [{ "ebs": { "volumeType": "io2" } }] }),
            "blockDevices[0].ebs.iops",
        ),
        (
            json!({ "blockDevices": [{ "ebs": { "kmsKey": { "id": "my key" } } }] }),
            "blockDevices[0].ebs.kmsKey.id",
        ),
        (
            json!({ "blockDevices": [{ "ebs": { "kmsKey": { "arn": "arn:aws:s3:::x" } } }] }),
            "blockDevices[0].ebs.kmsKey.arn",
        ),
    ];
    check_problems("name_messages", cases);
}

#[test]
fn dedicated_hosts() {
    let host = |host: Value| json!({ "placement": { "tenancy": "host", "host": host } });
    let at = |name: &str| format!("placement.host.{name}");
    let cases = [
        (json!({}), at("affinity")),
        (json!({ "affinity": "Any" }), at("affinity")),
        (json!({ "affinity": "DedicatedHost" }), at("dedicatedHost")),
        (json!({ "affinity": "DedicatedHost", "dedicatedHost": {} }), at("dedicatedHost.id")),
        (
            json!({ "affinity": "DedicatedHost", "dedicatedHost": { "id": "h-1" } }),
            at("dedicatedHost.id"),
        ),
        (
            json!({ "affinity": "AnyAvailable", "dedicatedHost": { "allocationStrategy": "Dynamic" } }),
            at("affinity"),
        ),
        (
            json!({ "affinity": "DedicatedHost", "dedicatedHost": {
                "allocationStrategy": "Dynamic", "id": "h-01234567" } }),
            at("dedicatedHost.id"),
        ),
        (
            json!({ "affinity": "DedicatedHost", "dedicatedHost": {
                "id": "h-01234567", "dynamicHostAllocation": { "tags": [] } } }),
            at("dedicatedHost.dynamicHostAllocation"),
        ),
        (
            json!({ "affinity": "DedicatedHost", "dedicatedHost": {
                "allocationStrategy": "Dynamic", "dynamicHostAllocation": {} } }),
            at("dedicatedHost.dynamicHostAllocation.tags"),
        ),
        (
            json!({ "affinity": "DedicatedHost", "dedicatedHost": { "allocationStrategy": "Mine" } }),
            at("dedicatedHost.allocationStrategy"),
        ),
    ];
    check_problems("host_messages", cases.map(|(spec, path)| (host(spec), path)));
    for spec in [
        json!({ "affinity": "AnyAvailable" }),
        json!({ "affinity": "AnyAvailable", "dedicatedHost": { "id": "h-01234567" } }),
        json!({ "affinity": "DedicatedHost", "dedicatedHost": { "allocationStrategy": "Dynamic" } }),
    ] {
        assert_eq!(paths(&host(spec.clone())), [""; 0], "{spec}");
    }
}

#[test]
fn markets() {
    let market = |extra: Value| with(&extra).market();
    let spot = Some(Market::Spot { max_price: None });
    assert_eq!(market(json!({})), None);
    assert_eq!(market(json!({ "spotMarketOptions": {} })), spot);
    assert_eq!(market(json!({ "marketType": "Spot" })), spot);
    assert_eq!(market(json!({ "marketType": "CapacityBlock" })), Some(Market::CapacityBlock));
}

#[test]
fn wrong_type_is_reported_with_its_path() {
    let spec = raw(&json!({ "tags": "none" }));
    let error = ProviderConfig::read(&spec).unwrap_err().to_string();
    assert!(error.contains("tags: ") && error.contains("expected a sequence"), "{error}");
    let deep = raw(&json!({ "placement": { "region": 1 }, "instanceType": "m6i.large" }));
    let error = ProviderConfig::read(&deep).unwrap_err().to_string();
    assert!(
        error.ends_with("placement.region: invalid type: integer `1`, expected a string"),
        "{error}"
    );
    let foreign = raw(&json!({ "kind": "GCPMachineProviderSpec" }));
    assert!(matches!(ProviderConfig::read(&foreign), Err(SpecError::ForeignKind { .. })));
}
