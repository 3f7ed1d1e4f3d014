//! Is a region one that can be asked?
//!
//! A region that every account has, or one with an endpoint of its own, is taken as it is. Any other is looked up with
//! `DescribeRegions` in the partition that its name belongs to, because a wrong region shows only as a host name that does not resolve, and
//! one that is not opted in as a refusal that looks like bad credentials. Answers are kept for a while per identity.

use std::collections::HashMap;
use std::time::Duration;

use machinist_domain::retry::{Category, Classified};
use machinist_provider::capacity::{Credentials, Realm};
use parking_lot::Mutex;

use crate::client::Connector;
use crate::ec2::RegionFacts;
use crate::errors::AwsError;

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

/// Whom to ask about a region.
fn spokesman(region: &str) -> &'static str {
    let partition = PARTITIONS.iter().find(|(start, _)| region.starts_with(start));
    partition.map_or("us-east-1", |(_, spokesman)| spokesman)
}

type Asked = (Credentials, &'static str);

/// What is known about regions.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    lists: Mutex<HashMap<Asked, List>>,
}

#[derive(Debug)]
struct List {
    regions: Vec<RegionFacts>,
    until: Duration,
}

impl Regions {
    /// Errs if the realm's region is none that can be asked. `now` is uptime; `keep` says how long an answer holds.
    pub(crate) async fn validate(
        &self,
        realm: &Realm,
        connector: &Connector,
        now: Duration,
        keep: Duration,
    ) -> Result<(), AwsError> {
        let region = &*realm.region;
        if realm.endpoint.is_some() || ALWAYS_ON.contains(&region) {
            return Ok(());
        }
        let asked = (realm.credentials.clone(), spokesman(region));
        if let Some(verdict) = self.known(&asked, region, now) {
            return verdict;
        }
        let there = Realm { region: asked.1.into(), ..realm.clone() };
        match connector.connect(&there).await?.regions().await {
            Ok(regions) => {
                let verdict = verdict(region, &regions);
                let mut lists = self.lists.lock();
                lists.retain(|_, list| now < list.until);
                lists.insert(asked, List { regions, until: now + keep });
                verdict
            }
            Err(error)
                if error.category() == Category::Unauthorised && OPT_IN.contains(&region) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn known(&self, asked: &Asked, region: &str, now: Duration) -> Option<Result<(), AwsError>> {
        let lists = self.lists.lock();
        let list = lists.get(asked).filter(|list| now < list.until)?;
        Some(verdict(region, &list.regions))
    }
}

fn verdict(region: &str, regions: &[RegionFacts]) -> Result<(), AwsError> {
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
            assert_eq!(spokesman(region), expected, "{region}");
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
        assert_eq!(verdict("eu-south-2", &regions), Ok(()));
        let off = verdict("eu-south-1", &regions).unwrap_err().to_string();
        assert_eq!(off, "region eu-south-1 is not opted in");
        let wrong = verdict("eu-nowhere-1", &regions).unwrap_err().to_string();
        assert_eq!(wrong, "region eu-nowhere-1 is not a valid region");
    }
}
