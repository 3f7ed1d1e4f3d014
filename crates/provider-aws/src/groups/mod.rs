//! Auto Scaling groups: which instance is in which, what they are like, and changing them.
//!
//! ```text
//! AutoScaling ── clients (one per region) ──> calls ──> convert ──> Group, InstanceFacts
//!                                               └── errors ──> CloudError, GroupError
//! ```
//!
//! In: a region, names of groups and ids of instances. Out: what [`NodeGroups`] promises. The group of an instance is what EC2's own tag
//! `aws:autoscaling:groupName` says, so that managed groups of EKS and any others are treated alike.
//!
//! Invariants: sizes are set, and members terminated, only directly after a look at the group; nothing is retried and nothing remembered here.

mod calls;
mod convert;
mod errors;

use std::fmt;
use std::sync::Arc;

use machinist_provider::Pending;
use machinist_provider::capacity::{Credentials, Realm};
use machinist_provider::cloud::{CloudError, ErrorClass};
use machinist_provider::node_groups::{
    Group, GroupError, GroupName, GroupRef, InstanceFacts, InstanceId, NodeGroups, RefreshId,
    RefreshPreferences, Sizes, mark,
};
use machinist_provider::parts::Parts;

use self::calls::Caller;
use self::errors::{is_no_refresh, is_refresh_running, judge_group};
use crate::client::Connector;
use crate::errors::AwsError;
use crate::machines::Clients;
use crate::tls::HttpClients;

/// The most ids that EC2 takes in one filter.
const INSTANCES_TOGETHER: usize = 200;
/// The most names that Auto Scaling takes in one call.
const GROUPS_TOGETHER: usize = 50;

/// Auto Scaling groups.
pub(crate) struct AutoScaling {
    clients: Clients,
    /// Whom to ask, as whom; the region is replaced.
    realm: Realm,
}

impl fmt::Debug for AutoScaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AutoScaling").finish_non_exhaustive()
    }
}

/// As whoever this process is.
pub(crate) fn ambient() -> Realm {
    Realm { region: "".into(), credentials: Credentials::Ambient, endpoint: None, ca_bundle: None }
}

impl AutoScaling {
    pub(crate) fn new(parts: &Parts, realm: Realm, http: Arc<HttpClients>) -> Self {
        let connector = Connector {
            secrets: Arc::clone(&parts.secrets),
            witness: Arc::clone(&parts.witness),
            request_timeout: parts.timings.request,
            page_size: None,
            http,
        };
        Self { clients: Clients::new(connector, Arc::clone(&parts.clock)), realm }
    }

    async fn caller(&self, region: &str) -> Result<Caller, CloudError> {
        let realm = Realm { region: region.into(), ..self.realm.clone() };
        match self.clients.get(&realm).await {
            Ok(ec2) => Ok(Caller::new(ec2, realm)),
            Err(error) => Err(judge_group(&error, &realm)),
        }
    }

    async fn instances_now(
        &self,
        region: &str,
        ids: &[InstanceId],
    ) -> Result<Vec<InstanceFacts>, CloudError> {
        let mut found = Vec::with_capacity(ids.len());
        if ids.is_empty() {
            return Ok(found);
        }
        let caller = self.caller(region).await?;
        for some in ids.chunks(INSTANCES_TOGETHER) {
            found.extend(caller.judged(caller.instances(some).await)?);
        }
        Ok(found)
    }

    async fn describe_now(
        &self,
        region: &str,
        names: &[GroupName],
    ) -> Result<Vec<Group>, CloudError> {
        let mut groups = Vec::with_capacity(names.len());
        if names.is_empty() {
            return Ok(groups);
        }
        let caller = self.caller(region).await?;
        for some in names.chunks(GROUPS_TOGETHER) {
            for group in caller.judged(caller.groups(some).await)? {
                match caller.judged(caller.surroundings(group).await) {
                    Ok(group) => groups.push(group),
                    // It was deleted between two calls.
                    Err(error) if error.class == ErrorClass::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(groups)
    }

    async fn mark_now(&self, group: &GroupRef, value: &str) -> Result<(), CloudError> {
        if !mark::fits(value) {
            let message = format!("{} characters cannot be stored as tags", value.len());
            return Err(CloudError::new(ErrorClass::InvalidConfiguration, message));
        }
        let caller = self.caller(&group.region).await?;
        caller.judged(caller.tag(&group.name, mark::to_tags(value)).await)
    }

    async fn unmark_now(&self, group: &GroupRef) -> Result<(), CloudError> {
        let caller = self.caller(&group.region).await?;
        if caller.find(&group.name).await?.is_none() {
            return Ok(());
        }
        match caller.judged(caller.untag(&group.name, mark::keys()).await) {
            Err(error) if error.class == ErrorClass::NotFound => Ok(()),
            answer => answer,
        }
    }

    /// The call itself names no group, so that the instance is one of its members is looked at first.
    async fn terminate_now(&self, group: &GroupRef, id: &InstanceId) -> Result<(), CloudError> {
        let caller = self.caller(&group.region).await?;
        let found = caller.existing(&group.name).await?;
        match found.members.iter().find(|member| member.id == *id) {
            None => {
                let message = format!("{id} is no member of {group}");
                Err(CloudError::new(ErrorClass::NotFound, message))
            }
            Some(member) if member.lifecycle.is_leaving() => Ok(()),
            Some(_) => caller.judged(caller.terminate(id).await),
        }
    }

    async fn resize_now(&self, group: &GroupRef, from: Sizes, to: Sizes) -> Result<(), GroupError> {
        let caller = self.caller(&group.region).await?;
        let found = caller.existing(&group.name).await?.sizes;
        if found == to {
            return Ok(());
        }
        if found != from {
            return Err(GroupError::Changed { found });
        }
        Ok(caller.judged(caller.resize(&group.name, to).await)?)
    }

    async fn start_refresh_now(
        &self,
        group: &GroupRef,
        preferences: RefreshPreferences,
    ) -> Result<RefreshId, GroupError> {
        let caller = self.caller(&group.region).await?;
        match caller.start_refresh(&group.name, preferences).await {
            Err(error) if is_refresh_running(&error) => Err(GroupError::RefreshRunning),
            answer => Ok(caller.judged(answer)?),
        }
    }

    async fn cancel_refresh_now(&self, group: &GroupRef) -> Result<(), CloudError> {
        let caller = self.caller(&group.region).await?;
        match caller.cancel_refresh(&group.name).await {
            Err(error) if is_no_refresh(&error) => Ok(()),
            answer => caller.judged(answer),
        }
    }
}

impl Caller {
    fn judged<T>(&self, answer: Result<T, AwsError>) -> Result<T, CloudError> {
        answer.map_err(|error| judge_group(&error, self.realm()))
    }

    /// The group without what only further calls tell.
    async fn find(&self, name: &GroupName) -> Result<Option<Group>, CloudError> {
        self.judged(self.groups(std::slice::from_ref(name)).await).map(|mut groups| groups.pop())
    }

    async fn existing(&self, name: &GroupName) -> Result<Group, CloudError> {
        let missing = || CloudError::new(ErrorClass::NotFound, format!("there is no group {name}"));
        self.find(name).await?.ok_or_else(missing)
    }
}

impl NodeGroups for AutoScaling {
    fn instances<'a>(
        &'a self,
        region: &'a str,
        ids: &'a [InstanceId],
    ) -> Pending<'a, Result<Vec<InstanceFacts>, CloudError>> {
        Box::pin(self.instances_now(region, ids))
    }

    fn describe<'a>(
        &'a self,
        region: &'a str,
        groups: &'a [GroupName],
    ) -> Pending<'a, Result<Vec<Group>, CloudError>> {
        Box::pin(self.describe_now(region, groups))
    }

    fn mark<'a>(
        &'a self,
        group: &'a GroupRef,
        value: &'a str,
    ) -> Pending<'a, Result<(), CloudError>> {
        Box::pin(self.mark_now(group, value))
    }

    fn unmark<'a>(&'a self, group: &'a GroupRef) -> Pending<'a, Result<(), CloudError>> {
        Box::pin(self.unmark_now(group))
    }

    fn terminate<'a>(
        &'a self,
        group: &'a GroupRef,
        instance: &'a InstanceId,
    ) -> Pending<'a, Result<(), CloudError>> {
        Box::pin(self.terminate_now(group, instance))
    }

    fn resize<'a>(
        &'a self,
        group: &'a GroupRef,
        from: Sizes,
        to: Sizes,
    ) -> Pending<'a, Result<(), GroupError>> {
        Box::pin(self.resize_now(group, from, to))
    }

    fn start_refresh<'a>(
        &'a self,
        group: &'a GroupRef,
        preferences: RefreshPreferences,
    ) -> Pending<'a, Result<RefreshId, GroupError>> {
        Box::pin(self.start_refresh_now(group, preferences))
    }

    fn cancel_refresh<'a>(&'a self, group: &'a GroupRef) -> Pending<'a, Result<(), CloudError>> {
        Box::pin(self.cancel_refresh_now(group))
    }
}

#[cfg(test)]
mod policy_tests;
