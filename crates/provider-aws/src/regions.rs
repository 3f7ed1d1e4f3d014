//! Is a region one that can be asked?
//!
//! A region that every account has, or one with an endpoint of its own, is taken as it is. Any other is looked up with
//! `DescribeRegions` in the partition that its name belongs to, because a wrong region shows only as a host name that does not resolve, and
//! one that is not opted in as a refusal that looks like bad credentials. Answers are kept for a while per identity.

use std::sync::Arc;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified};
use machinist_provider::capacity::{Credentials, Realm};
use machinist_provider::lookups::Lookups;
use machinist_provider::parts::Clock;

use crate::client::Connector;
use crate::ec2::RegionFacts;
use crate::errors::AwsError;

/// How long a list of regions is kept.
const KEEP: Duration = Duration::from_mins(30);

/// Regions that every account of their partition has.
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

/// Regions that exist, but that an account must switch on. If we may not ask, EC2 itself says whether this one did.
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

/// The start of a region's name, and the region that knows all regions of that partition.
const PARTITIONS: &[(&str, &str)] = &[
    ("cn-", "cn-north-1"),
    ("us-gov-", "us-gov-west-1"),
    ("us-isob-", "us-isob-east-1"),
    ("us-isof-", "us-isof-south-1"),
    ("us-iso-", "us-iso-east-1"),
    ("eu-isoe-", "eu-isoe-west-1"),
    ("eusc-", "eusc-de-east-1"),
];

/// The region whose endpoint lists all regions of the same partition.
fn listing_region(region: &str) -> &'static str {
    let partition = PARTITIONS.iter().find(|(start, _)| region.starts_with(start));
    partition.map_or("us-east-1", |(_, listing)| listing)
}

/// The regions of a partition, per identity.
#[derive(Debug)]
pub(crate) struct Regions {
    lists: Lookups<(Credentials, &'static str), Result<Arc<[RegionFacts]>, AwsError>>,
}

impl Regions {
    pub(crate) fn new(clock: &Clock) -> Self {
        let ttl = |list: &Result<_, _>| if list.is_ok() { KEEP } else { Duration::ZERO };
        Self { lists: Lookups::new(clock, ttl) }
    }

    /// Errs if the region does not exist or is not enabled for the account.
    pub(crate) async fn validate(
        &self,
        realm: &Realm,
        connector: &Connector,
    ) -> Result<(), AwsError> {
        let region = &*realm.region;
        if realm.endpoint.is_some() || ALWAYS_ON.contains(&region) {
            return Ok(());
        }
        let key = (realm.credentials.clone(), listing_region(region));
        let there = Realm { region: key.1.into(), ..realm.clone() };
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
        None => Err(AwsError::NoSuchRegion { region: region.to_owned() }),
        Some(facts) if !facts.opted_in => Err(AwsError::NotOptedIn { region: region.to_owned() }),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partition_is_asked_about_its_own_regions() {
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
    fn absent_and_not_opted_in_are_told_apart() {
        let facts = |name: &str, opted_in| RegionFacts { name: name.into(), opted_in };
        let regions = [facts("eu-south-1", false), facts("eu-south-2", true)];
        assert_eq!(find("eu-south-2", &regions), Ok(()));
        let off = find("eu-south-1", &regions).unwrap_err().to_string();
        assert_eq!(off, "region eu-south-1 is not opted in");
        let wrong = find("eu-nowhere-1", &regions).unwrap_err().to_string();
        assert_eq!(wrong, "region eu-nowhere-1 is not a valid region");
    }
}
