//! Checks that the credentials belong to the cluster's account.
//!
//! Credentials of another account see none of the cluster's resources, so every instance would count as gone and every
//! spec as invalid. What proves the account is a resource with the cluster's tag, or one that the spec names by id.
//! Filters prove nothing: each account has a default VPC.

use machinist_aws_spec::config::{Filter, ProviderConfig};
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};
use serde_json::Value;

use crate::ec2::Ec2;
use crate::machines::Ec2Machines;
use crate::machines::calls::filter;
use crate::machines::errors::{ErrorContext, classify};
use crate::machines::launch::{Launch, known_id};
use crate::machines::tags::cluster_tags;
use crate::messages::{self, AccountMark};

/// The key of the instance's account in `status.providerStatus`.
pub(crate) const ACCOUNT: &str = "account";

impl Ec2Machines {
    /// Errs unless the credentials see the account in which the instance was requested. Call it before "not found"
    /// counts.
    pub(crate) async fn check_account(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
    ) -> Result<(), CloudError> {
        let account = machine.status.0.get(ACCOUNT).and_then(Value::as_str);
        let launch = Launch::stored(&machine.status);
        let (seen, mark) = match (account, &launch) {
            (Some(account), _) => {
                let owned = among("owner-id", vec![account.to_owned()]);
                let seen = self.resolver.sees_groups(ec2, &machine.access, owned).await?;
                (seen, AccountMark::Account(account))
            }
            (None, Some(launch)) => {
                let named = among("subnet-id", vec![launch.subnet.clone()]);
                let shown = self.resolver.sees_subnets(ec2, &machine.access, named).await?;
                // An empty subnet may have been deleted.
                let seen = shown || self.sees_a_group(ec2, machine, launch).await?;
                (seen, AccountMark::Subnet(&launch.subnet))
            }
            // Another controller created it: only the id is known.
            (None, None) if known_id(machine).is_some() => {
                (self.sees_cluster_tag(ec2, machine).await?, AccountMark::ClusterTag)
            }
            (None, None) => return Ok(()),
        };
        if seen {
            return Ok(());
        }
        let message = messages::account_not_visible(machine, &mark);
        Err(CloudError::new(ErrorClass::Unauthorised, message))
    }

    async fn sees_a_group(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        launch: &Launch,
    ) -> Result<bool, CloudError> {
        let named = among("group-id", launch.security_groups.clone());
        self.resolver.sees_groups(ec2, &machine.access, named).await
    }

    pub(crate) async fn sees_cluster_tag(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
    ) -> Result<bool, CloudError> {
        let (access, tags) = (&machine.access, cluster_tags(machine));
        let tagged = among("tag-key", tags.clone());
        if self.resolver.sees_groups(ec2, access, tagged.clone()).await?
            || self.resolver.sees_subnets(ec2, access, tagged).await?
        {
            return Ok(true);
        }
        let found = ec2.instances(vec![filter("tag-key", tags)]).await;
        Ok(!found.map_err(|error| classify(&error, ErrorContext::of(access)))?.is_empty())
    }

    /// Replaces an `InvalidConfiguration` that may result from the wrong account: the Machine must not fail for good.
    pub(crate) async fn or_wrong_account(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        config: &ProviderConfig,
        error: CloudError,
    ) -> CloudError {
        if error.class != ErrorClass::InvalidConfiguration {
            return error;
        }
        match self.is_account_of(ec2, machine, config).await {
            Ok(true) => error,
            Ok(false) => {
                let message = messages::wrong_account(&error.to_string(), machine);
                CloudError::new(ErrorClass::Unauthorised, message)
            }
            // No instance was requested.
            Err(unclear) => CloudError { effect: Effect::None, ..unclear },
        }
    }

    async fn is_account_of(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        config: &ProviderConfig,
    ) -> Result<bool, CloudError> {
        let access = &machine.access;
        if let Some(account) = machine.status.0.get(ACCOUNT).and_then(Value::as_str) {
            let owned = among("owner-id", vec![account.to_owned()]);
            return self.resolver.sees_groups(ec2, access, owned).await;
        }
        if self.sees_cluster_tag(ec2, machine).await? {
            return Ok(true);
        }
        let groups: Vec<_> = config.security_groups.iter().filter_map(|group| group.id()).collect();
        if !groups.is_empty() {
            let named = among("group-id", groups.into_iter().map(str::to_owned).collect());
            if self.resolver.sees_groups(ec2, access, named).await? {
                return Ok(true);
            }
        }
        let Some(subnet) = config.subnet.id() else { return Ok(false) };
        let named = among("subnet-id", vec![subnet.to_owned()]);
        self.resolver.sees_subnets(ec2, access, named).await
    }
}

fn among(name: &str, values: Vec<String>) -> Filter {
    Filter { name: name.to_owned(), values }
}
