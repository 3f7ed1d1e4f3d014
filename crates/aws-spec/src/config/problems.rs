//! Validates a spec without calls to AWS: one problem per field, with its path.
//!
//! Only what a launch needs is required. OpenShift's webhook requires more (an AMI id, both Secrets).

use machinist_provider::spec::Problem;

use super::formats::{
    is_balancer, is_device, is_id, is_instance_type, is_key, is_key_arn, is_object_name, is_price,
    is_profile, is_reservation, is_word,
};
use super::machine::{Filter, Market, ProviderConfig, ResourceReference, Tag};
use super::placement::{DedicatedHost, HostPlacement};
use super::volumes::{BlockDevice, Ebs};

/// EC2's limit. Tags of machinist and the cluster are counted when the launch is prepared.
const MOST_TAGS: usize = 50;
const VOLUME_TYPES: [&str; 7] = ["gp2", "gp3", "io1", "io2", "st1", "sc1", "standard"];

impl ProviderConfig {
    /// All problems, in the order of the fields.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Found::default();
        found.ami(&self.ami);
        found.one(!is_instance_type(&self.instance_type), "instanceType", || {
            required_or(&self.instance_type, "must be a type of EC2, such as m6i.large")
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
        found.when(roots > 1, "blockDevices", "only one may have no deviceName: the root volume");
        for (at, balancer) in self.load_balancers.iter().enumerate() {
            let path = format!("loadBalancers[{at}]");
            found.one(!is_balancer(&balancer.name), &format!("{path}.name"), || {
                required_or(&balancer.name, "must have 1 to 32 letters, digits and hyphens")
            });
            let unknown = !matches!(balancer.kind.as_str(), "classic" | "network");
            found.when(unknown, &format!("{path}.type"), "must be classic or network");
        }
        found.market(self);
        found.placement(self);
        found.words(self);
        found.0
    }
}

fn required_or(value: &str, wrong: &str) -> String {
    if value.is_empty() { "is required".to_owned() } else { format!("{wrong}, not {value:?}") }
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

    fn ami(&mut self, ami: &ResourceReference) {
        if let Some(id) = ami.id() {
            self.when(!is_id(id, "ami"), "ami.id", "must be ami- and 8 or 17 hex digits");
        } else {
            self.when(ami.filters.is_empty(), "ami.id", "is required, or ami.filters");
        }
        self.filters(&ami.filters, "ami.filters");
    }

    fn region(&mut self, config: &ProviderConfig) {
        let placement = &config.placement;
        self.one(!is_word(&placement.region), "placement.region", || {
            required_or(&placement.region, "must be the name of a region")
        });
        let zone = &placement.availability_zone;
        let wrong = !zone.is_empty() && !is_word(zone);
        self.when(wrong, "placement.availabilityZone", "must be the name of a zone");
    }

    fn tags(&mut self, tags: &[Tag], path: &str) {
        self.one(tags.len() > MOST_TAGS, path, || format!("there may be {MOST_TAGS} at most"));
        for (at, tag) in tags.iter().enumerate() {
            let length = tag.name.chars().count();
            let name = format!("{path}[{at}].name");
            self.when(!(1..=128).contains(&length), &name, "must have 1 to 128 characters");
            let reserved = tag.name.to_ascii_lowercase().starts_with("aws:");
            self.when(reserved, &name, "must not begin with aws:, which is AWS's own");
            let long = tag.value.chars().count() > 256;
            self.when(long, &format!("{path}[{at}].value"), "must have 256 characters at most");
        }
    }

    fn filters(&mut self, filters: &[Filter], path: &str) {
        for (at, filter) in filters.iter().enumerate() {
            self.when(filter.name.is_empty(), &format!("{path}[{at}].name"), "is required");
            let none = filter.values.is_empty();
            self.when(none, &format!("{path}[{at}].values"), "must have a value");
        }
    }

    fn references(&mut self, config: &ProviderConfig) {
        if let Some(profile) = &config.iam_instance_profile {
            let id = profile.id().unwrap_or_default();
            self.one(!is_profile(id), "iamInstanceProfile.id", || {
                required_or(id, "must be the name of an instance profile")
            });
        }
        let secrets = [
            ("userDataSecret.name", &config.user_data_secret),
            ("credentialsSecret.name", &config.credentials_secret),
        ];
        for (path, secret) in secrets {
            let Some(secret) = secret else { continue };
            self.one(!is_object_name(&secret.name), path, || {
                required_or(&secret.name, "must be the name of a Secret")
            });
        }
        let wrong = config.key_name.as_ref().is_some_and(|name| !(1..=255).contains(&name.len()));
        self.when(wrong, "keyName", "must be the name of a key pair, or left out");
        let wrong = config.placement_group_name.len() > 255;
        self.when(wrong, "placementGroupName", "must have 255 characters at most");
    }

    fn network(&mut self, config: &ProviderConfig) {
        let index = config.device_index;
        self.when(i32::try_from(index).is_err() || index < 0, "deviceIndex", "must be 0 or more");
        let kind = config.network_interface_type.as_str();
        let known = matches!(kind, "" | "ENA" | "EFA");
        self.when(!known, "networkInterfaceType", "must be ENA or EFA, or left out");
        for (at, group) in config.security_groups.iter().enumerate() {
            let path = format!("securityGroups[{at}]");
            if let Some(id) = group.id() {
                let wrong = !is_id(id, "sg");
                self.when(wrong, &format!("{path}.id"), "must be sg- and 8 or 17 hex digits");
            } else {
                self.when(group.filters.is_empty(), &path, "must have an id or filters");
            }
            self.filters(&group.filters, &format!("{path}.filters"));
        }
        let subnet = config.subnet.id().filter(|id| !is_id(id, "subnet"));
        self.when(subnet.is_some(), "subnet.id", "must be subnet- and 8 or 17 hex digits");
        self.filters(&config.subnet.filters, "subnet.filters");
    }

    fn device(&mut self, device: &BlockDevice, path: &str) {
        let Some(ebs) = &device.ebs else { return };
        let wrong = device.name().is_some_and(|name| !is_device(name));
        self.when(wrong, &format!("{path}.deviceName"), "must be a device, such as /dev/xvdb");
        let field = |name: &str| format!("{path}.ebs.{name}");
        let sizes = ebs.sizes();
        let wrong = ebs.volume_size.is_some_and(|size| !sizes.contains(&size));
        self.one(wrong, &field("volumeSize"), || {
            let of = ebs.kind().map(|kind| format!(" for {kind}")).unwrap_or_default();
            format!("must be {} to {} GiB{of}", sizes.start(), sizes.end())
        });
        let wrong = ebs.kind().is_some_and(|kind| !VOLUME_TYPES.contains(&kind));
        self.one(wrong, &field("volumeType"), || format!("must be one of {VOLUME_TYPES:?}"));
        let wrong = ebs.iops.is_some_and(|iops| i32::try_from(iops).is_err() || iops < 0);
        self.when(wrong, &field("iops"), "must be 0 or more");
        let bare =
            matches!(ebs.kind(), Some("io1" | "io2")) && ebs.iops.is_none_or(|iops| iops == 0);
        self.when(bare, &field("iops"), "is required by io1 and io2");
        self.throughput(ebs, &field("throughputMib"));
        let wrong = ebs.kms_key.id().is_some_and(|id| !is_key(id) && !is_key_arn(id));
        self.when(wrong, &field("kmsKey.id"), "must be the id or an alias of a key");
        let wrong = ebs.kms_key.arn().is_some_and(|arn| !is_key_arn(arn));
        self.when(wrong, &field("kmsKey.arn"), "must be the ARN of a key or of an alias");
    }

    fn throughput(&mut self, ebs: &Ebs, path: &str) {
        let Some(throughput) = ebs.throughput_mib else { return };
        match ebs.kind() {
            Some("gp3") => {
                let wrong = !(125..=2000).contains(&throughput);
                self.when(wrong, path, "must be 125 to 2000");
            }
            Some(_) => self.when(true, path, "is for gp3 only"),
            None => {}
        }
    }

    fn market(&mut self, config: &ProviderConfig) {
        let (market, spot) = (config.market_type.as_str(), config.spot_market_options.as_ref());
        let reservation = config.capacity_reservation_id.as_str();
        let known = matches!(market, "" | "OnDemand" | "Spot" | "CapacityBlock");
        self.when(!known, "marketType", "must be OnDemand, Spot or CapacityBlock, or left out");
        let clash = spot.is_some() && matches!(market, "OnDemand" | "CapacityBlock");
        self.one(clash, "marketType", || format!("{market} cannot go with spotMarketOptions"));
        let bare = market == "CapacityBlock" && reservation.is_empty();
        self.when(bare, "marketType", "CapacityBlock needs a capacityReservationId");
        let is_spot = matches!(config.market(), Some(Market::Spot { .. }));
        let both = is_spot && !reservation.is_empty();
        let place = if market.is_empty() { "capacityReservationId" } else { "marketType" };
        self.when(both, place, "a spot instance cannot use a capacity reservation");
        let wrong = !reservation.is_empty() && !is_reservation(reservation);
        self.when(wrong, "capacityReservationId", "must be cr- and 17 hex digits");
        let price = spot.and_then(|spot| spot.max_price.as_deref()).filter(|text| !text.is_empty());
        let wrong = price.is_some_and(|price| !is_price(price));
        self.when(wrong, "spotMarketOptions.maxPrice", "must be a decimal number above 0");
    }

    fn placement(&mut self, config: &ProviderConfig) {
        let tenancy = config.placement.tenancy.as_str();
        let known = matches!(tenancy, "" | "default" | "dedicated" | "host");
        self.when(!known, "placement.tenancy", "must be default, dedicated or host, or left out");
        if let Some(partition) = config.placement_group_partition {
            let path = "placementGroupPartition";
            self.when(!(1..=7).contains(&partition), path, "must be 1 to 7");
            let alone = config.placement_group_name.is_empty();
            self.when(alone, path, "needs a placementGroupName");
        }
        if let Some(host) = &config.placement.host {
            let elsewhere = tenancy != "host";
            self.when(elsewhere, "placement.host", "is for the tenancy host only");
            self.host(host);
        }
    }

    fn host(&mut self, host: &HostPlacement) {
        let path = "placement.host.affinity";
        match host.affinity.as_deref().unwrap_or("") {
            "" => self.when(true, path, "is required"),
            "AnyAvailable" => {
                let wrong = host.is_dynamic();
                self.when(wrong, path, "must be DedicatedHost where the host is Dynamic");
            }
            "DedicatedHost" => {}
            _ => self.when(true, path, "must be AnyAvailable or DedicatedHost"),
        }
        if let Some(dedicated) = &host.dedicated_host {
            self.dedicated(dedicated);
        } else {
            let path = "placement.host.dedicatedHost";
            self.when(host.is_bound(), path, "is required by the affinity DedicatedHost");
        }
    }

    fn dedicated(&mut self, host: &DedicatedHost) {
        let field = |name: &str| format!("placement.host.dedicatedHost.{name}");
        let id = host.id.as_deref().unwrap_or("");
        let tags = field("dynamicHostAllocation.tags");
        match host.allocation_strategy.as_deref().unwrap_or("") {
            "" | "UserProvided" => {
                self.one(!is_id(id, "h"), &field("id"), || {
                    required_or(id, "must be h- and 8 or 17 hex digits")
                });
                let dynamic = host.dynamic_host_allocation.is_some();
                let path = field("dynamicHostAllocation");
                self.when(dynamic, &path, "is for the strategy Dynamic only");
            }
            "Dynamic" => {
                let path = field("id");
                self.when(!id.is_empty(), &path, "must be left out with the strategy Dynamic");
                if let Some(dynamic) = &host.dynamic_host_allocation {
                    self.when(dynamic.tags.is_empty(), &tags, "must have a tag");
                    self.tags(&dynamic.tags, &tags);
                }
            }
            _ => {
                let path = field("allocationStrategy");
                self.when(true, &path, "must be UserProvided or Dynamic, or left out");
            }
        }
    }

    fn words(&mut self, config: &ProviderConfig) {
        let word = config.metadata_service_options.authentication.as_str();
        let known = matches!(word, "" | "Optional" | "Required");
        let path = "metadataServiceOptions.authentication";
        self.when(!known, path, "must be Optional or Required, or left out");
        if let Some(cpu) = &config.cpu_options {
            match cpu.confidential_compute {
                None => self.when(true, "cpuOptions", "must not be empty"),
                Some(_) => self.when(
                    cpu.sev_snp().is_none(),
                    "cpuOptions.confidentialCompute",
                    "must be Disabled or AMDEncryptedVirtualizationNestedPaging",
                ),
            }
        }
    }
}
