//! `resolve` looks up what the spec leaves open, `assemble` fixes every value as a [`Launch`] (`stored`), `request`
//! sends it as `RunInstances`, and `outdated` decides whether a refused launch still is what the Machine asks for.

mod assemble;
mod outdated;
mod request;
pub(crate) mod resolve;
mod stored;

use machinist_aws_spec::config::ProviderConfig;
use machinist_provider::cloud::{
    CloudError, Effect, ErrorClass, Instance, MachineRef, ProviderStatus,
};

use self::assemble::assemble;
use self::outdated::or_outdated;
pub(crate) use self::stored::{
    HOST, HostRequest, Launch, Place, Volume, known_host, known_id, token,
};
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::Ec2Machines;
use crate::machines::account::ACCOUNT;
use crate::machines::describe::ec2_instance::Ec2Instance;
use crate::machines::describe::find::{Depth, find};
use crate::machines::describe::instance;
use crate::machines::errors::{blames_host, is_spent_token};
use crate::machines::load_balancers::desired::{LOAD_BALANCERS, PRIVATE_IP};
use crate::machines::region::{in_stored_region, refuse_region_change};

impl Ec2Machines {
    pub(crate) async fn prepare_now(
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
        refuse_region_change(machine)?;
        let settings = self.cluster_settings().await?;
        let ec2 = self.client(&machine.access).await?;
        let executor = self.executor(&ec2, machine);
        let resolved = match executor.resolve(&config).await {
            Ok(resolved) => resolved,
            Err(error) => return Err(executor.or_wrong_account(&config, error).await),
        };
        let mut status = assemble(machine, &config, resolved, &settings).into_status(machine)?;
        // These belong to an earlier attempt; its host is among the former hosts.
        for name in ["instanceId", "instanceState", ACCOUNT, HOST, PRIVATE_IP, LOAD_BALANCERS] {
            status.0.remove(name);
        }
        Ok(status)
    }

    pub(crate) async fn create_now(&self, machine: &MachineRef) -> Result<Instance, CloudError> {
        let machine = &*in_stored_region(machine);
        let launch = Launch::of(machine)?;
        let ec2 = self.client(&machine.access).await?;
        let executor = self.executor(&ec2, machine);
        let user_data = match &launch.user_data_secret {
            Some(secret) => match executor.user_data(secret).await {
                Ok(data) => Some(data.to_string()),
                // The request cannot be repeated, but an earlier one may have succeeded.
                Err(error) => {
                    return match find_created(&ec2, machine, &launch).await {
                        Ok(Some(instance)) => Ok(instance),
                        Ok(None) => Err(or_outdated(error, machine, &launch)),
                        Err(_) => Err(error),
                    };
                }
            },
            None => None,
        };
        // The request restarts the wait for the instance to be listed.
        self.absences.forget(&machine.uid);
        let host = executor.host(&launch).await;
        let host = host.map_err(|error| or_outdated(error, machine, &launch))?;
        match ec2.run(&launch, host.as_deref(), user_data).await {
            Ok(found) => Ok(created(&found, machine)),
            Err(error) if is_spent_token(&error) => {
                // What the token created belongs to this machine, if it is listed; otherwise this attempt is over.
                if let Some(instance) = find_created(&ec2, machine, &launch).await? {
                    return Ok(instance);
                }
                let error = ec2.classify_launch(&error, &launch);
                Err(executor.give_up_host(&launch, host, error).await)
            }
            Err(refusal) => {
                let error = ec2.classify_launch(&refusal, &launch);
                let mut error = or_outdated(error, machine, &launch);
                if error.class == ErrorClass::InvalidConfiguration {
                    // The Machine fails for good, so an instance whose response was lost must be found now.
                    if let Some(instance) = find_created(&ec2, machine, &launch).await? {
                        return Ok(instance);
                    }
                    // The values may have been resolved in another account.
                    executor.check_account().await?;
                }
                if error.class == ErrorClass::InvalidConfiguration
                    || refusal.has_code("InvalidGroup.NotFound")
                {
                    error = executor.or_stale(&launch, error).await;
                }
                if blames_host(&refusal) && executor.is_host_gone(&launch, host.as_deref()).await {
                    error.effect = Effect::NoneForThisAttempt;
                }
                Err(executor.give_up_host(&launch, host, error).await)
            }
        }
    }
}

async fn find_created(
    ec2: &Ec2,
    machine: &MachineRef,
    launch: &Launch,
) -> Result<Option<Instance>, CloudError> {
    let unclear = |error: AwsError| CloudError {
        effect: Effect::Unclear,
        ..ec2.classify_launch(&error, launch)
    };
    let finds = find(ec2, &[machine], Depth::All).await.map_err(unclear)?;
    let own = finds.own(machine);
    let made = own.iter().find(|found| found.token == launch.token);
    let made = made.or_else(|| own.iter().find(|found| found.exists()));
    Ok(made.map(|found| created(found, machine)))
}

/// A new instance has the tags of its launch, even if the response omits them.
fn created(found: &Ec2Instance, machine: &MachineRef) -> Instance {
    instance::instance(found, Some(machine), &machine.access.region, &[])
}
