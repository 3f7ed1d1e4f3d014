//! Calls to Auto Scaling, and to EC2 for the members of groups. Every page is one counted call.

use std::error::Error;
use std::sync::Arc;

use aws_sdk_autoscaling::Client;
use aws_sdk_autoscaling::config::Builder;
use aws_sdk_autoscaling::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_autoscaling::types::builders::TagBuilder;
use aws_sdk_autoscaling::types::{RefreshPreferences, Tag};
use aws_sdk_ec2::types::Filter;
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::CloudError;
use machinist_provider::node_groups::{
    Group, GroupError, GroupName, InstanceFacts, InstanceId, Sizes,
};

use super::convert;
use super::errors::{classify_group_error, is_no_refresh, is_refresh_running};
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::messages;
use crate::quiet::quiet;
use crate::responses::CompleteResponses;

const PAGE: i32 = 100;
const RESOURCE: &str = "auto-scaling-group";

pub(super) struct Caller {
    ec2: Arc<Ec2>,
    scaling: Client,
    access: CloudAccess,
}

impl Caller {
    /// Uses the credentials and the custom endpoint of the EC2 client.
    pub(super) fn new(ec2: Arc<Ec2>, access: CloudAccess) -> Self {
        let mut config = Builder::from(&ec2.shared).interceptor(CompleteResponses);
        if let Some(endpoint) = &access.endpoint {
            config = config.endpoint_url(&**endpoint);
        }
        Self { ec2, scaling: Client::from_conf(config.build()), access }
    }

    fn record<T, E>(
        &self,
        operation: &'static str,
        answer: Result<T, SdkError<E>>,
    ) -> Result<T, CloudError>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        self.ec2.record(operation, answer).map_err(|error| self.classified(&error))
    }

    fn classified(&self, error: &AwsError) -> CloudError {
        classify_group_error(error, &self.access)
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
            let page = self.record("DescribeAutoScalingGroups", page)?;
            groups.extend(page.auto_scaling_groups().iter().filter_map(convert::group));
        }
        Ok(groups)
    }

    pub(super) async fn with_details(&self, mut group: Group) -> Result<Group, CloudError> {
        let name = group.name.to_string();
        let call = self.scaling.describe_lifecycle_hooks().auto_scaling_group_name(&name);
        let answer = self.record("DescribeLifecycleHooks", quiet(call.send()).await)?;
        group.hooks = answer.lifecycle_hooks().iter().filter_map(convert::hook).collect();

        let call = self.scaling.describe_instance_refreshes();
        let call = call.auto_scaling_group_name(name).max_records(1);
        let answer = self.record("DescribeInstanceRefreshes", quiet(call.send()).await)?;
        group.refresh = answer.instance_refreshes().first().and_then(convert::refresh);
        Ok(group)
    }

    pub(super) async fn tag(
        &self,
        group: &GroupName,
        tags: Vec<(String, String)>,
    ) -> Result<(), CloudError> {
        let tag = |(key, value)| tag_of(group, key).value(value).propagate_at_launch(false).build();
        let tags = tags.into_iter().map(tag).collect();
        let call = self.scaling.create_or_update_tags().set_tags(Some(tags));
        self.record("CreateOrUpdateTags", quiet(call.send()).await).map(drop)
    }

    pub(super) async fn untag(
        &self,
        group: &GroupName,
        keys: impl Iterator<Item = String>,
    ) -> Result<(), CloudError> {
        let tags = keys.map(|key| tag_of(group, key).build()).collect();
        let call = self.scaling.delete_tags().set_tags(Some(tags));
        self.record("DeleteTags", quiet(call.send()).await).map(drop)
    }

    pub(super) async fn terminate(&self, id: &InstanceId) -> Result<(), CloudError> {
        let call = self.scaling.terminate_instance_in_auto_scaling_group();
        let call = call.instance_id(&*id.0).should_decrement_desired_capacity(false);
        let answer = quiet(call.send()).await;
        self.record("TerminateInstanceInAutoScalingGroup", answer).map(drop)
    }

    pub(super) async fn resize(&self, group: &GroupName, to: Sizes) -> Result<(), CloudError> {
        let size = |size: u32| i32::try_from(size).unwrap_or(i32::MAX);
        let call = self
            .scaling
            .update_auto_scaling_group()
            .auto_scaling_group_name(&*group.0)
            .min_size(size(to.min))
            .max_size(size(to.max))
            .desired_capacity(size(to.desired));
        self.record("UpdateAutoScalingGroup", quiet(call.send()).await).map(drop)
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
        let answer = quiet(call.preferences(preferences).send()).await;
        let error = match self.ec2.record(OPERATION, answer) {
            Ok(answer) if answer.instance_refresh_id().is_some() => return Ok(()),
            Ok(_) => AwsError::InvalidResponse {
                operation: OPERATION,
                status: 200,
                reason: messages::NO_REFRESH_ID.to_owned(),
            },
            Err(error) if is_refresh_running(&error) => return Err(GroupError::RefreshRunning),
            Err(error) => error,
        };
        Err(self.classified(&error).into())
    }

    /// Succeeds also without a refresh.
    pub(super) async fn cancel_refresh(&self, group: &GroupName) -> Result<(), CloudError> {
        let call = self.scaling.cancel_instance_refresh().auto_scaling_group_name(&*group.0);
        match self.ec2.record("CancelInstanceRefresh", quiet(call.send()).await) {
            Err(error) if !is_no_refresh(&error) => Err(self.classified(&error)),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn tag_of(group: &GroupName, key: String) -> TagBuilder {
    Tag::builder().resource_type(RESOURCE).resource_id(&*group.0).key(key)
}
