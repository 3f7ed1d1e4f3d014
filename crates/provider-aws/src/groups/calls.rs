//! Calls to Auto Scaling, and to EC2 for the members of groups. Every page is one counted call.

use std::error::Error;
use std::sync::Arc;

use aws_sdk_autoscaling::Client;
use aws_sdk_autoscaling::config::Builder;
use aws_sdk_autoscaling::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_autoscaling::types::builders::TagBuilder;
use aws_sdk_autoscaling::types::{RefreshPreferences, Tag};
use aws_sdk_ec2::types::Filter;
use machinist_provider::cloud::{CloudError, ErrorClass};
use machinist_provider::node_groups::{
    Group, GroupError, GroupName, GroupRef, InstanceFacts, InstanceId, Sizes, mark,
};

use super::convert;
use super::errors::{classify_group_error, is_no_refresh, is_refresh_running};
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::fence::Fence;
use crate::messages;
use crate::quiet::quiet;
use crate::responses::CompleteResponses;

const PAGE: i32 = 100;
const RESOURCE: &str = "auto-scaling-group";

pub(super) struct Caller {
    ec2: Arc<Ec2>,
    scaling: Client,
}

impl Caller {
    /// Uses the credentials of the EC2 client. `endpoint` is that of Auto Scaling, if it is a custom one.
    pub(super) fn new(ec2: Arc<Ec2>, endpoint: Option<&str>) -> Self {
        let mut config =
            Builder::from(&ec2.shared).interceptor(CompleteResponses).interceptor(Fence);
        if let Some(endpoint) = endpoint {
            config = config.endpoint_url(endpoint);
        }
        Self { ec2, scaling: Client::from_conf(config.build()) }
    }

    fn call<T, E>(
        &self,
        operation: &'static str,
        request: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> impl Future<Output = Result<T, CloudError>>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        let answer = self.ec2.call(operation, request);
        async move { answer.await.map_err(|error| self.classified(&error)) }
    }

    fn classified(&self, error: &AwsError) -> CloudError {
        classify_group_error(error, &self.ec2.access)
    }

    /// By filter: one unknown id would fail a call by id.
    pub(super) async fn instances(
        &self,
        ids: &[InstanceId],
    ) -> Result<Vec<InstanceFacts>, CloudError> {
        let values = ids.iter().map(ToString::to_string).collect();
        let filter = Filter::builder().name("instance-id").set_values(Some(values)).build();
        let found = self.ec2.instances(vec![filter]).await;
        let found = found.map_err(|error| self.classified(&error))?;
        Ok(found.into_iter().map(convert::facts).collect())
    }

    /// Without hooks and refreshes, which need further calls.
    pub(super) async fn groups(&self, names: &[GroupName]) -> Result<Vec<Group>, CloudError> {
        let names = names.iter().map(ToString::to_string).collect();
        let call = self.scaling.describe_auto_scaling_groups();
        let call = call.set_auto_scaling_group_names(Some(names)).max_records(PAGE);
        let mut pages = call.into_paginator().send();
        let mut groups = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            let page = self.ec2.record("DescribeAutoScalingGroups", page);
            let page = page.map_err(|error| self.classified(&error))?;
            groups.extend(page.auto_scaling_groups().iter().filter_map(convert::group));
        }
        Ok(groups)
    }

    /// Without hooks and refreshes.
    async fn existing(&self, name: &GroupName) -> Result<Group, CloudError> {
        let found = self.groups(std::slice::from_ref(name)).await?.pop();
        found.ok_or_else(|| CloudError::new(ErrorClass::NotFound, messages::no_such_group(name)))
    }

    pub(super) async fn with_details(&self, mut group: Group) -> Result<Group, CloudError> {
        let name = group.name.to_string();
        let call = self.scaling.describe_lifecycle_hooks().auto_scaling_group_name(&name);
        let answer = self.call("DescribeLifecycleHooks", call.send()).await?;
        group.hooks = answer.lifecycle_hooks().iter().filter_map(convert::hook).collect();

        let call = self.scaling.describe_instance_refreshes();
        let call = call.auto_scaling_group_name(name).max_records(1);
        let answer = self.call("DescribeInstanceRefreshes", call.send()).await?;
        group.refresh = answer.instance_refreshes().first().and_then(convert::refresh);
        Ok(group)
    }

    pub(super) async fn mark(&self, name: &GroupName, text: &str) -> Result<(), CloudError> {
        if !mark::fits(text) {
            let message = messages::mark_too_long(text.len());
            return Err(CloudError::new(ErrorClass::InvalidConfiguration, message));
        }
        let tag = |(key, value)| tag_of(name, key).value(value).propagate_at_launch(false).build();
        let tags = mark::to_tags(text).into_iter().map(tag).collect();
        let call = self.scaling.create_or_update_tags().set_tags(Some(tags));
        self.call("CreateOrUpdateTags", call.send()).await.map(drop)
    }

    pub(super) async fn unmark(&self, name: &GroupName) -> Result<(), CloudError> {
        if self.groups(std::slice::from_ref(name)).await?.is_empty() {
            return Ok(());
        }
        let tags = mark::keys().map(|key| tag_of(name, key).build()).collect();
        let call = self.scaling.delete_tags().set_tags(Some(tags));
        match self.call("DeleteTags", call.send()).await {
            Err(error) if error.class == ErrorClass::NotFound => Ok(()),
            removed => removed.map(drop),
        }
    }

    /// `TerminateInstanceInAutoScalingGroup` does not take a group, so membership is checked first.
    pub(super) async fn terminate(
        &self,
        group: &GroupRef,
        id: &InstanceId,
    ) -> Result<(), CloudError> {
        let found = self.existing(&group.name).await?;
        let Some(member) = found.members.iter().find(|member| member.id == *id) else {
            let message = messages::not_a_member(id, group);
            return Err(CloudError::new(ErrorClass::NotFound, message));
        };
        if member.lifecycle.is_leaving() {
            return Ok(());
        }
        let call = self.scaling.terminate_instance_in_auto_scaling_group();
        let call = call.instance_id(&*id.0).should_decrement_desired_capacity(false);
        self.call("TerminateInstanceInAutoScalingGroup", call.send()).await.map(drop)
    }

    pub(super) async fn resize(
        &self,
        name: &GroupName,
        from: Sizes,
        to: Sizes,
    ) -> Result<(), GroupError> {
        let found = self.existing(name).await?.sizes;
        if found == to {
            return Ok(());
        }
        if found != from {
            return Err(GroupError::Changed { found });
        }
        let size = |size: u32| i32::try_from(size).unwrap_or(i32::MAX);
        let call = self
            .scaling
            .update_auto_scaling_group()
            .auto_scaling_group_name(&*name.0)
            .min_size(size(to.min))
            .max_size(size(to.max))
            .desired_capacity(size(to.desired));
        self.call("UpdateAutoScalingGroup", call.send()).await?;
        Ok(())
    }

    pub(super) async fn start_refresh(
        &self,
        group: &GroupName,
        min_healthy: u8,
    ) -> Result<(), GroupError> {
        const OPERATION: &str = "StartInstanceRefresh";
        // Members that match the launch template are replaced too.
        let preferences = RefreshPreferences::builder()
            .min_healthy_percentage(min_healthy.min(100).into())
            .skip_matching(false)
            .build();
        let call = self.scaling.start_instance_refresh().auto_scaling_group_name(&*group.0);
        let error = match self.ec2.call(OPERATION, call.preferences(preferences).send()).await {
            Ok(answer) if answer.instance_refresh_id().is_some() => return Ok(()),
            Ok(_) => AwsError::incomplete(OPERATION, messages::NO_REFRESH_ID),
            Err(error) if is_refresh_running(&error) => return Err(GroupError::RefreshRunning),
            Err(error) => error,
        };
        Err(self.classified(&error).into())
    }

    /// Succeeds also without a refresh.
    pub(super) async fn cancel_refresh(&self, group: &GroupName) -> Result<(), CloudError> {
        let call = self.scaling.cancel_instance_refresh().auto_scaling_group_name(&*group.0);
        match self.ec2.call("CancelInstanceRefresh", call.send()).await {
            Err(error) if !is_no_refresh(&error) => Err(self.classified(&error)),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn tag_of(group: &GroupName, key: String) -> TagBuilder {
    Tag::builder().resource_type(RESOURCE).resource_id(&*group.0).key(key)
}
