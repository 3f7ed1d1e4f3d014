//! Provider IDs of AWS: `aws:///eu-central-1a/i-0123456789abcdef0`.

/// The instance: the last segment, if it is an instance ID.
pub fn instance_of(provider_id: &str) -> Option<&str> {
    let rest = provider_id.strip_prefix("aws://")?;
    rest.rsplit('/').next().filter(|id| is_instance_id(id))
}

/// Whether a text has the form of an instance ID.
pub fn is_instance_id(text: &str) -> bool {
    text.strip_prefix("i-")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// The region of the zone in a provider ID.
pub fn region_of(provider_id: &str) -> Option<&str> {
    let zone = provider_id.strip_prefix("aws://")?.trim_start_matches('/').split('/').next()?;
    region_of_zone(zone)
}

/// A region ends with its first number: `us-east-1a` and the local zone `us-east-1-bos-1a` are in `us-east-1`.
pub fn region_of_zone(zone: &str) -> Option<&str> {
    let number = zone.find(|c: char| c.is_ascii_digit()).filter(|at| *at > 3)?;
    let digits = zone.get(number..)?.bytes().take_while(u8::is_ascii_digit).count();
    zone.get(..number + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_found_in_zones() {
        for (zone, region) in [
            ("us-east-1a", Some("us-east-1")),
            ("us-east-1-bos-1a", Some("us-east-1")),
            ("us-west-2-lax-1a", Some("us-west-2")),
            ("us-gov-west-1b", Some("us-gov-west-1")),
            ("ap-southeast-12c", Some("ap-southeast-12")),
            ("eu-north-1", Some("eu-north-1")),
            ("i-0123456789abcdef0", None),
            ("zone", None),
            ("", None),
        ] {
            assert_eq!(region_of_zone(zone), region, "{zone}");
        }
    }

    /// The table of kaws, and what it got wrong.
    #[test]
    fn instances_and_regions_are_found_in_provider_ids() {
        for (provider_id, instance, region) in [
            (
                "aws:///us-east-1a/i-1234567890abcdef0",
                Some("i-1234567890abcdef0"),
                Some("us-east-1"),
            ),
            ("aws:///i-0987654321fedcba0", Some("i-0987654321fedcba0"), None),
            (
                "aws:///us-east-1a/zone-extra/i-complexid123456",
                Some("i-complexid123456"),
                Some("us-east-1"),
            ),
            ("aws:///us-east-1a/i-", None, Some("us-east-1")),
            ("invalid-format", None, None),
            ("gce://project/zone/i-1", None, None),
            ("", None, None),
        ] {
            let found = (instance_of(provider_id), region_of(provider_id));
            assert_eq!(found, (instance, region), "{provider_id}");
        }
    }
}
