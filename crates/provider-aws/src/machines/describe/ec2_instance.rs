//! An EC2 instance without the SDK's structures, which are large.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{Instance, InstanceLifecycleType, NetworkInterfaceStatus};
use jiff::Timestamp;
use machinist_provider::cloud::InstanceState;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ec2Instance {
    pub(crate) id: String,
    pub(crate) account: Option<String>,
    pub(crate) token: String,
    pub(crate) state: String,
    pub(crate) reason: Option<String>,
    pub(crate) zone: String,
    pub(crate) instance_type: String,
    pub(crate) launched: Option<Timestamp>,
    pub(crate) is_spot: bool,
    pub(crate) host: Option<String>,
    pub(crate) vpc: Option<String>,
    pub(crate) tags: BTreeMap<String, String>,
    /// Of the interfaces in use: for each one IPv6 first, then IPv4.
    pub(crate) internal: Vec<String>,
    pub(crate) private_ip: Option<String>,
    pub(crate) public_ip: Option<String>,
    pub(crate) private_dns: Option<String>,
    pub(crate) public_dns: Option<String>,
}

impl Ec2Instance {
    pub(crate) fn read(instance: &Instance, account: Option<&str>) -> Option<Self> {
        let text = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        let placement = instance.placement();
        let state = instance.state().and_then(|state| state.name());
        let tags = instance.tags().iter().filter_map(|tag| {
            Some((tag.key()?.to_owned(), tag.value().unwrap_or_default().to_owned()))
        });
        Some(Self {
            id: text(instance.instance_id())?,
            account: text(account),
            token: instance.client_token().unwrap_or_default().to_owned(),
            state: state.map(|state| state.as_str().to_owned()).unwrap_or_default(),
            reason: reason(instance),
            zone: placement.and_then(|at| text(at.availability_zone())).unwrap_or_default(),
            instance_type: instance.instance_type().map(ToString::to_string).unwrap_or_default(),
            launched: instance
                .launch_time()
                .and_then(|time| Timestamp::from_second(time.secs()).ok()),
            is_spot: instance.instance_lifecycle() == Some(&InstanceLifecycleType::Spot),
            host: placement.and_then(|at| text(at.host_id())),
            vpc: text(instance.vpc_id()),
            tags: tags.collect(),
            internal: internal(instance),
            private_ip: text(instance.private_ip_address()),
            public_ip: text(instance.public_ip_address()),
            private_dns: text(instance.private_dns_name()),
            public_dns: text(instance.public_dns_name()),
        })
    }

    pub(crate) fn state(&self) -> InstanceState {
        match self.state.as_str() {
            "running" => InstanceState::Running,
            "stopping" | "stopped" => InstanceState::Stopped,
            "shutting-down" => InstanceState::Terminating,
            "terminated" => InstanceState::Terminated,
            _ => InstanceState::Pending,
        }
    }

    pub(crate) fn exists(&self) -> bool {
        self.state().exists()
    }

    pub(crate) fn tag(&self, name: &str) -> Option<&str> {
        self.tags.get(name).map(String::as_str)
    }

    pub(crate) fn provider_id(&self) -> String {
        format!("aws:///{}/{}", self.zone, self.id)
    }
}

fn reason(instance: &Instance) -> Option<String> {
    let reason = instance.state_reason().and_then(|reason| reason.message());
    let reason = reason.or_else(|| instance.state_transition_reason());
    reason.filter(|reason| !reason.is_empty()).map(str::to_owned)
}

fn internal(instance: &Instance) -> Vec<String> {
    let mut addresses = Vec::new();
    for interface in instance.network_interfaces() {
        if interface.status() != Some(&NetworkInterfaceStatus::InUse) {
            continue;
        }
        let ipv6 = interface.ipv6_addresses().iter().filter_map(|address| address.ipv6_address());
        let ipv4 = interface.private_ip_addresses().iter();
        let ipv4 = ipv4.filter_map(|address| address.private_ip_address());
        addresses.extend(ipv6.chain(ipv4).map(str::to_owned));
    }
    addresses
}
