//! The region of a machine's instance.
//!
//! The spec's region can be edited while there is an instance, which would then not be found. So the stored region is
//! used.

use std::borrow::Cow;
use std::sync::Arc;

use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};
use serde_json::Value;

use crate::messages;

/// The machine with the region of its instance.
pub(crate) fn in_stored_region(machine: &MachineRef) -> Cow<'_, MachineRef> {
    match stored_region(machine).filter(|region| **region != *machine.access.region) {
        None => Cow::Borrowed(machine),
        Some(region) => {
            let mut moved = machine.clone();
            moved.access.region = Arc::from(region);
            Cow::Owned(moved)
        }
    }
}

fn stored_region(machine: &MachineRef) -> Option<String> {
    let of_zone = |zone: &str| {
        let spec = &*machine.access.region;
        let lies_in = zone
            .strip_prefix(spec)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
        if lies_in { Some(spec.to_owned()) } else { region_of(zone) }
    };
    // Not as a `Launch`: this runs for every machine at every describe call.
    if let Some(launch) = machine.status.0.get("launch") {
        let text = |name| launch.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        return text("region").map(str::to_owned).or_else(|| text("zone").and_then(of_zone));
    }
    let id = machine.provider_id.as_deref()?.strip_prefix("aws:///")?;
    of_zone(id.split_once('/')?.0)
}

/// The region of a zone such as `us-east-2a` or `us-west-2-lax-1a`.
fn region_of(zone: &str) -> Option<String> {
    let parts: Vec<_> = zone.split('-').collect();
    let number = parts.iter().position(|part| part.starts_with(|c: char| c.is_ascii_digit()))?;
    let words = &parts[..number];
    let is_word =
        |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    if words.len() < 2 || !words.iter().all(is_word) {
        return None;
    }
    let digits: String = parts[number].chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{}-{digits}", words.join("-")))
}

/// Refuses to prepare in another region than an earlier attempt, whose leftovers would not be found.
pub(crate) fn refuse_region_change(machine: &MachineRef) -> Result<(), CloudError> {
    let (stored, spec) = (in_stored_region(machine), &machine.access.region);
    if stored.access.region == *spec {
        return Ok(());
    }
    let message = messages::region_changed(spec, &stored.access.region);
    Err(CloudError { effect: Effect::None, ..CloudError::new(ErrorClass::Unknown, message) })
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
            assert_eq!(region_of(zone).as_deref(), region, "{zone}");
        }
    }
}
