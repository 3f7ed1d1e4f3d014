//! Auto Scaling groups.
//!
//! The group of an instance is the value of EC2's tag `aws:autoscaling:groupName`, so EKS managed groups need no
//! special case.
//!
//! Invariants: sizes are set, and members terminated, only directly after the group was described. Nothing is retried
//! or cached here.

mod calls;
mod convert;
mod errors;

use std::fmt;
use std::sync::Arc;

use machinist_aws_spec::provider_id;
use machinist_provider::Pending;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::cloud::{CloudError, ErrorClass};
use machinist_provider::node_groups::{
    Group, GroupError, GroupName, GroupRef, InstanceFacts, InstanceId, InstanceLocation,
    NodeGroups, RefreshId, RefreshPreferences, Sizes, mark,
};
use machinist_provider::parts::Parts;

use self::calls::Caller;
use self::errors::{classify_group_error, is_no_refresh, is_refresh_running};
use crate::client::Connector;
use crate::clients::Clients;
use crate::errors::AwsError;
use crate::messages;

/// The maximum number of values in one EC2 filter.
const INSTANCES_TOGETHER: usize = 200;
/// The maximum number of names in one call.
const GROUPS_TOGETHER: usize = 50;

pub(crate) struct AutoScaling {
    clients: Clients,
    /// The region is replaced by that of each call.
    access: CloudAccess,
}

impl fmt::Debug for AutoScaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AutoScaling").finish_non_exhaustive()
    }
}

pub(crate) fn ambient() -> CloudAccess {
    CloudAccess {
        region: "".into(),
        credentials: Credentials::Ambient,
        endpoint: None,
        ca_bundle: None,
    }
}

impl AutoScaling {
    pub(crate) fn new(parts: &Parts, access: CloudAccess, connector: Connector) -> Self {
        Self { clients: Clients::new(connector, Arc::clone(&parts.clock)), access }
    }

    async fn caller(&self, region: &str) -> Result<Caller, CloudError> {
        let access = CloudAccess { region: region.into(), ..self.access.clone() };
        match self.clients.get(&access).await {
            Ok(ec2) => Ok(Caller::new(ec2, access)),
            Err(error) => Err(classify_group_error(&error, &access)),
        }
    }
}

impl Caller {
    fn classified<T>(&self, answer: Result<T, AwsError>) -> Result<T, CloudError> {
        answer.map_err(|error| classify_group_error(&error, self.access()))
    }

    /// Without hooks and refreshes.
    async fn find(&self, name: &GroupName) -> Result<Option<Group>, CloudError> {
        self.classified(self.groups(std::slice::from_ref(name)).await)
            .map(|mut groups| groups.pop())
    }

    async fn existing(&self, name: &GroupName) -> Result<Group, CloudError> {
        let missing = || CloudError::new(ErrorClass::NotFound, messages::no_such_group(name));
        self.find(name).await?.ok_or_else(missing)
    }
}

impl NodeGroups for AutoScaling {
    fn provider(&self) -> &'static str {
        "aws"
    }

    fn locate(&self, provider_id: &str) -> Option<InstanceLocation> {
        let id = provider_id::instance_of(provider_id)?.into();
        Some(InstanceLocation { id, region: provider_id::region_of(provider_id).map(Arc::from) })
    }

    fn instances<'a>(
        &'a self,
        region: &'a str,
        ids: &'a [InstanceId],
    ) -> Pending<'a, Result<Vec<InstanceFacts>, CloudError>> {
        Box::pin(async move {
            let mut found = Vec::with_capacity(ids.len());
            if ids.is_empty() {
                return Ok(found);
            }
            let caller = self.caller(region).await?;
            for some in ids.chunks(INSTANCES_TOGETHER) {
                found.extend(caller.classified(caller.instances(some).await)?);
            }
            Ok(found)
        })
    }

    fn describe<'a>(
        &'a self,
        region: &'a str,
        names: &'a [GroupName],
    ) -> Pending<'a, Result<Vec<Group>, CloudError>> {
        Box::pin(async move {
            let mut groups = Vec::with_capacity(names.len());
            if names.is_empty() {
                return Ok(groups);
            }
            let caller = self.caller(region).await?;
            for some in names.chunks(GROUPS_TOGETHER) {
                for group in caller.classified(caller.groups(some).await)? {
                    match caller.classified(caller.with_details(group).await) {
                        Ok(group) => groups.push(group),
                        // It was deleted between two calls.
                        Err(error) if error.class == ErrorClass::NotFound => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Ok(groups)
        })
    }

    fn mark<'a>(
        &'a self,
        group: &'a GroupRef,
        value: &'a str,
    ) -> Pending<'a, Result<(), CloudError>> {
        Box::pin(async move {
            if !mark::fits(value) {
                let message = messages::mark_too_long(value.len());
                return Err(CloudError::new(ErrorClass::InvalidConfiguration, message));
            }
            let caller = self.caller(&group.region).await?;
            caller.classified(caller.tag(&group.name, mark::to_tags(value)).await)
        })
    }

    fn unmark<'a>(&'a self, group: &'a GroupRef) -> Pending<'a, Result<(), CloudError>> {
        Box::pin(async move {
            let caller = self.caller(&group.region).await?;
            if caller.find(&group.name).await?.is_none() {
                return Ok(());
            }
            match caller.classified(caller.untag(&group.name, mark::keys()).await) {
                Err(error) if error.class == ErrorClass::NotFound => Ok(()),
                answer => answer,
            }
        })
    }

    /// `TerminateInstanceInAutoScalingGroup` does not take a group, so membership is checked first.
    fn terminate<'a>(
        &'a self,
        group: &'a GroupRef,
        id: &'a InstanceId,
    ) -> Pending<'a, Result<(), CloudError>> {
        Box::pin(async move {
            let caller = self.caller(&group.region).await?;
            let found = caller.existing(&group.name).await?;
            match found.members.iter().find(|member| member.id == *id) {
                None => {
                    let message = messages::not_a_member(id, group);
                    Err(CloudError::new(ErrorClass::NotFound, message))
                }
                Some(member) if member.lifecycle.is_leaving() => Ok(()),
                Some(_) => caller.classified(caller.terminate(id).await),
            }
        })
    }

    fn resize<'a>(
        &'a self,
        group: &'a GroupRef,
        from: Sizes,
        to: Sizes,
    ) -> Pending<'a, Result<(), GroupError>> {
        Box::pin(async move {
            let caller = self.caller(&group.region).await?;
            let found = caller.existing(&group.name).await?.sizes;
            if found == to {
                return Ok(());
            }
            if found != from {
                return Err(GroupError::Changed { found });
            }
            Ok(caller.classified(caller.resize(&group.name, to).await)?)
        })
    }

    fn start_refresh<'a>(
        &'a self,
        group: &'a GroupRef,
        preferences: RefreshPreferences,
    ) -> Pending<'a, Result<RefreshId, GroupError>> {
        Box::pin(async move {
            let caller = self.caller(&group.region).await?;
            match caller.start_refresh(&group.name, preferences).await {
                Err(error) if is_refresh_running(&error) => Err(GroupError::RefreshRunning),
                answer => Ok(caller.classified(answer)?),
            }
        })
    }

    fn cancel_refresh<'a>(&'a self, group: &'a GroupRef) -> Pending<'a, Result<(), CloudError>> {
        Box::pin(async move {
            let caller = self.caller(&group.region).await?;
            match caller.cancel_refresh(&group.name).await {
                Err(error) if is_no_refresh(&error) => Ok(()),
                answer => caller.classified(answer),
            }
        })
    }
}

#[cfg(test)]
mod policy_tests;
