//! The stored region of a machine's instance, which would not be found after an edit of the spec's region.

use std::borrow::Cow;
use std::sync::Arc;

use machinist_aws_spec::provider_id::region_of_zone;
use machinist_provider::cloud::{CloudError, ErrorClass, MachineRef};
use serde_json::Value;

use crate::machines::errors::no_effect;
use crate::messages;

pub(crate) fn in_stored_region(machine: &MachineRef) -> Cow<'_, MachineRef> {
    match stored_region(machine).filter(|region| *region != &*machine.access.region) {
        None => Cow::Borrowed(machine),
        Some(region) => {
            let mut moved = machine.clone();
            moved.access.region = Arc::from(region);
            Cow::Owned(moved)
        }
    }
}

fn stored_region(machine: &MachineRef) -> Option<&str> {
    let spec = &*machine.access.region;
    let of_zone = |zone| {
        let rest = str::strip_prefix(zone, spec);
        let lies_in = rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
        if lies_in { Some(spec) } else { region_of(zone) }
    };
    // Not as a `Launch`: this runs for every machine at every describe call.
    if let Some(launch) = machine.status.0.get("launch") {
        let text = |name| launch.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        return text("region").or_else(|| text("zone").and_then(of_zone));
    }
    let id = machine.provider_id.as_deref()?.strip_prefix("aws:///")?;
    of_zone(id.split_once('/')?.0)
}

/// The region of a zone such as `us-east-2a` or `us-west-2-lax-1a`: two or more words and a number.
fn region_of(zone: &str) -> Option<&str> {
    let region = region_of_zone(zone)?;
    let (words, number) = region.rsplit_once('-')?;
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
    let is_region = words.contains('-')
        && words.split('-').all(is_word)
        && number.bytes().all(|byte| byte.is_ascii_digit());
    is_region.then_some(region)
}

/// Refuses to prepare in another region than an earlier attempt, whose leftovers would not be found.
pub(crate) fn refuse_region_change(machine: &MachineRef) -> Result<(), CloudError> {
    let (stored, spec) = (in_stored_region(machine), &machine.access.region);
    if stored.access.region == *spec {
        return Ok(());
    }
    let message = messages::region_changed(spec, &stored.access.region);
    Err(no_effect(ErrorClass::Unexpected, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_region_of_a_zone() {
        for (zone, region) in [
            ("us-east-2a", Some("us-east-2")),
            ("us-gov-west-1b", Some("us-gov-west-1")),
            ("us-west-2-lax-1a", Some("us-west-2")),
            ("us-east-1-wl1-bos-wlz-1", Some("us-east-1")),
            ("ap-southeast-12c", Some("ap-southeast-12")),
            ("nova", None),
            ("zone-1", None),
            ("", None),
        ] {
            assert_eq!(region_of(zone), region, "{zone}");
        }
    }
}
