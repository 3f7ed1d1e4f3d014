//! Calls to classic and network load balancers. Every page is one counted call.

use aws_sdk_elasticloadbalancing as classic;
use aws_sdk_elasticloadbalancingv2 as network;
use classic::types::LoadBalancerDescription;
use machinist_provider::cloud::CloudError;
use network::types::{TargetDescription, TargetHealthStateEnum, TargetTypeEnum};

use super::LoadBalancerKey;
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::fence::Fence;
use crate::machines::cluster_settings::ClusterSettings;
use crate::machines::errors::is_missing;
use crate::messages;
use crate::quiet::quiet;
use crate::responses::CompleteResponses;

pub(crate) struct Balancers<'a> {
    ec2: &'a Ec2,
    classic: classic::Client,
    network: network::Client,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// The ARN of the group, or the name of the classic load balancer.
    id: String,
    is_classic: bool,
    /// Whether its targets are IP addresses instead of instances.
    pub(crate) by_ip: bool,
    pub(crate) vpc: Option<String>,
    pub(crate) targets: Vec<String>,
}

impl<'a> Balancers<'a> {
    pub(crate) fn of(ec2: &'a Ec2, settings: &ClusterSettings) -> Self {
        let mut classic = classic::config::Builder::from(&ec2.shared)
            .interceptor(CompleteResponses)
            .interceptor(Fence);
        let mut network = network::config::Builder::from(&ec2.shared)
            .interceptor(CompleteResponses)
            .interceptor(Fence);
        if let Some(endpoint) = settings.endpoint("elasticloadbalancing") {
            classic = classic.endpoint_url(endpoint);
            network = network.endpoint_url(endpoint);
        }
        Self {
            ec2,
            classic: classic::Client::from_conf(classic.build()),
            network: network::Client::from_conf(network.build()),
        }
    }

    /// AWS does not name the load balancer.
    pub(crate) fn classify(&self, (_, _, name): &LoadBalancerKey, error: &AwsError) -> CloudError {
        let error = self.ec2.classify(error);
        let message = messages::load_balancer_failed(name, &error.message);
        CloudError { message, ..error }
    }

    pub(crate) async fn groups(
        &self,
        (_, is_classic, name): &LoadBalancerKey,
    ) -> Result<Vec<Group>, AwsError> {
        if !is_classic {
            return self.target_groups(name).await;
        }
        let call = self.classic.describe_load_balancers().load_balancer_names(name);
        let answer = self.ec2.call("DescribeLoadBalancers", call.send()).await?;
        let known =
            answer.load_balancer_descriptions().iter().flat_map(LoadBalancerDescription::instances);
        let ids = known.filter_map(|instance| instance.instance_id()).map(str::to_owned);
        let (id, targets) = (name.clone(), ids.collect());
        Ok(vec![Group { id, is_classic: true, by_ip: false, vpc: None, targets }])
    }

    async fn target_groups(&self, name: &str) -> Result<Vec<Group>, AwsError> {
        let call = self.network.describe_load_balancers().names(name);
        let answer = self.ec2.call("DescribeLoadBalancers", call.send()).await?;
        let arn = answer.load_balancers().iter().find_map(|some| some.load_balancer_arn());
        let Some(arn) = arn else { return Ok(Vec::new()) };
        let call = self.network.describe_target_groups().load_balancer_arn(arn);
        let mut pages = call.into_paginator().send();
        let mut groups = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            for group in self.ec2.record("DescribeTargetGroups", page)?.target_groups() {
                let by_ip = match group.target_type() {
                    Some(TargetTypeEnum::Ip) => true,
                    Some(TargetTypeEnum::Instance) => false,
                    _ => continue,
                };
                let Some(arn) = group.target_group_arn() else { continue };
                let targets = match self.targets(arn).await {
                    // It was deleted after it was listed.
                    Err(error) if is_missing(&error) => continue,
                    targets => targets?,
                };
                let vpc = group.vpc_id().map(str::to_owned);
                groups.push(Group { id: arn.to_owned(), is_classic: false, by_ip, vpc, targets });
            }
        }
        Ok(groups)
    }

    async fn targets(&self, group: &str) -> Result<Vec<String>, AwsError> {
        let call = self.network.describe_target_health().target_group_arn(group);
        let answer = self.ec2.call("DescribeTargetHealth", call.send()).await?;
        let staying = answer.target_health_descriptions().iter().filter(|target| {
            let state = target.target_health().and_then(|health| health.state());
            state != Some(&TargetHealthStateEnum::Draining)
        });
        let ids = staying.filter_map(|target| target.target().and_then(|target| target.id()));
        Ok(ids.map(str::to_owned).collect())
    }

    pub(crate) async fn add(&self, group: &Group, target: &str) -> Result<(), AwsError> {
        if group.is_classic {
            let instance = classic::types::Instance::builder().instance_id(target).build();
            let call = self.classic.register_instances_with_load_balancer();
            let call = call.load_balancer_name(&group.id).instances(instance);
            let sent = self.ec2.call("RegisterInstancesWithLoadBalancer", call.send());
            return sent.await.map(drop);
        }
        let target = TargetDescription::builder().id(target).build();
        let call = self.network.register_targets().target_group_arn(&group.id).targets(target);
        self.ec2.call("RegisterTargets", call.send()).await.map(drop)
    }

    pub(crate) async fn remove(&self, group: &Group, target: &str) -> Result<(), AwsError> {
        if group.is_classic {
            let instance = classic::types::Instance::builder().instance_id(target).build();
            let call = self.classic.deregister_instances_from_load_balancer();
            let call = call.load_balancer_name(&group.id).instances(instance);
            let sent = self.ec2.call("DeregisterInstancesFromLoadBalancer", call.send());
            return sent.await.map(drop);
        }
        let target = TargetDescription::builder().id(target).build();
        let call = self.network.deregister_targets().target_group_arn(&group.id).targets(target);
        self.ec2.call("DeregisterTargets", call.send()).await.map(drop)
    }
}
