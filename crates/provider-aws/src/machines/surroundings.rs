//! What a cluster says about all of its machines alike (`status.platformStatus` of OpenShift's Infrastructure), as far as a launch needs it.

use machinist_domain::retry::Failure;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Ec2Machines;

/// What holds for every machine of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClusterFacts {
    /// Tags for everything that is made.
    pub(crate) resource_tags: Vec<(String, String)>,
    /// Which addresses machines have.
    pub(crate) ip_family: IpFamily,
    /// Where load balancing is, if not where it usually is.
    pub(crate) load_balancing_endpoint: Option<String>,
}

/// Which addresses machines have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum IpFamily {
    /// IPv4 alone.
    #[default]
    #[serde(rename = "IPv4")]
    Ipv4,
    /// Both, IPv4 first.
    #[serde(rename = "DualStackIPv4Primary")]
    DualStackIpv4Primary,
    /// Both, IPv6 first.
    #[serde(rename = "DualStackIPv6Primary")]
    DualStackIpv6Primary,
}

/// `status.platformStatus`.
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

impl ClusterFacts {
    /// Reads a platform status. What it says and is not understood is an error: a launch without it would be another one than was meant.
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
    /// What holds for every machine now.
    pub(super) async fn facts(&self) -> Result<ClusterFacts, CloudError> {
        let failed = |message: String| CloudError {
            effect: Effect::None,
            ..CloudError::new(ErrorClass::Unavailable, message)
        };
        let status = self.parts.platform.status().await;
        let Some(status) = status.map_err(|Failure { message, .. }| failed(message))? else {
            return Ok(ClusterFacts::default());
        };
        ClusterFacts::read(&status).map_err(|error| {
            failed(format!("the platform status of the infrastructure cluster: {error}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ClusterFacts, serde_json::Error> {
        ClusterFacts::read(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn what_openshift_says_is_read_and_the_rest_is_left() {
        let facts = read(
            r#"{"type": "AWS", "aws": {"region": "us-east-2", "ipFamily": "DualStackIPv6Primary",
                "resourceTags": [{"key": "a", "value": "b"}],
                "serviceEndpoints": [{"name": "ec2", "url": "https://x"},
                    {"name": "elasticloadbalancing", "url": "https://y"}]}}"#,
        );
        let expected = ClusterFacts {
            resource_tags: vec![("a".to_owned(), "b".to_owned())],
            ip_family: IpFamily::DualStackIpv6Primary,
            load_balancing_endpoint: Some("https://y".to_owned()),
        };
        assert_eq!(facts.unwrap(), expected);
        for nothing in
            ["{}", r#"{"type": "AWS", "aws": null}"#, r#"{"aws": {"resourceTags": null}}"#]
        {
            assert_eq!(read(nothing).unwrap(), ClusterFacts::default(), "{nothing}");
        }
    }

    #[test]
    fn what_is_not_understood_is_no_default() {
        for text in [r#"{"aws": {"ipFamily": "IPv9"}}"#, r#"{"aws": {"resourceTags": [1]}}"#, "1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
