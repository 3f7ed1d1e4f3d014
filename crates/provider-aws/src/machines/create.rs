//! Preparing and creating.

use machinist_aws_spec::config::ProviderConfig;
use machinist_provider::cloud::{
    CloudError, Effect, ErrorClass, Instance, MachineRef, ProviderStatus,
};

use super::Ec2Machines;
use super::assemble::assemble;
use super::balanced::{LOAD_BALANCERS, PRIVATE_IP};
use super::errors::{At, blames_group, blames_host, is_spent_token, judge};
use super::find::{Depth, find};
use super::found::Found;
use super::home::{ACCOUNT, at_home, refuse_to_move};
use super::launch::{HOST, Launch};
use super::outdated::or_outdated;
use super::sight::{self, Around};
use crate::ec2::Ec2;
use crate::errors::AwsError;

impl Ec2Machines {
    pub(super) async fn prepare_now(
        &self,
        machine: &MachineRef,
    ) -> Result<ProviderStatus, CloudError> {
        let invalid = |message: String| CloudError::new(ErrorClass::InvalidConfiguration, message);
        let config =
            ProviderConfig::read(&machine.spec).map_err(|error| invalid(error.to_string()))?;
        let problems: Vec<_> = config.problems().iter().map(ToString::to_string).collect();
        if !problems.is_empty() {
            return Err(invalid(problems.join("; ")));
        }
        refuse_to_move(machine)?;
        let facts = self.facts().await?;
        let ec2 = self.client(&machine.realm).await?;
        let resolved = match self.resolver.resolve(&ec2, machine, &config).await {
            Ok(resolved) => resolved,
            Err(error) => return Err(self.or_wrong_account(&ec2, machine, &config, error).await),
        };
        let mut status = assemble(machine, &config, resolved, &facts).into_status(machine)?;
        // What an earlier attempt had is no part of this one; its host is among the former ones.
        for name in ["instanceId", "instanceState", ACCOUNT, HOST, PRIVATE_IP, LOAD_BALANCERS] {
            status.0.remove(name);
        }
        Ok(status)
    }

    pub(super) async fn create_now(&self, machine: &MachineRef) -> Result<Instance, CloudError> {
        let machine = &*at_home(machine);
        let launch = Launch::of(machine)?;
        let ec2 = self.client(&machine.realm).await?;
        let user_data = match &launch.user_data_secret {
            Some(secret) => match self.resolver.user_data(machine, secret).await {
                Ok(data) => Some(data.to_string()),
                // It cannot be asked for once more; an earlier request may have made it all the same.
                Err(error) => {
                    return match made_before(&ec2, machine, &launch).await {
                        Ok(Some(instance)) => Ok(instance),
                        Ok(None) => Err(or_outdated(error, machine, &launch)),
                        Err(_) => Err(error),
                    };
                }
            },
            None => None,
        };
        // What was not found until now may be there from now on.
        self.absences.forget(&machine.uid);
        let host = self.host(&ec2, machine, &launch).await;
        let host = host.map_err(|error| or_outdated(error, machine, &launch))?;
        match ec2.run(&launch, host.as_deref(), user_data).await {
            Ok(found) => Ok(created(&found, machine)),
            Err(error) if is_spent_token(&error) => {
                // Whatever the token made is this machine's, if it can be seen; otherwise this attempt is over.
                if let Some(instance) = made_before(&ec2, machine, &launch).await? {
                    return Ok(instance);
                }
                let error = judge(&error, at(machine, &launch));
                Err(self.give_up_host(&ec2, machine, &launch, host, error).await)
            }
            Err(refusal) => {
                let error = judge(&refusal, at(machine, &launch));
                let mut error = or_outdated(error, machine, &launch);
                if error.class == ErrorClass::InvalidConfiguration {
                    // The machine fails by this, and nobody would look for what an earlier request made, whose answer was lost.
                    if let Some(instance) = made_before(&ec2, machine, &launch).await? {
                        return Ok(instance);
                    }
                    // What was found when it was prepared may be another account's.
                    self.sees_its_account(&ec2, machine).await?;
                }
                if error.class == ErrorClass::InvalidConfiguration || blames_group(&refusal) {
                    error = self.or_stale(&ec2, machine, &launch, error).await;
                }
                let host_id = host.as_deref();
                if blames_host(&refusal) && self.is_host_gone(&ec2, &launch, host_id).await {
                    error.effect = Effect::NoneForThisAttempt;
                }
                Err(self.give_up_host(&ec2, machine, &launch, host, error).await)
            }
        }
    }
}

/// What an earlier request of this machine made, as far as it can be seen. Where nobody can be asked, it may have made something.
async fn made_before(
    ec2: &Ec2,
    machine: &MachineRef,
    launch: &Launch,
) -> Result<Option<Instance>, CloudError> {
    let unclear = |error: AwsError| CloudError {
        effect: Effect::Unclear,
        ..judge(&error, at(machine, launch))
    };
    let finds = find(ec2, &[machine], Depth::All).await.map_err(unclear)?;
    let index = finds.index();
    let own = index.own(machine);
    let made = own.iter().find(|found| found.token == launch.token);
    let made = made.or_else(|| own.iter().find(|found| found.exists()));
    Ok(made.map(|found| created(found, machine)))
}

/// Where a launch goes wrong.
pub(super) fn at<'a>(machine: &'a MachineRef, launch: &'a Launch) -> At<'a> {
    At { realm: &machine.realm, launch: Some(launch) }
}

/// An instance that was just made. It has the tags of its launch, whatever the answer says already.
fn created(found: &Found, machine: &MachineRef) -> Instance {
    let region = &machine.realm.region;
    let around = Around { machine: Some(machine), region, domains: &[], facts: None };
    Instance { drift: None, ..sight::instance(found, around) }
}
