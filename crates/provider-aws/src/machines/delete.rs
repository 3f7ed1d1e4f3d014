//! Deletes the load balancer targets, the instances, then the host.

use machinist_provider::cloud::ownership::TAG_MACHINE_UID;
use machinist_provider::cloud::{CloudError, Deletion, ErrorClass, InstanceState, MachineRef};

use crate::errors::AwsError;
use crate::machines::Ec2Machines;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::describe::instance::{has_name, is_of_cluster, is_the_last};
use crate::machines::errors::{is_missing, no_effect};
use crate::machines::region::in_stored_region;
use crate::messages;

impl Ec2Machines {
    pub(crate) async fn delete_now(&self, machine: &MachineRef) -> Result<Deletion, CloudError> {
        let machine = &*in_stored_region(machine);
        let ec2 = self.client(&machine.access).await?;
        let executor = self.executor(&ec2, machine);
        let classified = |error: AwsError| ec2.classify(&error);
        let searched = self.find_together(&ec2, machine).await?;
        let (finds, asked) = (&searched.found, searched.asked);
        let own = finds.own(machine);
        let ending =
            |state| matches!(state, InstanceState::Terminating | InstanceState::Terminated);
        let alive: Vec<_> = own.iter().filter(|found| !ending(found.state())).collect();
        if !alive.is_empty() {
            for found in &alive {
                executor.deregister(found).await?;
            }
            let alive: Vec<_> = alive.iter().map(|found| found.id.clone()).collect();
            match ec2.terminate(alive.clone()).await {
                // It was listed a moment ago; the next call decides.
                Err(error) if !is_missing(&error) => return Err(classified(error)),
                _ => {}
            }
            return Ok(Deletion::UnderWay(messages::terminating(&alive)));
        }
        if let Some(found) = own.iter().find(|found| found.exists()) {
            return Ok(Deletion::UnderWay(messages::instance_state(&found.id, &found.state)));
        }
        let foreign = finds.foreign(machine);
        let unproven = foreign.filter(|found| found.exists());
        if let Some(error) = unproven.and_then(|found| unproven_owner(found, machine)) {
            return Err(error);
        }
        let seen = own.iter().any(|found| is_the_last(found, machine));
        if !seen && self.may_still_appear(machine, asked).is_some() {
            // Without the remaining time: a changing text would be a write each time.
            return Ok(Deletion::UnderWay(messages::may_still_appear("EC2")));
        }
        // A visible foreign instance proves the account.
        if !seen && foreign.is_none() {
            executor.check_account().await?;
        }
        executor.remove_address().await?;
        let released = executor.release_hosts().await?;
        if released == Deletion::Gone {
            self.absences.forget(&machine.uid);
            self.host_lookup_denied.forget(&machine.uid);
        }
        Ok(released)
    }
}

/// The error for an instance that the Machine names, unless it clearly belongs to another Machine.
fn unproven_owner(found: &Ec2Instance, machine: &MachineRef) -> Option<CloudError> {
    let other = found.tag(TAG_MACHINE_UID);
    // A Machine that is restored from a backup has another uid and the same instance.
    if other.is_some() && !(is_of_cluster(found, machine) && has_name(found, machine)) {
        return None;
    }
    let message = messages::maybe_own_instance(&found.id, machine, other);
    Some(no_effect(ErrorClass::Unexpected, message))
}
