//! EC2 calls for instances, images, networks and hosts. Every page is one counted call. Nothing is retried here.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{
    AutoPlacement, DhcpConfiguration, DhcpOptions, Filter, ResourceType, Tag, TagSpecification,
};
use machinist_aws_spec::config::{self, ResourceReference};
use machinist_provider::cloud::ownership::TAG_MACHINE_UID;

use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::launch::HostRequest;
use crate::messages;
use crate::quiet::quiet;

const PAGE: i32 = 1000;

pub(crate) const TAG_HOST_TOKEN: &str = "machinist.dev/host-token";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) id: String,
    pub(crate) root_device: Option<String>,
    /// RFC 3339, so that the latest is the greatest.
    pub(crate) created: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subnet {
    pub(crate) id: String,
    pub(crate) zone: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    pub(crate) id: String,
    pub(crate) token: Option<String>,
}

pub(crate) fn filter<V: Into<String>>(
    name: impl Into<String>,
    values: impl IntoIterator<Item = V>,
) -> Filter {
    let values = values.into_iter().map(Into::into).collect();
    Filter::builder().name(name).set_values(Some(values)).build()
}

fn filters(filters: &[config::Filter]) -> Vec<Filter> {
    filters.iter().map(|wanted| filter(&wanted.name, wanted.values.iter().cloned())).collect()
}

pub(crate) fn tagged(kind: ResourceType, tags: &BTreeMap<String, String>) -> TagSpecification {
    TagSpecification::builder().resource_type(kind).set_tags(Some(sdk_tags(tags))).build()
}

fn sdk_tags(tags: &BTreeMap<String, String>) -> Vec<Tag> {
    tags.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect()
}

impl Ec2 {
    /// By filter: one unknown id would fail a call by id.
    pub(crate) async fn instances(
        &self,
        filters: Vec<Filter>,
    ) -> Result<Vec<Ec2Instance>, AwsError> {
        let call = self.client.describe_instances().set_filters(Some(filters)).max_results(PAGE);
        let mut pages = call.into_paginator().send();
        let mut found = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            let page = self.record("DescribeInstances", page)?;
            for reservation in page.reservations() {
                let read = |instance| Ec2Instance::read(instance, reservation.owner_id());
                found.extend(reservation.instances().iter().filter_map(read));
            }
        }
        Ok(found)
    }

    pub(crate) async fn terminate(&self, ids: Vec<String>) -> Result<(), AwsError> {
        let call = self.client.terminate_instances().set_instance_ids(Some(ids));
        self.call("TerminateInstances", call.send()).await.map(drop)
    }

    pub(crate) async fn tag(
        &self,
        resource: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), AwsError> {
        let call = self.client.create_tags().resources(resource).set_tags(Some(sdk_tags(tags)));
        self.call("CreateTags", call.send()).await.map(drop)
    }

    /// By id or filters. By id, EC2 reports what is wrong with it.
    pub(crate) async fn images(&self, wanted: &ResourceReference) -> Result<Vec<Image>, AwsError> {
        let call = self.client.describe_images();
        let call = match wanted.id() {
            Some(id) => call.image_ids(id).include_deprecated(true),
            None => call.set_filters(Some(filters(&wanted.filters))),
        };
        let mut pages = call.into_paginator().send();
        let mut found = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            found.extend(self.record("DescribeImages", page)?.images().iter().filter_map(image));
        }
        Ok(found)
    }

    pub(crate) async fn security_groups(
        &self,
        wanted: &[config::Filter],
    ) -> Result<Vec<String>, AwsError> {
        let call = self.client.describe_security_groups().set_filters(Some(filters(wanted)));
        let mut pages = call.into_paginator().send();
        let mut found = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            let page = self.record("DescribeSecurityGroups", page)?;
            let ids = page.security_groups().iter().filter_map(|group| group.group_id());
            found.extend(ids.map(str::to_owned));
        }
        Ok(found)
    }

    pub(crate) async fn subnets(
        &self,
        wanted: &ResourceReference,
    ) -> Result<Vec<Subnet>, AwsError> {
        let call = self.client.describe_subnets();
        let call = match wanted.id() {
            Some(id) => call.subnet_ids(id),
            None => call.set_filters(Some(filters(&wanted.filters))),
        };
        let mut pages = call.into_paginator().send();
        let mut found = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            found.extend(self.record("DescribeSubnets", page)?.subnets().iter().filter_map(subnet));
        }
        Ok(found)
    }

    pub(crate) async fn is_wavelength(&self, zone: &str) -> Result<bool, AwsError> {
        let call = self.client.describe_availability_zones().zone_names(zone);
        let answer = self.call("DescribeAvailabilityZones", call.send()).await?;
        let mut kinds = answer.availability_zones().iter().filter_map(|zone| zone.zone_type());
        Ok(kinds.any(|kind| kind == "wavelength-zone"))
    }

    pub(crate) async fn domains(&self, vpc: &str) -> Result<Vec<String>, AwsError> {
        let call = self.client.describe_vpcs().filters(filter("vpc-id", [vpc]));
        let answer = self.call("DescribeVpcs", call.send()).await?;
        let Some(options) = answer.vpcs().iter().find_map(|vpc| vpc.dhcp_options_id()) else {
            return Ok(Vec::new());
        };
        let call = self.client.describe_dhcp_options();
        let call = call.filters(filter("dhcp-options-id", [options]));
        let answer = self.call("DescribeDhcpOptions", call.send()).await?;
        let settings = answer.dhcp_options().iter().flat_map(DhcpOptions::dhcp_configurations);
        let names = settings.filter(|setting| setting.key() == Some("domain-name"));
        let names = names.flat_map(DhcpConfiguration::values).filter_map(|value| value.value());
        Ok(names.flat_map(|names| names.split(' ')).map(str::to_owned).collect())
    }

    pub(crate) async fn allocate_host(&self, host: &HostRequest) -> Result<String, AwsError> {
        const OPERATION: &str = "AllocateHosts";
        let call = self
            .client
            .allocate_hosts()
            .client_token(&host.token)
            .availability_zone(&host.zone)
            .instance_type(&host.instance_type)
            .auto_placement(AutoPlacement::Off)
            .quantity(1)
            .tag_specifications(tagged(ResourceType::DedicatedHost, &host.tags));
        let answer = self.call(OPERATION, call.send()).await?;
        let id = answer.host_ids().first().cloned();
        id.ok_or_else(|| AwsError::incomplete(OPERATION, messages::NO_HOST_ID))
    }

    /// The filter is on the tag's key, because EC2 treats values as patterns.
    pub(crate) async fn hosts_of(&self, uid: &str) -> Result<Vec<Host>, AwsError> {
        let call = self.client.describe_hosts().filter(filter("tag-key", [TAG_MACHINE_UID]));
        let mut pages = call.into_paginator().send();
        let mut found = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            for host in self.record("DescribeHosts", page)?.hosts() {
                let state = host.state().map_or("", |state| state.as_str());
                let tag = |name| {
                    let tag = host.tags().iter().find(|tag| tag.key() == Some(name));
                    tag.and_then(|tag| tag.value())
                };
                let is_own = tag(TAG_MACHINE_UID) == Some(uid) && !state.starts_with("released");
                let Some(id) = host.host_id().filter(|_| is_own) else { continue };
                let token = tag(TAG_HOST_TOKEN).map(str::to_owned);
                found.push(Host { id: id.to_owned(), token });
            }
        }
        Ok(found)
    }

    pub(crate) async fn host_state(&self, id: &str) -> Result<Option<String>, AwsError> {
        let call = self.client.describe_hosts().host_ids(id);
        let answer = self.call("DescribeHosts", call.send()).await?;
        let state = answer.hosts().iter().find_map(|host| host.state());
        Ok(state.map(|state| state.as_str().to_owned()))
    }

    /// Code and message of a refusal; `None` if the host is released.
    pub(crate) async fn release_host(
        &self,
        id: &str,
    ) -> Result<Option<(String, String)>, AwsError> {
        let call = self.client.release_hosts().host_ids(id);
        let answer = self.call("ReleaseHosts", call.send()).await?;
        let refusal = answer.unsuccessful().iter().find_map(|item| item.error());
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        Ok(refusal.map(|error| (text(error.code()), text(error.message()))))
    }
}

fn image(image: &aws_sdk_ec2::types::Image) -> Option<Image> {
    Some(Image {
        id: image.image_id()?.to_owned(),
        root_device: image.root_device_name().map(str::to_owned),
        created: image.creation_date().unwrap_or_default().to_owned(),
    })
}

fn subnet(subnet: &aws_sdk_ec2::types::Subnet) -> Option<Subnet> {
    let zone = subnet.availability_zone()?.to_owned();
    Some(Subnet { id: subnet.subnet_id()?.to_owned(), zone })
}
