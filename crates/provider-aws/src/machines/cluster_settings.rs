//! The cluster-wide settings for launches: `status.platformStatus` of OpenShift's Infrastructure.

use machinist_domain::retry::Failure;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::machines::Ec2Machines;
use crate::messages;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClusterSettings {
    /// Tags for all resources.
    pub(crate) resource_tags: Vec<(String, String)>,
    pub(crate) ip_family: IpFamily,
    pub(crate) load_balancing_endpoint: Option<String>,
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

#[derive(Default, Deserialize)]
#[serde(default)]
struct PlatformStatus {
    aws: Option<AwsPlatformStatus>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AwsPlatformStatus {
    resource_tags: Option<Vec<ResourceTag>>,
    ip_family: Option<IpFamily>,
    service_endpoints: Option<Vec<ServiceEndpoint>>,
}

#[derive(Deserialize)]
struct ResourceTag {
    key: String,
    value: String,
}

#[derive(Deserialize)]
struct ServiceEndpoint {
    name: String,
    url: String,
}

impl ClusterSettings {
    /// A setting that cannot be read is an error, because a launch without it would differ.
    fn read(status: &RawValue) -> Result<Self, serde_json::Error> {
        let PlatformStatus { aws } = serde_json::from_str(status.get())?;
        let aws = aws.unwrap_or_default();
        let tags = aws.resource_tags.unwrap_or_default().into_iter();
        let mut endpoints = aws.service_endpoints.unwrap_or_default().into_iter();
        let balancing = endpoints.find(|endpoint| endpoint.name == "elasticloadbalancing");
        Ok(Self {
            resource_tags: tags.map(|tag| (tag.key, tag.value)).collect(),
            ip_family: aws.ip_family.unwrap_or_default(),
            load_balancing_endpoint: balancing
                .map(|endpoint| endpoint.url)
                .filter(|url| !url.is_empty()),
        })
    }
}

impl Ec2Machines {
    pub(crate) async fn cluster_settings(&self) -> Result<ClusterSettings, CloudError> {
        let failed = |message: String| CloudError {
            effect: Effect::None,
            ..CloudError::new(ErrorClass::Unavailable, message)
        };
        let status = self.parts.platform.status().await;
        let Some(status) = status.map_err(|Failure { message, .. }| failed(message))? else {
            return Ok(ClusterSettings::default());
        };
        ClusterSettings::read(&status)
            .map_err(|error| failed(messages::invalid_platform_status(&error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ClusterSettings, serde_json::Error> {
        ClusterSettings::read(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn reads_openshift_platform_status() {
        let settings = read(
            r#"{"type": "AWS", "aws": {"region": "us-east-2", "ipFamily": "DualStackIPv6Primary",
                "resourceTags": [{"key": "a", "value": "b"}],
                "serviceEndpoints": [{"name": "ec2", "url": "https://x"},
                    {"name": "elasticloadbalancing", "url": "https://y"}]}}"#,
        );
        let expected = ClusterSettings {
            resource_tags: vec![("a".to_owned(), "b".to_owned())],
            ip_family: IpFamily::DualStackIpv6Primary,
            load_balancing_endpoint: Some("https://y".to_owned()),
        };
        assert_eq!(settings.unwrap(), expected);
        for nothing in
            ["{}", r#"{"type": "AWS", "aws": null}"#, r#"{"aws": {"resourceTags": null}}"#]
        {
            assert_eq!(read(nothing).unwrap(), ClusterSettings::default(), "{nothing}");
        }
    }

    #[test]
    fn unreadable_settings_are_an_error() {
        for text in [r#"{"aws": {"ipFamily": "IPv9"}}"#, r#"{"aws": {"resourceTags": [1]}}"#, "1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
