//! Builds a launch from a spec and its resolved values. Pure.

use machinist_aws_spec::config::{BlockDevice, CpuOptions, HostPlacement, ProviderConfig};
use machinist_provider::cloud::MachineRef;

use crate::machines::calls::TAG_HOST_TOKEN;
use crate::machines::cluster_settings::{ClusterSettings, IpFamily};
use crate::machines::launch::resolve::Resolved;
use crate::machines::launch::{HostRequest, Launch, Place, Volume, known_host, token};
use crate::machines::tags;

/// For credentials that cannot list hosts. Hosts of older attempts are released: a refused attempt ends only then.
const EARLIER_HOSTS: usize = 2;

pub(crate) fn assemble(
    machine: &MachineRef,
    config: &ProviderConfig,
    resolved: Resolved,
    settings: &ClusterSettings,
) -> Launch {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let profile = config.iam_instance_profile.as_ref().and_then(|profile| profile.id());
    let public_ip = config.public_ip;
    let volumes = config.block_devices.iter();
    let root = resolved.root_device.as_deref().unwrap_or_default();
    let placement = place(machine, config, &resolved, settings);
    Launch {
        volumes: volumes.filter_map(|device| volume(device, root)).collect(),
        image: resolved.image,
        instance_type: config.instance_type.clone(),
        subnet: resolved.subnet.id,
        zone: resolved.subnet.zone,
        elsewhere: resolved.elsewhere,
        other_subnets: resolved.other_subnets,
        security_groups: resolved.security_groups,
        device_index: i32::try_from(config.device_index).unwrap_or_default(),
        interface: match config.network_interface_type.as_str() {
            "EFA" => text("efa"),
            "ENA" => text("interface"),
            _ => None,
        },
        public_ip: public_ip.filter(|_| !resolved.is_wavelength),
        carrier_ip: public_ip.filter(|_| resolved.is_wavelength),
        primary_ipv6: settings.ip_family() == IpFamily::DualStackIpv6Primary,
        dual_stack: settings.ip_family() != IpFamily::Ipv4,
        user_data_secret: config.user_data_secret().and_then(text),
        key_name: config.key_name.as_deref().and_then(text),
        profile: profile.and_then(text),
        tags: tags::wanted(machine, &config.tags, settings),
        placement,
        market: config.market(),
        capacity_reservation: text(&config.capacity_reservation_id),
        http_tokens: text(&config.metadata_service_options.authentication.to_ascii_lowercase()),
        sev_snp: config.cpu_options.as_ref().and_then(CpuOptions::sev_snp),
        former_hosts: former_hosts(machine),
        earlier_hosts: earlier_hosts(machine),
        ..Launch::new(machine)
    }
}

/// A volume without a name is the root volume. Entries without a volume are ignored.
fn volume(device: &BlockDevice, root: &str) -> Option<Volume> {
    let ebs = device.ebs.as_ref()?;
    let narrow = |number: i64| i32::try_from(number).ok();
    Some(Volume {
        device: device.name().unwrap_or(root).to_owned(),
        gib: ebs.volume_size.and_then(narrow),
        kind: ebs.kind().map(str::to_owned),
        iops: ebs.iops().and_then(narrow),
        throughput: ebs.throughput(),
        encrypted: ebs.encrypted,
        kms_key: ebs.kms_key().map(str::to_owned),
    })
}

fn place(
    machine: &MachineRef,
    config: &ProviderConfig,
    resolved: &Resolved,
    settings: &ClusterSettings,
) -> Place {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let placement = &config.placement;
    let host = placement.host.as_ref();
    let affinity = host.map(|host| if host.is_bound() { "host" } else { "default" }.to_owned());
    let own = host.filter(|host| host.is_dynamic());
    Place {
        zone: text(&resolved.subnet.zone).filter(|_| config.subnet.id().is_none()),
        group: text(&config.placement_group_name),
        partition: config.placement_group_partition,
        tenancy: text(&placement.tenancy),
        affinity,
        host: host.and_then(HostPlacement::provided).map(str::to_owned),
        own_host: own.map(|host| {
            let token = format!("{}-host", token(machine));
            let spec = [host.tags(), config.tags.as_slice()].concat();
            let mut tags = tags::wanted(machine, &spec, settings);
            tags.insert(TAG_HOST_TOKEN.to_owned(), token.clone());
            HostRequest {
                token,
                zone: resolved.subnet.zone.clone(),
                instance_type: config.instance_type.clone(),
                tags,
            }
        }),
    }
}

/// Hosts that are known by id: another controller's host has no tags to find it by.
fn former_hosts(machine: &MachineRef) -> Vec<String> {
    let before = Launch::stored(&machine.status);
    let mut hosts = before.map(|before| before.former_hosts).unwrap_or_default();
    let known = known_host(machine).map(str::to_owned);
    hosts.extend(known.filter(|known| !hosts.contains(known)));
    hosts
}

fn earlier_hosts(machine: &MachineRef) -> Vec<HostRequest> {
    let Some(before) = Launch::stored(&machine.status) else { return Vec::new() };
    let mut hosts = before.earlier_hosts;
    let own = before.placement.own_host.filter(|_| before.attempt != machine.attempt);
    hosts.extend(own);
    hosts.drain(..hosts.len().saturating_sub(EARLIER_HOSTS));
    hosts
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use machinist_domain::key::{ObjectKey, Uid};
    use machinist_provider::access::{CloudAccess, Credentials};
    use machinist_provider::cloud::ProviderStatus;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;
    use crate::machines::calls::Subnet;

    fn machine(attempt: u32, status: ProviderStatus) -> MachineRef {
        MachineRef {
            key: ObjectKey::new("ns", "worker-1"),
            uid: Uid("uid-1".into()),
            attempt,
            cluster: "c1".into(),
            cluster_label: None,
            access: CloudAccess {
                region: "us-east-1".into(),
                credentials: Credentials::Ambient,
                endpoint: None,
                ca_bundle: None,
            },
            spec: RawValue::from_string("{}".to_owned()).unwrap().into(),
            provider_id: None,
            status,
            created: Timestamp::UNIX_EPOCH,
        }
    }

    fn launch(machine: &MachineRef, spec: &Value, is_wavelength: bool) -> Launch {
        let spec = RawValue::from_string(spec.to_string()).unwrap();
        let resolved = Resolved {
            image: "ami-1".to_owned(),
            root_device: None,
            security_groups: vec!["sg-1".to_owned()],
            subnet: Subnet { id: "subnet-1".to_owned(), zone: "us-east-1-wl1".to_owned() },
            elsewhere: false,
            other_subnets: false,
            is_wavelength,
        };
        let config = ProviderConfig::read(&spec).unwrap();
        assemble(machine, &config, resolved, &ClusterSettings::default())
    }

    #[test]
    fn public_address_is_a_carrier_address_in_a_wavelength_zone() {
        let machine = machine(1, ProviderStatus::default());
        let addresses = |spec: Value, is_wavelength| {
            let launch = launch(&machine, &spec, is_wavelength);
            (launch.public_ip, launch.carrier_ip)
        };
        assert_eq!(addresses(json!({ "publicIp": true }), false), (Some(true), None));
        assert_eq!(addresses(json!({ "publicIp": true }), true), (None, Some(true)));
        assert_eq!(addresses(json!({ "publicIp": false }), false), (Some(false), None));
        assert_eq!(addresses(json!({}), true), (None, None));
    }

    #[test]
    fn stored_launch_is_read_back() {
        let first = machine(1, ProviderStatus::default());
        let host = json!({ "affinity": "DedicatedHost", "dedicatedHost": { "allocationStrategy": "Dynamic" } });
        let spec =
            json!({ "placement": { "tenancy": "host", "host": host }, "spotMarketOptions": {} });
        let made = launch(&first, &spec, false);
        assert_eq!((made.token.as_str(), made.attempt), ("uid-1-1", 1));
        let status = made.clone().into_status(&first).unwrap();
        assert_eq!(Launch::stored(&status), Some(made.clone()));

        let again = launch(&machine(1, status.clone()), &spec, false);
        assert_eq!(again, made);
        let second = launch(&machine(2, status), &spec, false);
        assert_eq!(second.token, "uid-1-2");
        assert_eq!(second.earlier_hosts, [made.placement.own_host.unwrap()]);
    }

    #[test]
    fn known_host_is_kept_across_attempts() {
        let known = json!({ "dedicatedHost": { "id": "h-0" } });
        let mut status = ProviderStatus(known.as_object().unwrap().clone());
        for attempt in 1..=3 {
            let machine = machine(attempt, status);
            let launch = launch(&machine, &json!({}), false);
            assert_eq!(launch.former_hosts, ["h-0"]);
            status = launch.into_status(&machine).unwrap();
        }
    }

    #[test]
    fn keeps_the_host_requests_of_two_attempts() {
        let host = json!({ "affinity": "DedicatedHost", "dedicatedHost": { "allocationStrategy": "Dynamic" } });
        let spec = json!({ "placement": { "tenancy": "host", "host": host } });
        let mut status = ProviderStatus::default();
        for attempt in 1..=50 {
            let machine = machine(attempt, status);
            status = launch(&machine, &spec, false).into_status(&machine).unwrap();
        }
        let kept = Launch::stored(&status).unwrap().earlier_hosts;
        let tokens: Vec<_> = kept.iter().map(|host| host.token.as_str()).collect();
        assert_eq!(tokens, ["uid-1-48-host", "uid-1-49-host"]);
        assert_eq!(kept[1].tags[TAG_HOST_TOKEN], "uid-1-49-host");
    }
}
