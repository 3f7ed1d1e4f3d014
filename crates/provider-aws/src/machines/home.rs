//! Where a machine's instance is, whatever its spec says by now.
//!
//! Region and credentials of a spec can be edited while there is an instance. Whoever looked where the spec says would not find it and take it for
//! gone. So the region is the one that is stored, and "not found" is believed only where the account is the one that the instance was
//! asked for in: EC2 is asked for something of that account which must be there.

use std::borrow::Cow;
use std::sync::Arc;

use machinist_aws_spec::config::Filter;
use machinist_provider::capacity::{Credentials, Realm};
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};
use serde_json::Value;

use super::Ec2Machines;
use super::launch::{Launch, known_id};
use super::tags::cluster_tags;
use crate::ec2::Ec2;

/// The account that has the instance, as EC2 said when it was seen.
pub(super) const ACCOUNT: &str = "account";

/// The machine, in the region that its instance is in.
pub(super) fn at_home(machine: &MachineRef) -> Cow<'_, MachineRef> {
    match home(machine).filter(|region| **region != *machine.realm.region) {
        None => Cow::Borrowed(machine),
        Some(region) => {
            let mut moved = machine.clone();
            moved.realm.region = Arc::from(region);
            Cow::Owned(moved)
        }
    }
}

/// The region that is known from what is stored, if anything is.
fn home(machine: &MachineRef) -> Option<String> {
    let of_zone = |zone: &str| {
        let spec = &*machine.realm.region;
        let lies_in = zone
            .strip_prefix(spec)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
        if lies_in { Some(spec.to_owned()) } else { region_of(zone) }
    };
    // Read by hand, and not as a `Launch`: it is read for every machine at every look.
    if let Some(launch) = machine.status.0.get("launch") {
        let text = |name| launch.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        return text("region").map(str::to_owned).or_else(|| text("zone").and_then(of_zone));
    }
    let id = machine.provider_id.as_deref()?.strip_prefix("aws:///")?;
    of_zone(id.split_once('/')?.0)
}

/// The region of a zone such as `us-east-2a` or `us-west-2-lax-1a`; `None` for what does not look like one.
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

/// Refuses to prepare anything for another region than that of an earlier attempt: what that one left would be looked for in the wrong place.
pub(super) fn refuse_to_move(machine: &MachineRef) -> Result<(), CloudError> {
    let (home, spec) = (at_home(machine), &machine.realm.region);
    if home.realm.region == *spec {
        return Ok(());
    }
    let message = format!(
        "placement.region: it says {spec}, but an earlier attempt was made in {}; put it back, or delete the machine",
        home.realm.region
    );
    Err(CloudError { effect: Effect::None, ..CloudError::new(ErrorClass::Unknown, message) })
}

impl Ec2Machines {
    /// An error unless these credentials see the account that the machine's instance was asked for in. To be asked before "not found" is believed.
    pub(super) async fn sees_its_account(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
    ) -> Result<(), CloudError> {
        let account = machine.status.0.get(ACCOUNT).and_then(Value::as_str);
        let launch = Launch::stored(&machine.status);
        let (seen, what) = match (account, launch) {
            (Some(account), _) => {
                let of_account = equals("owner-id", account);
                let seen = self.resolver.sees_groups(ec2, &machine.realm, of_account).await?;
                (seen, format!("account {account}"))
            }
            (None, Some(launch)) => {
                let named = equals("subnet-id", &launch.subnet);
                let shown = self.resolver.sees_subnets(ec2, &machine.realm, named).await?;
                // A subnet in which there is nothing can be deleted.
                let seen = shown || self.sees_a_group(ec2, machine, &launch).await?;
                (seen, format!("subnet {}", launch.subnet))
            }
            // Another controller's: only the id is known.
            (None, None) if known_id(machine).is_some() => (
                self.sees_the_cluster(ec2, machine).await?,
                format!("the cluster (the tag {})", cluster_tags(machine).join(" or ")),
            ),
            // Nothing to go by.
            (None, None) => (true, String::new()),
        };
        if seen {
            return Ok(());
        }
        let whose = whose(&machine.realm);
        let message = format!(
            "no instance is found, but {whose} see nothing of {what} in {}, where it was asked for: they may be another account's. Put the former \
             ones back; if nothing is left there, take the finalizer off the machine",
            machine.realm.region
        );
        Err(CloudError::new(ErrorClass::Unauthorised, message))
    }

    async fn sees_a_group(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        launch: &Launch,
    ) -> Result<bool, CloudError> {
        let values = launch.security_groups.clone();
        let named = Filter { name: "group-id".to_owned(), values };
        self.resolver.sees_groups(ec2, &machine.realm, named).await
    }
}

/// Whose credentials are asked with, for people.
pub(super) fn whose(realm: &Realm) -> String {
    match &realm.credentials {
        Credentials::Ambient => "the credentials of this process".to_owned(),
        Credentials::Secret { key, .. } => format!("the credentials of secret {key}"),
    }
}

fn equals(name: &str, value: &str) -> Filter {
    Filter { name: name.to_owned(), values: vec![value.to_owned()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_of_zones_of_all_sorts() {
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
