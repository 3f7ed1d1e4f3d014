//! Validates a spec without calls to AWS. Only what a launch needs is required; OpenShift's webhook requires more (an
//! AMI id, both Secrets).

use machinist_provider::spec::Problem;

use super::formats::{
    is_balancer, is_device, is_id, is_instance_type, is_key, is_key_arn, is_object_name, is_price,
    is_profile, is_reservation, is_word,
};
use super::machine::{Filter, Market, ProviderConfig, ResourceReference, Tag};
use super::placement::{DedicatedHost, HostPlacement};
use super::volumes::{BlockDevice, Ebs};
use crate::messages;

/// EC2's limit. Tags of machinist and the cluster are counted when the launch is prepared.
const MOST_TAGS: usize = 50;
const VOLUME_TYPES: [&str; 7] = ["gp2", "gp3", "io1", "io2", "st1", "sc1", "standard"];

impl ProviderConfig {
    /// All problems, in the order of the fields.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Found::default();
        found.ami(&self.ami);
        found.one(!is_instance_type(&self.instance_type), "instanceType", || {
            required_or(&self.instance_type, messages::TYPE)
        });
        found.region(self);
        found.tags(&self.tags, "tags");
        found.references(self);
        found.network(self);
        for (at, device) in self.block_devices.iter().enumerate() {
            found.device(device, &format!("blockDevices[{at}]"));
        }
        let nameless = self.block_devices.iter().filter(|device| device.ebs.is_some());
        let roots = nameless.filter(|device| device.name().is_none()).count();
        found.when(roots > 1, "blockDevices", messages::SECOND_ROOT);
        for (at, balancer) in self.load_balancers.iter().enumerate() {
            let path = format!("loadBalancers[{at}]");
            found.one(!is_balancer(&balancer.name), &format!("{path}.name"), || {
                required_or(&balancer.name, messages::LOAD_BALANCER)
            });
            let unknown = !matches!(balancer.kind.as_str(), "classic" | "network");
            found.one(unknown, &format!("{path}.type"), || {
                required_or(&balancer.kind, messages::LOAD_BALANCER_TYPE)
            });
        }
        found.market(self);
        found.placement(self);
        found.words(self);
        found.0
    }
}

fn required_or(value: &str, wrong: &str) -> String {
    if value.is_empty() {
        messages::REQUIRED.to_owned()
    } else {
        messages::got(wrong, format_args!("{value:?}"))
    }
}

#[derive(Default)]
struct Found(Vec<Problem>);

impl Found {
    fn one(&mut self, wrong: bool, path: &str, message: impl FnOnce() -> String) {
        if wrong {
            self.0.push(Problem::at(path, message()));
        }
    }

    fn when(&mut self, wrong: bool, path: &str, message: &str) {
        self.one(wrong, path, || message.to_owned());
    }

    fn id(&mut self, id: &str, prefix: &str, path: &str) {
        self.one(!is_id(id, prefix), path, || required_or(id, &messages::id(prefix)));
    }

    fn choice(&mut self, value: &str, path: &str, allowed: &[&str]) {
        let wrong = !value.is_empty() && !allowed.contains(&value);
        self.one(wrong, path, || required_or(value, &messages::choice(allowed)));
    }

    fn ami(&mut self, ami: &ResourceReference) {
        if let Some(id) = ami.id() {
            self.id(id, "ami", "ami.id");
        } else {
            self.when(ami.filters.is_empty(), "ami.id", messages::NO_IMAGE);
        }
        self.filters(&ami.filters, "ami.filters");
    }

    fn region(&mut self, config: &ProviderConfig) {
        let placement = &config.placement;
        self.one(!is_word(&placement.region), "placement.region", || {
            required_or(&placement.region, messages::REGION)
        });
        let zone = &placement.availability_zone;
        let wrong = !zone.is_empty() && !is_word(zone);
        self.one(wrong, "placement.availabilityZone", || required_or(zone, messages::ZONE));
    }

    fn tags(&mut self, tags: &[Tag], path: &str) {
        self.one(tags.len() > MOST_TAGS, path, || {
            messages::got(&messages::too_many(MOST_TAGS), tags.len())
        });
        for (at, tag) in tags.iter().enumerate() {
            let length = tag.name.chars().count();
            let name = format!("{path}[{at}].name");
            self.one(!(1..=128).contains(&length), &name, || {
                messages::got_length(messages::TAG_NAME, length)
            });
            let reserved = tag.name.to_ascii_lowercase().starts_with("aws:");
            self.one(reserved, &name, || required_or(&tag.name, messages::RESERVED_TAG));
            self.longest(tag.value.chars().count(), 256, &format!("{path}[{at}].value"));
        }
    }

    fn filters(&mut self, filters: &[Filter], path: &str) {
        for (at, filter) in filters.iter().enumerate() {
            self.when(filter.name.is_empty(), &format!("{path}[{at}].name"), messages::REQUIRED);
            let none = filter.values.is_empty();
            self.when(none, &format!("{path}[{at}].values"), messages::NO_VALUE);
        }
    }

    fn references(&mut self, config: &ProviderConfig) {
        if let Some(profile) = &config.iam_instance_profile {
            let id = profile.id().unwrap_or_default();
            self.one(!is_profile(id), "iamInstanceProfile.id", || {
                required_or(id, messages::PROFILE)
            });
        }
        let secrets = [
            ("userDataSecret.name", &config.user_data_secret),
            ("credentialsSecret.name", &config.credentials_secret),
        ];
        for (path, secret) in secrets {
            let Some(secret) = secret else { continue };
            self.one(!is_object_name(&secret.name), path, || {
                required_or(&secret.name, messages::SECRET)
            });
        }
        if let Some(length) = config.key_name.as_ref().map(String::len) {
            let wrong = !(1..=255).contains(&length);
            self.one(wrong, "keyName", || messages::got_length(messages::KEY_PAIR, length));
        }
        self.longest(config.placement_group_name.len(), 255, "placementGroupName");
    }

    fn longest(&mut self, length: usize, most: usize, path: &str) {
        self.one(length > most, path, || messages::got_length(&messages::longest(most), length));
    }

    /// Counts that EC2 takes as 32 bits.
    fn count(&mut self, count: i64, path: &str) {
        let wrong = i32::try_from(count).is_err() || count < 0;
        self.one(wrong, path, || messages::got(messages::NEGATIVE, count));
    }

    fn network(&mut self, config: &ProviderConfig) {
        self.count(config.device_index, "deviceIndex");
        self.choice(&config.network_interface_type, "networkInterfaceType", &["ENA", "EFA"]);
        for (at, group) in config.security_groups.iter().enumerate() {
            let path = format!("securityGroups[{at}]");
            if let Some(id) = group.id() {
                self.id(id, "sg", &format!("{path}.id"));
            } else {
                self.when(group.filters.is_empty(), &path, messages::NO_SECURITY_GROUP);
            }
            self.filters(&group.filters, &format!("{path}.filters"));
        }
        if let Some(id) = config.subnet.id() {
            self.id(id, "subnet", "subnet.id");
        }
        self.filters(&config.subnet.filters, "subnet.filters");
    }

    fn device(&mut self, device: &BlockDevice, path: &str) {
        let Some(ebs) = &device.ebs else { return };
        let name = device.name().unwrap_or_default();
        let wrong = !name.is_empty() && !is_device(name);
        self.one(wrong, &format!("{path}.deviceName"), || required_or(name, messages::DEVICE));
        let field = |name: &str| format!("{path}.ebs.{name}");
        let sizes = ebs.sizes();
        if let Some(size) = ebs.volume_size {
            self.one(!sizes.contains(&size), &field("volumeSize"), || {
                let of = ebs.kind().map(|kind| format!(" for {kind}")).unwrap_or_default();
                let most = format_args!("{} GiB{of}", sizes.end());
                messages::got(&messages::between(sizes.start(), most), size)
            });
        }
        self.choice(ebs.kind().unwrap_or(""), &field("volumeType"), &VOLUME_TYPES);
        if let Some(iops) = ebs.iops {
            self.count(iops, &field("iops"));
        }
        let bare =
            matches!(ebs.kind(), Some("io1" | "io2")) && ebs.iops.is_none_or(|iops| iops == 0);
        self.when(bare, &field("iops"), messages::NO_IOPS);
        self.throughput(ebs, &field("throughputMib"));
        if let Some(id) = ebs.kms_key.id() {
            let wrong = !is_key(id) && !is_key_arn(id);
            self.one(wrong, &field("kmsKey.id"), || required_or(id, messages::KEY));
        }
        if let Some(arn) = ebs.kms_key.arn() {
            let wrong = !is_key_arn(arn);
            self.one(wrong, &field("kmsKey.arn"), || required_or(arn, messages::KEY_ARN));
        }
    }

    fn throughput(&mut self, ebs: &Ebs, path: &str) {
        let Some(throughput) = ebs.throughput_mib else { return };
        match ebs.kind() {
            Some("gp3") => {
                let wrong = !(125..=2000).contains(&throughput);
                self.one(wrong, path, || messages::got(&messages::between(125, 2000), throughput));
            }
            Some(kind) => self.one(true, path, || messages::gp3_only(kind)),
            None => {}
        }
    }

    fn market(&mut self, config: &ProviderConfig) {
        let (market, spot) = (config.market_type.as_str(), config.spot_market_options.as_ref());
        let reservation = config.capacity_reservation_id.as_str();
        self.choice(market, "marketType", &["OnDemand", "Spot", "CapacityBlock"]);
        let clash = spot.is_some() && matches!(market, "OnDemand" | "CapacityBlock");
        self.one(clash, "marketType", || messages::spot_options(market));
        let bare = market == "CapacityBlock" && reservation.is_empty();
        self.when(bare, "marketType", messages::NO_RESERVATION);
        let is_spot = matches!(config.market(), Some(Market::Spot { .. }));
        let both = is_spot && !reservation.is_empty();
        let place = if market.is_empty() { "capacityReservationId" } else { "marketType" };
        self.when(both, place, messages::SPOT_RESERVATION);
        let wrong = !reservation.is_empty() && !is_reservation(reservation);
        self.one(wrong, "capacityReservationId", || {
            required_or(reservation, messages::RESERVATION)
        });
        let price = spot.and_then(|spot| spot.max_price.as_deref()).unwrap_or_default();
        let wrong = !price.is_empty() && !is_price(price);
        self.one(wrong, "spotMarketOptions.maxPrice", || required_or(price, messages::PRICE));
    }

    fn placement(&mut self, config: &ProviderConfig) {
        let tenancy = config.placement.tenancy.as_str();
        self.choice(tenancy, "placement.tenancy", &["default", "dedicated", "host"]);
        if let Some(partition) = config.placement_group_partition {
            let path = "placementGroupPartition";
            self.one(!(1..=7).contains(&partition), path, || {
                messages::got(&messages::between(1, 7), partition)
            });
            let alone = config.placement_group_name.is_empty();
            self.when(alone, path, messages::NO_PLACEMENT_GROUP);
        }
        if let Some(host) = &config.placement.host {
            let elsewhere = tenancy != "host";
            self.when(elsewhere, "placement.host", messages::HOST_TENANCY_ONLY);
            self.host(host);
        }
    }

    fn host(&mut self, host: &HostPlacement) {
        let path = "placement.host.affinity";
        match host.affinity.as_deref().unwrap_or("") {
            "" => self.when(true, path, messages::NO_AFFINITY),
            "AnyAvailable" => {
                let wrong = host.is_dynamic();
                self.when(wrong, path, messages::DYNAMIC_AFFINITY);
            }
            "DedicatedHost" => {}
            other => self.one(true, path, || required_or(other, messages::AFFINITY)),
        }
        if let Some(dedicated) = &host.dedicated_host {
            self.dedicated(dedicated);
        } else {
            let path = "placement.host.dedicatedHost";
            self.when(host.is_bound(), path, messages::NO_HOST);
        }
    }

    fn dedicated(&mut self, host: &DedicatedHost) {
        let field = |name: &str| format!("placement.host.dedicatedHost.{name}");
        let id = host.id.as_deref().unwrap_or("");
        let tags = field("dynamicHostAllocation.tags");
        match host.allocation_strategy.as_deref().unwrap_or("") {
            "" | "UserProvided" => {
                self.one(!is_id(id, "h"), &field("id"), || required_or(id, &messages::id("h")));
                let dynamic = host.dynamic_host_allocation.is_some();
                let path = field("dynamicHostAllocation");
                self.when(dynamic, &path, messages::DYNAMIC_ONLY);
            }
            "Dynamic" => {
                let path = field("id");
                self.when(!id.is_empty(), &path, messages::DYNAMIC_WITH_ID);
                if let Some(dynamic) = &host.dynamic_host_allocation {
                    self.when(dynamic.tags.is_empty(), &tags, messages::NO_TAG);
                    self.tags(&dynamic.tags, &tags);
                }
            }
            other => {
                let path = field("allocationStrategy");
                self.choice(other, &path, &["UserProvided", "Dynamic"]);
            }
        }
    }

    fn words(&mut self, config: &ProviderConfig) {
        let word = config.metadata_service_options.authentication.as_str();
        let path = "metadataServiceOptions.authentication";
        self.choice(word, path, &["Optional", "Required"]);
        if let Some(cpu) = &config.cpu_options {
            match cpu.confidential_compute.as_deref() {
                None => self.when(true, "cpuOptions", messages::NO_CPU_OPTION),
                Some(value) => {
                    let path = "cpuOptions.confidentialCompute";
                    self.one(cpu.sev_snp().is_none(), path, || {
                        messages::got(messages::CONFIDENTIAL, format_args!("{value:?}"))
                    });
                }
            }
        }
    }
}
