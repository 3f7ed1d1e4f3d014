//! The calls to Auto Scaling, and to EC2 about the members of groups. Every page is one call, counted by the witness. SDK structures get no
//! further than this file and `convert`.

use std::error::Error;
use std::sync::Arc;

use aws_sdk_autoscaling::Client;
use aws_sdk_autoscaling::config::Builder;
use aws_sdk_autoscaling::types::{RefreshPreferences as Preferences, Tag};
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_ec2::types::Filter;
use machinist_provider::capacity::Realm;
use machinist_provider::node_groups::{
    Group, GroupName, InstanceFacts, InstanceId, RefreshId, RefreshPreferences, Sizes,
};

use super::convert;
use crate::answers::WholeDocuments;
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::quiet::quiet;

/// The most groups that Auto Scaling puts on a page.
const PAGE: i32 = 100;
const RESOURCE: &str = "auto-scaling-group";

/// Auto Scaling and EC2, asked as somebody in some region.
pub(super) struct Caller {
    ec2: Arc<Ec2>,
    scaling: Client,
    realm: Realm,
}

impl Caller {
    /// As the same identity as the client of EC2, and at the same endpoint if it is not the usual one.
    pub(super) fn new(ec2: Arc<Ec2>, realm: Realm) -> Self {
        let mut config = Builder::from(&ec2.shared).interceptor(WholeDocuments);
        if let Some(endpoint) = &realm.endpoint {
            config = config.endpoint_url(&**endpoint);
        }
        Self { ec2, scaling: Client::from_conf(config.build()), realm }
    }

    pub(super) fn realm(&self) -> &Realm {
        &self.realm
    }

    fn heard<T, E>(
        &self,
        operation: &'static str,
        answer: Result<T, SdkError<E>>,
    ) -> Result<T, AwsError>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        self.ec2.witnessed(operation, answer)
    }

    /// What EC2 knows of these. By filter and not by id: one unknown id would fail the whole call.
    pub(super) async fn instances(
        &self,
        ids: &[InstanceId],
    ) -> Result<Vec<InstanceFacts>, AwsError> {
        let values = ids.iter().map(ToString::to_string).collect();
        let filter = Filter::builder().name("instance-id").set_values(Some(values)).build();
        let found = self.ec2.instances(vec![filter]).await?;
        Ok(found.into_iter().map(convert::facts).collect())
    }

    /// These groups, without what only further calls tell.
    pub(super) async fn groups(&self, names: &[GroupName]) -> Result<Vec<Group>, AwsError> {
        let names = names.iter().map(ToString::to_string).collect();
        let call = self.scaling.describe_auto_scaling_groups();
        let call = call.set_auto_scaling_group_names(Some(names)).max_records(PAGE);
        let mut pages = call.into_paginator().send();
        let mut groups = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            let page = self.heard("DescribeAutoScalingGroups", page)?;
            groups.extend(page.auto_scaling_groups().iter().filter_map(convert::group));
        }
        Ok(groups)
    }

    /// Adds what a description of a group does not say: hooks, and the newest refresh.
    pub(super) async fn surroundings(&self, mut group: Group) -> Result<Group, AwsError> {
        let name = group.name.to_string();
        let call = self.scaling.describe_lifecycle_hooks().auto_scaling_group_name(&name);
        let answer = self.heard("DescribeLifecycleHooks", quiet(call.send()).await)?;
        group.hooks = answer.lifecycle_hooks().iter().filter_map(convert::hook).collect();

        let call = self.scaling.describe_instance_refreshes();
        let call = call.auto_scaling_group_name(name).max_records(1);
        let answer = self.heard("DescribeInstanceRefreshes", quiet(call.send()).await)?;
        group.refresh = answer.instance_refreshes().first().and_then(convert::refresh);
        Ok(group)
    }

    /// Adds or replaces tags of the group; its instances do not get them.
    pub(super) async fn tag(
        &self,
        group: &GroupName,
        tags: Vec<(String, String)>,
    ) -> Result<(), AwsError> {
        let tag = |(key, value)| tag_of(group, key).value(value).propagate_at_launch(false).build();
        let tags = tags.into_iter().map(tag).collect();
        let call = self.scaling.create_or_update_tags().set_tags(Some(tags));
        self.heard("CreateOrUpdateTags", quiet(call.send()).await).map(drop)
    }

    /// Removes tags of the group, whether it has them or not.
    pub(super) async fn untag(
        &self,
        group: &GroupName,
        keys: impl Iterator<Item = String>,
    ) -> Result<(), AwsError> {
        let tags = keys.map(|key| tag_of(group, key).build()).collect();
        let call = self.scaling.delete_tags().set_tags(Some(tags));
        self.heard("DeleteTags", quiet(call.send()).await).map(drop)
    }

    pub(super) async fn terminate(&self, id: &InstanceId) -> Result<(), AwsError> {
        let call = self.scaling.terminate_instance_in_auto_scaling_group();
        let call = call.instance_id(&*id.0).should_decrement_desired_capacity(false);
        let answer = quiet(call.send()).await;
        self.heard("TerminateInstanceInAutoScalingGroup", answer).map(drop)
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
        self.heard("UpdateAutoScalingGroup", quiet(call.send()).await).map(drop)
    }

    pub(super) async fn start_refresh(
        &self,
        group: &GroupName,
        preferences: RefreshPreferences,
    ) -> Result<RefreshId, AwsError> {
        const OPERATION: &str = "StartInstanceRefresh";
        // Members that match the launch template are replaced too: they are ill, not old.
        let preferences = Preferences::builder()
            .min_healthy_percentage(preferences.min_healthy.min(100).into())
            .skip_matching(false)
            .build();
        let call = self.scaling.start_instance_refresh().auto_scaling_group_name(&*group.0);
        let answer = quiet(call.preferences(preferences).send()).await;
        let answer = self.heard(OPERATION, answer)?;
        let id = answer.instance_refresh_id().ok_or_else(|| AwsError::Garbled {
            operation: OPERATION,
            status: 200,
            reason: "it names no refresh".to_owned(),
        })?;
        Ok(RefreshId(id.into()))
    }

    pub(super) async fn cancel_refresh(&self, group: &GroupName) -> Result<(), AwsError> {
        let call = self.scaling.cancel_instance_refresh().auto_scaling_group_name(&*group.0);
        self.heard("CancelInstanceRefresh", quiet(call.send()).await).map(drop)
    }
}

fn tag_of(group: &GroupName, key: String) -> aws_sdk_autoscaling::types::builders::TagBuilder {
    Tag::builder().resource_type(RESOURCE).resource_id(&*group.0).key(key)
}
