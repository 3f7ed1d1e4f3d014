//! What a provider id of AWS says: `aws:///eu-central-1a/i-0123456789abcdef0`.

/// The instance: the last part, if it looks like one.
pub(super) fn id_of(provider_id: &str) -> Option<&str> {
    let rest = provider_id.strip_prefix("aws://")?;
    rest.rsplit('/').next().filter(|id| is_id(id))
}

/// Whether a text looks like the id of an instance.
pub(super) fn is_id(text: &str) -> bool {
    text.strip_prefix("i-")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// The zone, if it is in there.
pub(super) fn zone_of(provider_id: &str) -> Option<&str> {
    let mut parts = provider_id.strip_prefix("aws:///")?.split('/');
    parts.next().filter(|part| !part.is_empty() && !is_id(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_and_zones_of_provider_ids() {
        let cases = [
            (
                "aws:///us-east-1a/i-1234567890abcdef0",
                Some("i-1234567890abcdef0"),
                Some("us-east-1a"),
            ),
            ("aws:///i-0987654321fedcba0", Some("i-0987654321fedcba0"), None),
            (
                "aws:///us-east-1a/zone-extra/i-complexid123456",
                Some("i-complexid123456"),
                Some("us-east-1a"),
            ),
            ("aws:///us-east-1a/i-", None, Some("us-east-1a")),
            ("invalid-format", None, None),
            ("gce://project/zone/i-1", None, None),
            ("", None, None),
        ];
        for (provider_id, id, zone) in cases {
            assert_eq!((id_of(provider_id), zone_of(provider_id)), (id, zone), "{provider_id}");
        }
    }
}
