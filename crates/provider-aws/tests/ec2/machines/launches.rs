//! One test per part of a launch: read back from moto or, where moto does not store it, from the wire.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{Filter, InstanceNetworkInterface};
use machinist_provider::cloud::ErrorClass;
use machinist_testbed::aws::Behaviour;
use serde_json::{Value, json};

use super::field::{Field, REGION, UID_TAG, tags};

/// Launches a machine and returns the parameters on the wire.
async fn launched(field: &Field, extra: &Value) -> BTreeMap<String, String> {
    field.created(extra).await;
    field.launch_on_the_wire()
}

#[track_caller]
fn assert_sent(wire: &BTreeMap<String, String>, expected: &[(&str, &str)]) {
    for (name, value) in expected {
        assert_eq!(wire.get(*name).map(String::as_str), Some(*value), "{name} in {wire:#?}");
    }
}

#[track_caller]
fn assert_not_sent(wire: &BTreeMap<String, String>, prefix: &str) {
    let sent: Vec<_> = wire.keys().filter(|name| name.starts_with(prefix)).collect();
    assert!(sent.is_empty(), "{sent:?}");
}

#[tokio::test]
async fn minimal_spec_sends_minimal_request() {
    let field = Field::new().await;
    let wire = launched(&field, &json!({})).await;
    assert_sent(&wire, &[("MinCount", "1"), ("MaxCount", "1"), ("InstanceType", "m5.large")]);
    assert_sent(&wire, &[("ImageId", &field.image), ("UserData", "IyEvYmluL3NoCg==")]);
    assert_sent(&wire, &[("NetworkInterface.1.DeviceIndex", "0")]);
    for absent in [
        "KeyName",
        "IamInstanceProfile",
        "BlockDeviceMapping",
        "NetworkInterface.1.Associate",
        "NetworkInterface.1.InterfaceType",
        "NetworkInterface.1.PrimaryIpv6",
        "Placement.Tenancy",
        "Placement.HostId",
        "InstanceMarketOptions",
        "CapacityReservation",
        "MetadataOptions",
        "PrivateDnsNameOptions",
        "CpuOptions",
    ] {
        assert_not_sent(&wire, absent);
    }
    let token = &wire["ClientToken"];
    assert!(token.ends_with("-1111-4222-8333-444444444444-1"), "{token}");
}

#[tokio::test]
async fn the_newest_image_that_fits() {
    let field = Field::new().await;
    let filter = Filter::builder().name("architecture").values("x86_64").build();
    let all = field.moto.describe_images().filters(filter).send().await.unwrap();
    assert!(all.images().len() > 5);
    let newest = all
        .images()
        .iter()
        .max_by_key(|image| (image.creation_date().unwrap(), image.image_id().unwrap()))
        .and_then(|image| image.image_id());
    let like = json!([{ "name": "architecture", "values": ["x86_64"] }]);
    let wire = launched(&field, &json!({ "ami": { "filters": like } })).await;
    assert_eq!(wire.get("ImageId").map(String::as_str), newest);
}

#[tokio::test]
async fn security_groups_by_id_and_by_filters() {
    let field = Field::new().await;
    let name = field.machine(&json!({})).key.name.to_string();
    let made = field.moto.create_security_group().group_name(&name).description("x");
    let named = made.send().await.unwrap().group_id().unwrap().to_owned();
    let groups = json!([
        { "id": named },
        { "filters": [{ "name": "group-name", "values": [name, "default"] }] },
    ]);
    let machine = field.created(&json!({ "securityGroups": groups })).await;
    let made = field.made(&machine).await;
    let groups = made.network_interfaces().iter().flat_map(InstanceNetworkInterface::groups);
    let ids: Vec<_> = groups.filter_map(|group| group.group_id()).collect();
    assert!(ids.contains(&named.as_str()) && ids.len() == 2, "{ids:?}");
}

#[tokio::test]
async fn a_subnet_by_id_or_by_filters_in_a_zone() {
    let field = Field::new().await;
    let subnets = field.moto.describe_subnets().send().await.unwrap();
    let by_id = subnets.subnets()[1].clone();
    let id = by_id.subnet_id().unwrap();
    let wire = launched(&field, &json!({ "subnet": { "id": id } })).await;
    assert_sent(&wire, &[("NetworkInterface.1.SubnetId", id)]);
    assert_not_sent(&wire, "Placement");

    let field = Field::new().await;
    let zone = format!("{REGION}b");
    let place = json!({ "placement": { "region": REGION, "availabilityZone": zone } });
    let machine = field.created(&place).await;
    assert_sent(&field.launch_on_the_wire(), &[("Placement.AvailabilityZone", &zone)]);
    let made = field.made(&machine).await;
    assert_eq!(made.placement().and_then(|at| at.availability_zone()), Some(zone.as_str()));
    let expected = format!("aws:///{zone}/{}", made.instance_id().unwrap());
    assert_eq!(machine.provider_id.as_deref(), Some(expected.as_str()));
}

#[tokio::test]
async fn public_addresses_are_said_either_way_and_a_carriers_in_its_zone() {
    const PUBLIC: &str = "NetworkInterface.1.AssociatePublicIpAddress";
    const CARRIER: &str = "NetworkInterface.1.AssociateCarrierIpAddress";
    for wanted in [true, false] {
        let field = Field::new().await;
        let wire = launched(&field, &json!({ "publicIp": wanted })).await;
        assert_sent(&wire, &[(PUBLIC, &wanted.to_string())]);
        assert_not_sent(&wire, CARRIER);
    }
    // moto has no wavelength zones, so the front simulates one.
    for wanted in [true, false] {
        let field = Field::new().await;
        let zones = Behaviour { zone_type: Some("wavelength-zone"), ..Behaviour::default() };
        field.front().behave(zones);
        let zone = format!("{REGION}b");
        let place = json!({ "region": REGION, "availabilityZone": zone });
        let wire = launched(&field, &json!({ "publicIp": wanted, "placement": place })).await;
        assert_sent(&wire, &[(CARRIER, &wanted.to_string())]);
        assert_not_sent(&wire, PUBLIC);
        let asked = &field.front().calls_of("DescribeAvailabilityZones")[0];
        assert_sent(&asked.parameters, &[("ZoneName.1", &zone)]);
    }
}

#[tokio::test]
async fn interfaces_of_both_kinds() {
    for (kind, word) in [("ENA", "interface"), ("EFA", "efa")] {
        let field = Field::new().await;
        let wire = launched(&field, &json!({ "networkInterfaceType": kind })).await;
        assert_sent(&wire, &[("NetworkInterface.1.InterfaceType", word)]);
    }
}

#[tokio::test]
async fn both_families_of_addresses() {
    let expected = [
        ("MetadataOptions.HttpProtocolIpv6", "enabled"),
        ("PrivateDnsNameOptions.HostnameType", "resource-name"),
        ("PrivateDnsNameOptions.EnableResourceNameDnsARecord", "true"),
        ("PrivateDnsNameOptions.EnableResourceNameDnsAAAARecord", "true"),
    ];
    let primary = "NetworkInterface.1.PrimaryIpv6";
    for family in ["DualStackIPv4Primary", "DualStackIPv6Primary"] {
        let field = Field::new().await;
        field.platform.set(json!({ "ipFamily": family }));
        let wire = launched(&field, &json!({})).await;
        assert_sent(&wire, &expected);
        if family == "DualStackIPv6Primary" {
            assert_sent(&wire, &[(primary, "true"), ("NetworkInterface.1.Ipv6AddressCount", "1")]);
        } else {
            assert_not_sent(&wire, primary);
        }
    }
}

#[tokio::test]
async fn volumes_of_all_sorts_go_with_the_instance() {
    let field = Field::new().await;
    let key = "arn:aws:kms:us-east-2:123456789012:key/12345678-1234-1234-1234-123456789012";
    let devices = json!([
        { "ebs": { "volumeSize": 120, "volumeType": "gp3", "iops": 4000, "throughputMib": 250,
            "encrypted": true, "kmsKey": { "arn": key } } },
        { "deviceName": "/dev/xvdz", "ebs": { "volumeSize": 7, "volumeType": "gp2", "iops": 9 } },
        { "deviceName": "/dev/xvdy", "virtualName": "ephemeral0" },
    ]);
    let machine = field.created(&json!({ "blockDevices": devices })).await;
    let wire = field.launch_on_the_wire();
    let image = field.moto.describe_images().image_ids(&field.image).send().await.unwrap();
    let root = image.images()[0].root_device_name().unwrap();
    assert_sent(
        &wire,
        &[
            ("BlockDeviceMapping.1.DeviceName", root),
            ("BlockDeviceMapping.1.Ebs.DeleteOnTermination", "true"),
            ("BlockDeviceMapping.1.Ebs.Throughput", "250"),
            ("BlockDeviceMapping.1.Ebs.Iops", "4000"),
            ("BlockDeviceMapping.1.Ebs.KmsKeyId", key),
            ("BlockDeviceMapping.2.DeviceName", "/dev/xvdz"),
        ],
    );
    assert_not_sent(&wire, "BlockDeviceMapping.2.Ebs.Iops");
    assert_not_sent(&wire, "BlockDeviceMapping.3");
    let mut sizes: Vec<_> = field
        .volumes(&machine.uid)
        .await
        .iter()
        .map(|volume| (volume.size().unwrap(), volume.volume_type().unwrap().to_string()))
        .collect();
    sizes.sort();
    assert_eq!(sizes, [(7, "gp2".to_owned()), (120, "gp3".to_owned())]);
    field.delete(&machine).await;
    assert_eq!(field.volumes(&machine.uid).await, []);
}

#[tokio::test]
async fn volumes_with_operations_of_their_own_and_a_key_by_its_id() {
    let field = Field::new().await;
    let key = "12345678-1234-1234-1234-123456789012";
    let arn = "arn:aws:kms:us-east-2:123456789012:key/87654321-4321-4321-4321-210987654321";
    let volume = |name: &str, kind: &str, iops: u32, key: Value| {
        let ebs = json!({ "volumeSize": 100, "volumeType": kind, "iops": iops,
            "encrypted": true, "kmsKey": key });
        json!({ "deviceName": name, "ebs": ebs })
    };
    let devices = [
        volume("/dev/xvdb", "io1", 3000, json!({ "id": key })),
        // With both, the id takes precedence.
        volume("/dev/xvdc", "io2", 16000, json!({ "id": key, "arn": arn })),
    ];
    let machine = field.prepared(&json!({ "blockDevices": devices })).await;
    // moto ignores the options, but creates the instance.
    field.cloud.create(&machine).await.unwrap();
    let wire = field.launch_on_the_wire();
    for (place, kind, iops) in [(1, "io1", "3000"), (2, "io2", "16000")] {
        let ebs = |name: &str| format!("BlockDeviceMapping.{place}.Ebs.{name}");
        assert_sent(&wire, &[(&ebs("VolumeType"), kind), (&ebs("Iops"), iops)]);
        assert_sent(&wire, &[(&ebs("Encrypted"), "true"), (&ebs("KmsKeyId"), key)]);
        assert_not_sent(&wire, &ebs("Throughput"));
    }
}

#[tokio::test]
async fn tags_of_the_spec_the_cluster_and_the_machine() {
    let field = Field::new().await;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    field.platform.set(json!({ "resourceTags": [
        { "key": "team", "value": "loses" },
        { "key": "owner", "value": "infra" },
        { "key": "Name", "value": "no" },
        { "key": "kubernetes.io/cluster/other", "value": "owned" },
    ] }));
    let spec = json!([
        { "name": "team", "value": "a" },
        { "name": "team", "value": "second" },
        { "name": UID_TAG, "value": "another" },
        { "name": "kubernetes.io/cluster/mine", "value": "owned" },
    ]);
    let machine = field.created(&json!({ "tags": spec })).await;
    let expected: BTreeMap<_, _> = [
        pair("Name", &machine.key.name),
        pair(&format!("kubernetes.io/cluster/{}", machine.cluster), "owned"),
        pair("machinist.dev/cluster", &machine.cluster),
        pair(UID_TAG, &machine.uid.0),
        pair("machinist.dev/made-by", "machinist"),
        pair("team", "a"),
        pair("owner", "infra"),
    ]
    .into();
    assert_eq!(tags(field.made(&machine).await.tags()), expected);
    let volumes = field.volumes(&machine.uid).await;
    assert_eq!(volumes.len(), 1);
    assert_eq!(tags(volumes[0].tags()), expected);
    assert_eq!(field.present(&machine).await.drift, None);
}

/// Each list by itself is short enough.
#[tokio::test]
async fn too_many_tags_are_refused_before_the_launch() {
    let field = Field::new().await;
    let many = |key: &str, count: usize| -> Vec<Value> {
        (0..count).map(|at| json!({ key: format!("{key}-{at}"), "value": "x" })).collect()
    };
    let host = |count: usize| {
        json!({ "placement": { "region": REGION, "tenancy": "host", "host": {
            "affinity": "DedicatedHost",
            "dedicatedHost": {
                "allocationStrategy": "Dynamic",
                "dynamicHostAllocation": { "tags": many("name", count) },
            },
        } } })
    };
    // One tag of the spec, and six of the owner.
    field.prepared(&host(43)).await;
    let refused = async |extra: &Value, expected: &str| {
        let error = field.cloud.prepare(&field.machine(extra)).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::InvalidConfiguration);
        assert!(error.message.starts_with(expected), "{}", error.message);
    };
    let path = "placement.host.dedicatedHost.dynamicHostAllocation.tags: 51 tags in total";
    refused(&host(44), path).await;
    refused(&host(45), &path.replace("51", "52")).await;
    field.platform.set(json!({ "resourceTags": many("key", 25) }));
    field.prepared(&json!({ "tags": many("name", 20) })).await;
    refused(&json!({ "tags": many("name", 21) }), "tags: 51 tags in total").await;
    for action in ["AllocateHosts", "RunInstances"] {
        assert!(field.front().calls_of(action).is_empty(), "{action}");
    }
}

#[tokio::test]
async fn a_profile_and_a_key_pair() {
    let field = Field::new().await;
    let name = field.machine(&json!({})).key.name.to_string();
    field.moto.create_key_pair().key_name(&name).send().await.unwrap();
    field.create_profile(&name).await;
    let extra = json!({ "iamInstanceProfile": { "id": name }, "keyName": name });
    let machine = field.created(&extra).await;
    assert_sent(&field.launch_on_the_wire(), &[("IamInstanceProfile.Name", &name)]);
    let made = field.made(&machine).await;
    assert_eq!(made.key_name(), Some(name.as_str()));
    let profile = made.iam_instance_profile().and_then(|profile| profile.arn());
    assert!(profile.is_some_and(|arn| arn.ends_with(&name)), "{profile:?}");
}

#[tokio::test]
async fn placement_groups_partitions_and_tenancy() {
    let field = Field::new().await;
    let extra = json!({
        "placementGroupName": "close",
        "placementGroupPartition": 3,
        "placement": { "region": REGION, "tenancy": "dedicated" },
    });
    let wire = launched(&field, &extra).await;
    let expected = [
        ("Placement.GroupName", "close"),
        ("Placement.PartitionNumber", "3"),
        ("Placement.Tenancy", "dedicated"),
    ];
    assert_sent(&wire, &expected);
    assert_not_sent(&wire, "Placement.Affinity");
}

/// Given hosts are tested with the allocated ones.
#[tokio::test]
async fn any_dedicated_host_will_do() {
    let field = Field::new().await;
    let host = json!({ "affinity": "AnyAvailable" });
    let placement = json!({ "region": REGION, "tenancy": "host", "host": host });
    let wire = launched(&field, &json!({ "placement": placement })).await;
    assert_sent(&wire, &[("Placement.Tenancy", "host"), ("Placement.Affinity", "default")]);
    assert_not_sent(&wire, "Placement.HostId");
    assert!(field.front().calls_of("AllocateHosts").is_empty());
}

#[tokio::test]
async fn spot_with_and_without_a_price() {
    for (options, price) in [(json!({ "maxPrice": "0.05" }), Some("0.05")), (json!({}), None)] {
        let field = Field::new().await;
        let machine = field.created(&json!({ "spotMarketOptions": options })).await;
        let wire = field.launch_on_the_wire();
        let expected = [
            ("InstanceMarketOptions.MarketType", "spot"),
            ("InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time"),
            ("InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior", "terminate"),
        ];
        assert_sent(&wire, &expected);
        let sent = wire.get("InstanceMarketOptions.SpotOptions.MaxPrice").map(String::as_str);
        assert_eq!(sent, price);
        assert!(field.present(&machine).await.interruptible);
    }
    let field = Field::new().await;
    let machine = field.created(&json!({})).await;
    assert!(!field.present(&machine).await.interruptible);
}

#[tokio::test]
async fn capacity_that_was_bought_or_reserved() {
    const ID: &str =
        "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId";
    let reservation = "cr-0123456789abcdef0";
    for (market, sent) in [("CapacityBlock", Some("capacity-block")), ("OnDemand", None)] {
        let field = Field::new().await;
        let extra = json!({ "marketType": market, "capacityReservationId": reservation });
        let wire = launched(&field, &extra).await;
        assert_sent(&wire, &[(ID, reservation)]);
        assert_eq!(wire.get("InstanceMarketOptions.MarketType").map(String::as_str), sent);
    }
}

#[tokio::test]
async fn the_metadata_service_with_and_without_tokens() {
    for (word, sent) in [("Required", "required"), ("Optional", "optional")] {
        let field = Field::new().await;
        let extra = json!({ "metadataServiceOptions": { "authentication": word } });
        let machine = field.created(&extra).await;
        assert_sent(&field.launch_on_the_wire(), &[("MetadataOptions.HttpTokens", sent)]);
        let made = field.made(&machine).await;
        let tokens = made.metadata_options().and_then(|options| options.http_tokens());
        assert_eq!(tokens.map(ToString::to_string).as_deref(), Some(sent));
    }
}

#[tokio::test]
async fn confidential_computing() {
    let cases = [("AMDEncryptedVirtualizationNestedPaging", "enabled"), ("Disabled", "disabled")];
    for (word, sent) in cases {
        let field = Field::new().await;
        let wire =
            launched(&field, &json!({ "cpuOptions": { "confidentialCompute": word } })).await;
        assert_sent(&wire, &[("CpuOptions.AmdSevSnp", sent)]);
    }
}
