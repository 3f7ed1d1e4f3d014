//! Which region to ask: the flag, else the environment, else what the zones of the Nodes say.

use anyhow::bail;

use super::instance::zone_of;
use crate::exit::Usage;

/// The region that the flag or the environment names.
pub(super) fn named(flag: Option<&str>) -> Option<String> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let flag = flag.map(str::to_owned);
    flag.or_else(|| variable("AWS_REGION")).or_else(|| variable("AWS_DEFAULT_REGION"))
}

/// The same, or an error of usage.
pub(super) fn required(flag: Option<&str>) -> anyhow::Result<String> {
    named(flag)
        .ok_or_else(|| anyhow::anyhow!("no region: say --region, or set AWS_REGION").context(Usage))
}

/// The one region that these provider ids are in.
pub(super) fn of_nodes<'a>(provider_ids: impl Iterator<Item = &'a str>) -> anyhow::Result<String> {
    let mut regions: Vec<_> = provider_ids.filter_map(zone_of).filter_map(of_zone).collect();
    regions.sort_unstable();
    regions.dedup();
    match regions.as_slice() {
        [one] => Ok(one.clone()),
        [] => required(None),
        several => bail!("the Nodes are in several regions, say --region: {}", several.join(", ")),
    }
}

/// `eu-central-1a` is in `eu-central-1`; a local zone, as `us-west-2-lax-1a`, in `us-west-2`.
fn of_zone(zone: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in zone.split('-') {
        let number = part.trim_end_matches(|c: char| c.is_ascii_lowercase());
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            parts.push(number);
            return (parts.len() >= 3).then(|| parts.join("-"));
        }
        parts.push(part);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_in_regions() {
        let cases = [
            ("eu-central-1a", Some("eu-central-1")),
            ("us-gov-west-1b", Some("us-gov-west-1")),
            ("us-west-2-lax-1a", Some("us-west-2")),
            ("eu-north-1", Some("eu-north-1")),
            ("zone", None),
            ("", None),
        ];
        for (zone, region) in cases {
            assert_eq!(of_zone(zone).as_deref(), region, "{zone}");
        }
        let one = ["aws:///eu-west-1a/i-1", "aws:///eu-west-1b/i-2", "aws:///i-3"];
        assert_eq!(of_nodes(one.into_iter()).unwrap(), "eu-west-1");
        let two = ["aws:///eu-west-1a/i-1", "aws:///eu-west-2a/i-2"];
        assert!(
            of_nodes(two.into_iter()).unwrap_err().to_string().contains("eu-west-1, eu-west-2")
        );
    }
}
