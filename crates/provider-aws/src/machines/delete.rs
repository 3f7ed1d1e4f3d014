//! Deleting: the entries of load balancers, the instances, then the host. Volumes go with their instance, which is how they were made.
//! Those of the image's own mappings go only if the image says so.

use machinist_provider::cloud::ownership::TAG_MACHINE_UID;
use machinist_provider::cloud::{
    CloudError, Deletion, Effect, ErrorClass, InstanceState, MachineRef,
};

use super::Ec2Machines;
use super::errors::{At, is_missing, judge};
use super::find::{Depth, find};
use super::found::Found;
use super::home::at_home;
use super::sight::{has_name, is_of_cluster, is_the_last};
use crate::errors::AwsError;

impl Ec2Machines {
    pub(super) async fn delete_now(&self, machine: &MachineRef) -> Result<Deletion, CloudError> {
        let machine = &*at_home(machine);
        let ec2 = self.client(&machine.realm).await?;
        let judged = |error: AwsError| judge(&error, At::realm(&machine.realm));
        let asked = (self.parts.clock)();
        let finds = find(&ec2, &[machine], Depth::All).await.map_err(judged)?;
        let index = finds.index();
        let own = index.own(machine);
        let ending =
            |state| matches!(state, InstanceState::Terminating | InstanceState::Terminated);
        let alive: Vec<_> = own.iter().filter(|found| !ending(found.state())).collect();
        if !alive.is_empty() {
            for found in &alive {
                self.deregister(&ec2, machine, found).await?;
            }
            let alive: Vec<_> = alive.iter().map(|found| found.id.clone()).collect();
            match ec2.terminate(alive.clone()).await {
                // It was shown a moment ago; the next look tells.
                Err(error) if !is_missing(&error) => return Err(judged(error)),
                _ => {}
            }
            return Ok(Deletion::UnderWay(format!("instance {} is terminated", alive.join(", "))));
        }
        if let Some(found) = own.iter().find(|found| found.exists()) {
            return Ok(Deletion::UnderWay(format!("instance {} is {}", found.id, found.state)));
        }
        let foreign = index.foreign(machine);
        let doubtful = foreign.filter(|found| found.exists());
        if let Some(error) = doubtful.and_then(|found| may_be_its_own(found, machine)) {
            return Err(error);
        }
        let seen = own.iter().any(|found| is_the_last(found, machine));
        if !seen && self.may_still_appear(machine, asked).is_some() {
            // Without the time that is left: a text that changes is a write each time.
            let message = "not found, but an instance may still appear".to_owned();
            return Ok(Deletion::UnderWay(message));
        }
        // Who sees the instance that is named sees the account.
        if !seen && foreign.is_none() {
            self.sees_its_account(&ec2, machine).await?;
        }
        self.forget_address(&ec2, machine).await?;
        let released = self.release_hosts(&ec2, machine).await?;
        if released == Deletion::Gone {
            self.absences.forget(&machine.uid);
            self.blind.forget(&machine.uid);
        }
        Ok(released)
    }
}

/// Why an instance that a machine names stays, and the machine with it, although nothing shows that it is its own; `None` for one that is plainly
/// another machine's.
fn may_be_its_own(found: &Found, machine: &MachineRef) -> Option<CloudError> {
    let (id, uid) = (&found.id, &machine.uid);
    let message = match found.tag(TAG_MACHINE_UID) {
        // A Machine that comes back from a backup has another uid and the same instance.
        Some(other) if is_of_cluster(found, machine) && has_name(found, machine) => format!(
            "instance {id} has this machine's name and cluster, but is marked as that of a machine with uid {other} (the tag {TAG_MACHINE_UID}), so \
             it is not terminated: give the tag this machine's uid ({uid}), or terminate the instance by hand"
        ),
        Some(_) => return None,
        // Somebody may have taken its tags away.
        None => format!(
            "instance {id} is named by this machine, but has neither its uid (the tag {TAG_MACHINE_UID}), nor its name, nor its cluster's tag, so it \
             is not terminated: if it is this machine's, give it that tag with the value {uid}, or terminate it by hand; if it is not, take its \
             id out of spec.providerID and status.providerStatus.instanceId"
        ),
    };
    Some(CloudError { effect: Effect::None, ..CloudError::new(ErrorClass::Unknown, message) })
}
