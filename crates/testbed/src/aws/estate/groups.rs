//! Auto Scaling groups of an estate. Their members carry the cluster's tag, so they are in its truth, and
//! [`Kubelets`](crate::aws::Kubelets) register Nodes for them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::Estate;
use super::wire::Service;
use crate::aws::front::xml::Element;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFacts {
    /// Minimum, maximum, desired.
    pub sizes: [u32; 3],
    pub members: Vec<String>,
    pub tags: BTreeMap<String, String>,
}

impl Estate {
    /// The tags go on to the members. Returns their ids.
    pub async fn create_group(
        &self,
        name: &str,
        sizes: [u32; 3],
        tags: &[(&str, &str)],
    ) -> Result<Vec<String>> {
        let configuration = [
            ("LaunchConfigurationName", name),
            ("ImageId", &*self.images[0]),
            ("InstanceType", "m5.large"),
        ];
        self.scaling("CreateLaunchConfiguration", &configuration).await?;
        let cluster = self.cluster_tag();
        let tags: Vec<_> = tags.iter().copied().chain([(&*cluster, "owned")]).collect();
        let keys: Vec<_> = (1..=tags.len())
            .map(|n| {
                ["Key", "Value", "PropagateAtLaunch"].map(|part| format!("Tags.member.{n}.{part}"))
            })
            .collect();
        let [min, max, desired] = sizes.map(|size| size.to_string());
        let mut group = vec![
            ("AutoScalingGroupName", name),
            ("LaunchConfigurationName", name),
            ("MinSize", &min),
            ("MaxSize", &max),
            ("DesiredCapacity", &desired),
            ("VPCZoneIdentifier", &*self.subnets[0]),
        ];
        for ([key, value, propagate], tag) in keys.iter().zip(&tags) {
            group.extend([(&**key, tag.0), (&**value, tag.1), (&**propagate, "true")]);
        }
        self.scaling("CreateAutoScalingGroup", &group).await?;
        let made = self.group(name).await?.context("the group was not made")?;
        Ok(made.members)
    }

    pub async fn group(&self, name: &str) -> Result<Option<GroupFacts>> {
        let named = [("AutoScalingGroupNames.member.1", name)];
        let answer = self.scaling("DescribeAutoScalingGroups", &named).await?;
        let groups = answer.all("AutoScalingGroups");
        let Some(group) = groups.iter().flat_map(|groups| &groups.children).next() else {
            return Ok(None);
        };
        let size = |field: &str| group.text_at(&[field]).parse().with_context(|| field.to_owned());
        let list = |field: &str| group.get(field).map(|list| &*list.children).unwrap_or_default();
        let text = |item: &Element, field: &str| item.text_at(&[field]);
        let mut members: Vec<_> =
            list("Instances").iter().map(|member| text(member, "InstanceId")).collect();
        members.sort();
        let tags = list("Tags").iter().map(|tag| (text(tag, "Key"), text(tag, "Value"))).collect();
        let sizes = [size("MinSize")?, size("MaxSize")?, size("DesiredCapacity")?];
        Ok(Some(GroupFacts { sizes, members, tags }))
    }

    pub async fn resize_group(&self, name: &str, sizes: [u32; 3]) -> Result<()> {
        let [min, max, desired] = sizes.map(|size| size.to_string());
        let sizes = [
            ("AutoScalingGroupName", name),
            ("MinSize", &min),
            ("MaxSize", &max),
            ("DesiredCapacity", &desired),
        ];
        self.scaling("UpdateAutoScalingGroup", &sizes).await.map(drop)
    }

    pub async fn suspend(&self, name: &str, process: &str) -> Result<()> {
        let process = [("AutoScalingGroupName", name), ("ScalingProcesses.member.1", process)];
        self.scaling("SuspendProcesses", &process).await.map(drop)
    }

    /// Anything else of Auto Scaling, past the front.
    pub async fn change_group(&self, action: &str, parameters: &[(&str, &str)]) -> Result<()> {
        self.scaling(action, parameters).await.map(drop)
    }

    async fn scaling(&self, action: &str, parameters: &[(&str, &str)]) -> Result<Element> {
        self.wire.ask(Service::Scaling, action, parameters).await
    }
}
