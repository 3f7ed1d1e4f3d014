//! Checks that the credentials belong to the cluster's account.
//!
//! Credentials of another account see none of the cluster's resources, so every instance would count as gone and every
//! spec as invalid. What proves the account is a resource with the cluster's tag, or one that the spec names by id.
//! Filters prove nothing: each account has a default VPC.

use machinist_aws_spec::config::ProviderConfig;
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};
use serde_json::Value;

use crate::machines::Executor;
use crate::machines::calls::filter;
use crate::machines::launch::{Launch, known_id};
use crate::machines::tags::cluster_tags;
use crate::messages::{self, AccountMark};

pub(crate) const ACCOUNT: &str = "account";

fn stored_account(machine: &MachineRef) -> Option<&str> {
    machine.status.0.get(ACCOUNT).and_then(Value::as_str)
}

impl Executor<'_> {
    /// Call it before "not found" counts.
    pub(crate) async fn check_account(&self) -> Result<(), CloudError> {
        let machine = self.machine;
        let (seen, mark) = if let Some(account) = stored_account(machine) {
            let seen = self.sees_group("owner-id", vec![account.to_owned()]).await?;
            (seen, AccountMark::Account(account))
        } else if let Some(launch) = Launch::stored(&machine.status) {
            let (subnet, groups) = (launch.subnet, launch.security_groups);
            // An empty subnet may have been deleted.
            let seen = self.sees_subnet("subnet-id", vec![subnet.clone()]).await?
                || self.sees_group("group-id", groups).await?;
            (seen, AccountMark::Subnet(subnet))
        } else if known_id(machine).is_some() {
            // Another controller created it: only the id is known.
            (self.sees_cluster_tag().await?, AccountMark::ClusterTag)
        } else {
            return Ok(());
        };
        if seen {
            return Ok(());
        }
        let message = messages::account_not_visible(machine, &mark);
        Err(CloudError::new(ErrorClass::Unauthorised, message))
    }

    async fn sees_cluster_tag(&self) -> Result<bool, CloudError> {
        let (ec2, tags) = (self.ec2, cluster_tags(self.machine));
        if self.sees_group("tag-key", tags.clone()).await?
            || self.sees_subnet("tag-key", tags.clone()).await?
        {
            return Ok(true);
        }
        let found = ec2.instances(vec![filter("tag-key", tags)]).await;
        Ok(!found.map_err(|error| ec2.classify(&error))?.is_empty())
    }

    /// Replaces an `InvalidConfiguration` that may result from the wrong account: the Machine must not fail for good.
    pub(crate) async fn or_wrong_account(
        &self,
        config: &ProviderConfig,
        error: CloudError,
    ) -> CloudError {
        if error.class != ErrorClass::InvalidConfiguration {
            return error;
        }
        match self.is_account_of(config).await {
            Ok(true) => error,
            Ok(false) => {
                let message = messages::wrong_account(&error.to_string(), self.machine);
                CloudError::new(ErrorClass::Unauthorised, message)
            }
            // No instance was requested.
            Err(unclear) => CloudError { effect: Effect::None, ..unclear },
        }
    }

    async fn is_account_of(&self, config: &ProviderConfig) -> Result<bool, CloudError> {
        if let Some(account) = stored_account(self.machine) {
            return self.sees_group("owner-id", vec![account.to_owned()]).await;
        }
        if self.sees_cluster_tag().await? {
            return Ok(true);
        }
        let groups = config.security_groups.iter().filter_map(|group| group.id());
        let groups: Vec<_> = groups.map(str::to_owned).collect();
        if !groups.is_empty() && self.sees_group("group-id", groups).await? {
            return Ok(true);
        }
        let Some(subnet) = config.subnet.id() else { return Ok(false) };
        self.sees_subnet("subnet-id", vec![subnet.to_owned()]).await
    }
}
