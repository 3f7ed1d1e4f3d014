//! What a test owns in AWS: a network with two subnets in two zones, two images, a security group and the machines of
//! one cluster. Everything goes past the front, so reads show the real state; many estates share one moto.

mod balancers;
mod groups;
mod truth;
mod wire;

use anyhow::{Context, Result};
use serde_json::{Value, json};

pub use self::balancers::Balancers;
pub use self::groups::GroupFacts;
pub use self::truth::InstanceFacts;
use self::wire::Wire;
use crate::aws::Moto;

const CURRENT: &str = "current";

#[derive(Debug)]
pub struct Estate {
    wire: Wire,
    name: String,
    vpc: String,
    subnets: [String; 2],
    images: [String; 2],
    security_group: String,
}

impl Estate {
    /// `name` is the cluster's; it must be new in the region.
    pub async fn found(moto: &Moto, region: &str, name: &str) -> Result<Self> {
        let wire = Wire { upstream: moto.upstream(), region: region.to_owned() };
        let vpc = wire.ec2("CreateVpc", &[("CidrBlock", "10.0.0.0/16")]).await?;
        let vpc = vpc.text_at(&["vpc", "vpcId"]);
        let mut subnets = [String::new(), String::new()];
        let zones = [("a", "10.0.0.0/18"), ("b", "10.0.64.0/18")];
        for (subnet, (letter, range)) in subnets.iter_mut().zip(zones) {
            let zone = format!("{region}{letter}");
            let place = [("VpcId", &*vpc), ("AvailabilityZone", &zone), ("CidrBlock", range)];
            let made = wire.ec2("CreateSubnet", &place).await?;
            *subnet = made.text_at(&["subnet", "subnetId"]);
        }
        let group = [("GroupName", name), ("GroupDescription", name), ("VpcId", &vpc)];
        let group = wire.ec2("CreateSecurityGroup", &group).await?;
        let security_group = group.text_at(&["groupId"]);
        let mut images = [String::new(), String::new()];
        for (image, which) in images.iter_mut().zip(["one", "two"]) {
            let called = format!("{name}-{which}");
            let made = wire.ec2("RegisterImage", &[("Name", &called)]).await?;
            *image = made.text_at(&["imageId"]);
        }
        let estate = Self { wire, name: name.to_owned(), vpc, subnets, images, security_group };
        estate.point_to(0).await?;
        Ok(estate)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn changes(&self) -> u64 {
        self.wire.upstream.changes()
    }

    pub fn region(&self) -> &str {
        &self.wire.region
    }

    pub fn image(&self) -> &str {
        &self.images[0]
    }

    pub fn subnet(&self) -> &str {
        &self.subnets[0]
    }

    pub fn security_group(&self) -> &str {
        &self.security_group
    }

    /// A provider spec that names image and subnet by filters, with `extra` merged into its top level.
    pub fn spec(&self, extra: &Value) -> Value {
        let current = json!([{"name": format!("tag:{CURRENT}"), "values": [self.name]}]);
        let group = json!([{"name": "group-name", "values": [self.name]}]);
        let mut spec = json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "AWSMachineProviderConfig",
            "ami": {"filters": current},
            "instanceType": "m5.large",
            "placement": {"region": self.wire.region},
            "securityGroups": [{"filters": group}],
            "subnet": {"filters": current},
            "blockDevices": [{"ebs": {"volumeSize": 8}}],
            "tags": [{"name": "team", "value": "a"}],
        });
        for (field, value) in extra.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        spec
    }

    /// From now on the filters of the spec mean the other image, and the other subnet in another zone.
    pub async fn shift(&self) -> Result<()> {
        self.point_to(1).await
    }

    async fn point_to(&self, place: usize) -> Result<()> {
        let [here, gone] = [place, 1 - place].map(|at| [&self.images[at], &self.subnets[at]]);
        for resource in here {
            self.tag(resource, CURRENT, &self.name).await?;
        }
        for resource in gone {
            self.untag(resource, CURRENT).await?;
        }
        Ok(())
    }

    pub async fn tag(&self, resource: &str, key: &str, value: &str) -> Result<()> {
        let tag = [("ResourceId.1", resource), ("Tag.1.Key", key), ("Tag.1.Value", value)];
        self.wire.ec2("CreateTags", &tag).await.map(drop)
    }

    pub async fn untag(&self, resource: &str, key: &str) -> Result<()> {
        let tag = [("ResourceId.1", resource), ("Tag.1.Key", key)];
        self.wire.ec2("DeleteTags", &tag).await.map(drop)
    }

    /// As another client would, without a token.
    pub async fn launch(&self, tags: &[(&str, &str)]) -> Result<String> {
        let names: Vec<_> = (1..=tags.len())
            .map(|n| ["Key", "Value"].map(|part| format!("TagSpecification.1.Tag.{n}.{part}")))
            .collect();
        let mut parameters = vec![
            ("MinCount", "1"),
            ("MaxCount", "1"),
            ("ImageId", &*self.images[0]),
            ("InstanceType", "m5.large"),
            ("SubnetId", &*self.subnets[0]),
            ("TagSpecification.1.ResourceType", "instance"),
        ];
        for ([key, value], tag) in names.iter().zip(tags) {
            parameters.extend([(&**key, tag.0), (&**value, tag.1)]);
        }
        let made = self.wire.ec2("RunInstances", &parameters).await?;
        made.texts("instanceId").pop().context("RunInstances names no instance")
    }

    pub async fn stop(&self, id: &str) -> Result<()> {
        self.wire.ec2("StopInstances", &[("InstanceId.1", id)]).await.map(drop)
    }

    pub async fn terminate(&self, id: &str) -> Result<()> {
        self.wire.ec2("TerminateInstances", &[("InstanceId.1", id)]).await.map(drop)
    }
}
