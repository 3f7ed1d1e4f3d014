//! Calls to Auto Scaling, and to EC2 for the members of groups. Every page is one counted call.

use std::sync::Arc;

use aws_sdk_autoscaling::Client;
use aws_sdk_autoscaling::config::Builder;
use aws_sdk_autoscaling::types::{RefreshPreferences as Preferences, Tag};
use aws_sdk_ec2::types::Filter;
use machinist_provider::access::CloudAccess;
use machinist_provider::node_groups::{
    Group, GroupName, InstanceFacts, InstanceId, RefreshId, RefreshPreferences, Sizes,
};

use super::convert;
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

    pub(super) fn access(&self) -> &CloudAccess {
        &self.access
    }

    /// By filter: one unknown id would fail a call by id.
    pub(super) async fn instances(
        &self,
        ids: &[InstanceId],
    ) -> Result<Vec<InstanceFacts>, AwsError> {
        let values = ids.iter().map(ToString::to_string).collect();
        let filter = Filter::builder().name("instance-id").set_values(Some(values)).build();
        let found = self.ec2.instances(vec![filter]).await?;
        Ok(found.into_iter().map(convert::facts).collect())
    }

    /// Without hooks and refreshes, which need further calls.
    pub(super) async fn groups(&self, names: &[GroupName]) -> Result<Vec<Group>, AwsError> {
        let names = names.iter().map(ToString::to_string).collect();
        let call = self.scaling.describe_auto_scaling_groups();
        let call = call.set_auto_scaling_group_names(Some(names)).max_records(PAGE);
        let mut pages = call.into_paginator().send();
        let mut groups = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            let page = self.ec2.record("DescribeAutoScalingGroups", page)?;
            groups.extend(page.auto_scaling_groups().iter().filter_map(convert::group));
        }
        Ok(groups)
    }

    /// Adds hooks and the latest refresh.
    pub(super) async fn with_details(&self, mut group: Group) -> Result<Group, AwsError> {
        let name = group.name.to_string();
        let call = self.scaling.describe_lifecycle_hooks().auto_scaling_group_name(&name);
        let answer = self.ec2.record("DescribeLifecycleHooks", quiet(call.send()).await)?;
        group.hooks = answer.lifecycle_hooks().iter().filter_map(convert::hook).collect();

        let call = self.scaling.describe_instance_refreshes();
        let call = call.auto_scaling_group_name(name).max_records(1);
        let answer = self.ec2.record("DescribeInstanceRefreshes", quiet(call.send()).await)?;
        group.refresh = answer.instance_refreshes().first().and_then(convert::refresh);
        Ok(group)
    }

    /// Adds or replaces tags of the group, which are not propagated to instances.
    pub(super) async fn tag(
        &self,
        group: &GroupName,
        tags: Vec<(String, String)>,
    ) -> Result<(), AwsError> {
        let tag = |(key, value)| tag_of(group, key).value(value).propagate_at_launch(false).build();
        let tags = tags.into_iter().map(tag).collect();
        let call = self.scaling.create_or_update_tags().set_tags(Some(tags));
        self.ec2.record("CreateOrUpdateTags", quiet(call.send()).await).map(drop)
    }

    /// Removes tags, set or not.
    pub(super) async fn untag(
        &self,
        group: &GroupName,
        keys: impl Iterator<Item = String>,
    ) -> Result<(), AwsError> {
        let tags = keys.map(|key| tag_of(group, key).build()).collect();
        let call = self.scaling.delete_tags().set_tags(Some(tags));
        self.ec2.record("DeleteTags", quiet(call.send()).await).map(drop)
    }

    pub(super) async fn terminate(&self, id: &InstanceId) -> Result<(), AwsError> {
        let call = self.scaling.terminate_instance_in_auto_scaling_group();
        let call = call.instance_id(&*id.0).should_decrement_desired_capacity(false);
        let answer = quiet(call.send()).await;
        self.ec2.record("TerminateInstanceInAutoScalingGroup", answer).map(drop)
    }

    pub(super) async fn resize(&self, group: &GroupName, to: Sizes) -> Result<(), AwsError> {
        let size = |size: u32| i32::try_from(size).unwrap_or(i32::MAX);
        let call = self
            .scaling
            .update_auto_scaling_group()
            .auto_scaling_group_name(&*group.0)
            .min_size(size(to.min))
            .max_size(size(to.max))
            .desired_capacity(size(to.desired));
        self.ec2.record("UpdateAutoScalingGroup", quiet(call.send()).await).map(drop)
    }

    pub(super) async fn start_refresh(
        &self,
        group: &GroupName,
        preferences: RefreshPreferences,
    ) -> Result<RefreshId, AwsError> {
        const OPERATION: &str = "StartInstanceRefresh";
        // Members that match the launch template are replaced too.
        let preferences = Preferences::builder()
            .min_healthy_percentage(preferences.min_healthy.min(100).into())
            .skip_matching(false)
            .build();
        let call = self.scaling.start_instance_refresh().auto_scaling_group_name(&*group.0);
        let answer = quiet(call.preferences(preferences).send()).await;
        let answer = self.ec2.record(OPERATION, answer)?;
        let id = answer.instance_refresh_id().ok_or_else(|| AwsError::InvalidResponse {
            operation: OPERATION,
            status: 200,
            reason: messages::NO_REFRESH_ID.to_owned(),
        })?;
        Ok(RefreshId(id.into()))
    }

    pub(super) async fn cancel_refresh(&self, group: &GroupName) -> Result<(), AwsError> {
        let call = self.scaling.cancel_instance_refresh().auto_scaling_group_name(&*group.0);
        self.ec2.record("CancelInstanceRefresh", quiet(call.send()).await).map(drop)
    }
}

fn tag_of(group: &GroupName, key: String) -> aws_sdk_autoscaling::types::builders::TagBuilder {
    Tag::builder().resource_type(RESOURCE).resource_id(&*group.0).key(key)
}
