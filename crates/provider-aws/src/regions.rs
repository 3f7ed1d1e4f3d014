//! Checks that a region exists and is enabled, with `DescribeRegions`: a wrong region otherwise shows only as a DNS
//! error, and a region that is not opted in as an authentication error.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified};
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::lookups::Lookups;
use machinist_provider::parts::Clock;

use crate::client::Connector;
use crate::ec2::RegionFacts;
use crate::errors::AwsError;
use crate::messages;

const KEEP: Duration = Duration::from_mins(30);

const ALWAYS_ON: &[&str] = &[
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "ca-central-1",
    "cn-north-1",
    "cn-northwest-1",
    "eu-central-1",
    "eu-north-1",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-gov-east-1",
    "us-gov-west-1",
    "us-iso-east-1",
    "us-iso-west-1",
    "us-isob-east-1",
    "us-west-1",
    "us-west-2",
];

/// Without permission for `DescribeRegions` these are accepted, and EC2 reports the error.
const OPT_IN: &[&str] = &[
    "af-south-1",
    "ap-east-1",
    "ap-east-2",
    "ap-south-2",
    "ap-southeast-3",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-west-1",
    "eu-central-2",
    "eu-south-1",
    "eu-south-2",
    "il-central-1",
    "me-central-1",
    "me-south-1",
    "mx-central-1",
];

const PARTITIONS: &[(&str, &str)] = &[
    ("cn-", "cn-north-1"),
    ("us-gov-", "us-gov-west-1"),
    ("us-isob-", "us-isob-east-1"),
    ("us-isof-", "us-isof-south-1"),
    ("us-iso-", "us-iso-east-1"),
    ("eu-isoe-", "eu-isoe-west-1"),
    ("eusc-", "eusc-de-east-1"),
];

fn listing_region(region: &str) -> &'static str {
    let partition = PARTITIONS.iter().find(|(start, _)| region.starts_with(start));
    partition.map_or("us-east-1", |(_, listing)| listing)
}

type List = Result<Arc<[RegionFacts]>, AwsError>;

#[derive(Debug)]
pub(crate) struct Regions {
    lists: Lookups<(Credentials, &'static str), List>,
}

impl Regions {
    pub(crate) fn new(clock: &Clock) -> Self {
        let ttl = |list: &List| if list.is_ok() { KEEP } else { Duration::ZERO };
        Self { lists: Lookups::new(clock, ttl) }
    }

    pub(crate) async fn validate(
        &self,
        access: &CloudAccess,
        connector: &Connector,
    ) -> Result<(), AwsError> {
        let region = &*access.region;
        if access.endpoint.is_some() || ALWAYS_ON.contains(&region) {
            return Ok(());
        }
        let key = (access.credentials.clone(), listing_region(region));
        let there = CloudAccess { region: key.1.into(), ..access.clone() };
        let list = async { Ok(connector.connect(&there).await?.regions().await?.into()) };
        match self.lists.get(key, list).await {
            Ok(regions) => find(region, &regions),
            Err(error)
                if error.category() == Category::Unauthorised && OPT_IN.contains(&region) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

fn find(region: &str, regions: &[RegionFacts]) -> Result<(), AwsError> {
    match regions.iter().find(|facts| facts.name == region) {
        None => Err(AwsError::NoSuchRegion(region.to_owned())),
        Some(facts) if !facts.opted_in => {
            Err(AwsError::invalid_access(messages::not_opted_in(region)))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_listed_within_their_partition() {
        let cases = [
            ("cn-south-9", "cn-north-1"),
            ("us-gov-north-1", "us-gov-west-1"),
            ("us-iso-east-9", "us-iso-east-1"),
            ("us-isob-west-1", "us-isob-east-1"),
            ("eusc-de-west-1", "eusc-de-east-1"),
            ("us-north-1", "us-east-1"),
            ("mx-central-1", "us-east-1"),
            ("", "us-east-1"),
        ];
        for (region, expected) in cases {
            assert_eq!(listing_region(region), expected, "{region}");
        }
    }

    #[test]
    fn the_tables_do_not_overlap() {
        assert!(ALWAYS_ON.is_sorted() && OPT_IN.is_sorted());
        assert!(OPT_IN.iter().all(|region| !ALWAYS_ON.contains(region)));
    }

    #[test]
    fn distinguishes_unknown_and_disabled_regions() {
        let facts = |name: &str, opted_in| RegionFacts { name: name.into(), opted_in };
        let regions = [facts("eu-south-1", false), facts("eu-south-2", true)];
        assert_eq!(find("eu-south-2", &regions), Ok(()));
        let off = find("eu-south-1", &regions).unwrap_err().to_string();
        assert!(off.starts_with("region eu-south-1 is not opted in"), "{off}");
        let wrong = find("eu-nowhere-1", &regions).unwrap_err().to_string();
        assert_eq!(wrong, "region eu-nowhere-1 is not a valid region");
    }
}
