//! What shows that credentials are those of the cluster's account. Credentials of another account see nothing of a cluster, and whoever believed
//! them would take every instance for gone and every spec for wrong.
//!
//! Evidence is something that carries the cluster's tag, or that a spec names by its id. Filters are none: each account has a default network.

use machinist_aws_spec::config::{Filter, ProviderConfig};
use machinist_provider::cloud::{CloudError, Effect, ErrorClass, MachineRef};
use serde_json::Value;

use super::Ec2Machines;
use super::calls::filter;
use super::errors::{At, judge};
use super::home::{ACCOUNT, whose};
use super::tags::cluster_tags;
use crate::ec2::Ec2;

impl Ec2Machines {
    /// Whether a security group, a subnet or an instance that carries the cluster's tag is visible.
    pub(super) async fn sees_the_cluster(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
    ) -> Result<bool, CloudError> {
        let (realm, tags) = (&machine.realm, cluster_tags(machine));
        let tagged = among("tag-key", tags.clone());
        if self.resolver.sees_groups(ec2, realm, tagged.clone()).await?
            || self.resolver.sees_subnets(ec2, realm, tagged).await?
        {
            return Ok(true);
        }
        let found = ec2.instances(vec![filter("tag-key", tags)]).await;
        Ok(!found.map_err(|error| judge(&error, At::realm(realm)))?.is_empty())
    }

    /// What is wrong with a spec that something is missing for: with these credentials it may be missing in the wrong account only, and then
    /// the machine must not fail for good.
    pub(super) async fn or_wrong_account(
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
                let (whose, tag) = (whose(&machine.realm), cluster_tags(machine).join(" or "));
                let message = format!(
                    "{error}; but {whose} see nothing in {} that carries the tag {tag}: they may be another account's. If they are not, give the \
                     tag to a security group or a subnet of the cluster",
                    machine.realm.region
                );
                CloudError::new(ErrorClass::Unauthorised, message)
            }
            // Nothing was asked for, whatever became of the question.
            Err(unclear) => CloudError { effect: Effect::None, ..unclear },
        }
    }

    async fn is_account_of(
        &self,
        ec2: &Ec2,
        machine: &MachineRef,
        config: &ProviderConfig,
    ) -> Result<bool, CloudError> {
        let realm = &machine.realm;
        if let Some(account) = machine.status.0.get(ACCOUNT).and_then(Value::as_str) {
            let owned = among("owner-id", vec![account.to_owned()]);
            return self.resolver.sees_groups(ec2, realm, owned).await;
        }
        if self.sees_the_cluster(ec2, machine).await? {
            return Ok(true);
        }
        let groups: Vec<_> = config.security_groups.iter().filter_map(|group| group.id()).collect();
        if !groups.is_empty() {
            let named = among("group-id", groups.into_iter().map(str::to_owned).collect());
            if self.resolver.sees_groups(ec2, realm, named).await? {
                return Ok(true);
            }
        }
        let Some(subnet) = config.subnet.id() else { return Ok(false) };
        let named = among("subnet-id", vec![subnet.to_owned()]);
        self.resolver.sees_subnets(ec2, realm, named).await
    }
}

fn among(name: &str, values: Vec<String>) -> Filter {
    Filter { name: name.to_owned(), values }
}
