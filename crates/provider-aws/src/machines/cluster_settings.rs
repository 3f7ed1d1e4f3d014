//! The cluster-wide settings: `status.platformStatus` of OpenShift's Infrastructure.

use machinist_domain::retry::{Category, Failure, Retry};
use machinist_provider::cloud::CloudError;
use machinist_provider::platform::Platform;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::machines::Ec2Machines;
use crate::machines::errors::not_sent;
use crate::messages;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClusterSettings {
    resource_tags: Option<Vec<ResourceTag>>,
    ip_family: Option<IpFamily>,
    service_endpoints: Option<Vec<ServiceEndpoint>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ResourceTag {
    key: String,
    value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ServiceEndpoint {
    name: String,
    url: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum IpFamily {
    #[default]
    #[serde(rename = "IPv4")]
    Ipv4,
    #[serde(rename = "DualStackIPv4Primary")]
    DualStackIpv4Primary,
    #[serde(rename = "DualStackIPv6Primary")]
    DualStackIpv6Primary,
}

impl ClusterSettings {
    /// The current settings, or why they are not known.
    pub(crate) async fn of(platform: &dyn Platform) -> Result<Self, Failure> {
        let Some(status) = platform.status().await? else { return Ok(Self::default()) };
        Self::read(&status).map_err(|error| Failure {
            category: Category::Unexpected,
            retry: Retry::Backoff,
            message: messages::invalid_platform_status(&error),
        })
    }

    /// A setting that cannot be read is an error, because a launch without it would differ.
    fn read(status: &RawValue) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct PlatformStatus {
            aws: Option<ClusterSettings>,
        }
        let PlatformStatus { aws } = serde_json::from_str(status.get())?;
        Ok(aws.unwrap_or_default())
    }

    pub(crate) fn resource_tags(&self) -> impl Iterator<Item = (&String, &String)> {
        self.resource_tags.iter().flatten().map(|tag| (&tag.key, &tag.value))
    }

    pub(crate) fn ip_family(&self) -> IpFamily {
        self.ip_family.unwrap_or_default()
    }

    /// The custom endpoint of a service, as OpenShift names it.
    pub(crate) fn endpoint(&self, service: &str) -> Option<&str> {
        let mut endpoints = self.service_endpoints.iter().flatten();
        let endpoint = endpoints.find(|one| one.name == service && !one.url.is_empty())?;
        Some(&endpoint.url)
    }
}

impl Ec2Machines {
    pub(crate) async fn cluster_settings(&self) -> Result<ClusterSettings, CloudError> {
        ClusterSettings::of(&*self.parts.platform).await.map_err(not_sent)
    }
}

#[cfg(test)]
mod tests;
