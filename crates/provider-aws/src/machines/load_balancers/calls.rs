//! Calls to classic and network load balancers. Every page is one counted call.

use aws_sdk_elasticloadbalancing as classic;
use aws_sdk_elasticloadbalancingv2 as network;
use classic::types::LoadBalancerDescription;
use network::types::{TargetDescription, TargetHealthStateEnum, TargetTypeEnum};

use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::machines::errors::is_missing;
use crate::quiet::quiet;
use crate::responses::CompleteResponses;

pub(crate) struct Balancers<'a> {
    ec2: &'a Ec2,
    classic: classic::Client,
    network: network::Client,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) arn: String,
    /// Whether its targets are IP addresses instead of instances.
    pub(crate) by_ip: bool,
    pub(crate) vpc: Option<String>,
    pub(crate) targets: Vec<String>,
}

impl<'a> Balancers<'a> {
    /// Uses the credentials of the EC2 client.
    pub(crate) fn of(ec2: &'a Ec2, endpoint: Option<&str>) -> Self {
        let mut classic =
            classic::config::Builder::from(&ec2.shared).interceptor(CompleteResponses);
        let mut network =
            network::config::Builder::from(&ec2.shared).interceptor(CompleteResponses);
        if let Some(endpoint) = endpoint {
            classic = classic.endpoint_url(endpoint);
            network = network.endpoint_url(endpoint);
        }
        Self {
            ec2,
            classic: classic::Client::from_conf(classic.build()),
            network: network::Client::from_conf(network.build()),
        }
    }

    pub(crate) async fn instances(&self, name: &str) -> Result<Vec<String>, AwsError> {
        let call = self.classic.describe_load_balancers().load_balancer_names(name);
        let answer = self.ec2.record("DescribeLoadBalancers", quiet(call.send()).await)?;
        let known =
            answer.load_balancer_descriptions().iter().flat_map(LoadBalancerDescription::instances);
        Ok(known.filter_map(|instance| instance.instance_id()).map(str::to_owned).collect())
    }

    pub(crate) async fn add_instance(&self, name: &str, id: &str) -> Result<(), AwsError> {
        let instance = classic::types::Instance::builder().instance_id(id).build();
        let call = self.classic.register_instances_with_load_balancer();
        let call = call.load_balancer_name(name).instances(instance);
        self.ec2.record("RegisterInstancesWithLoadBalancer", quiet(call.send()).await).map(drop)
    }

    pub(crate) async fn remove_instance(&self, name: &str, id: &str) -> Result<(), AwsError> {
        let instance = classic::types::Instance::builder().instance_id(id).build();
        let call = self.classic.deregister_instances_from_load_balancer();
        let call = call.load_balancer_name(name).instances(instance);
        self.ec2.record("DeregisterInstancesFromLoadBalancer", quiet(call.send()).await).map(drop)
    }

    pub(crate) async fn groups(&self, name: &str) -> Result<Vec<Group>, AwsError> {
        let call = self.network.describe_load_balancers().names(name);
        let answer = self.ec2.record("DescribeLoadBalancers", quiet(call.send()).await)?;
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
                groups.push(Group { arn: arn.to_owned(), by_ip, vpc, targets });
            }
        }
        Ok(groups)
    }

    /// The targets, without draining ones.
    async fn targets(&self, group: &str) -> Result<Vec<String>, AwsError> {
        let call = self.network.describe_target_health().target_group_arn(group);
        let answer = self.ec2.record("DescribeTargetHealth", quiet(call.send()).await)?;
        let staying = answer.target_health_descriptions().iter().filter(|target| {
            let state = target.target_health().and_then(|health| health.state());
            state != Some(&TargetHealthStateEnum::Draining)
        });
        let ids = staying.filter_map(|target| target.target().and_then(|target| target.id()));
        Ok(ids.map(str::to_owned).collect())
    }

    pub(crate) async fn add_target(&self, group: &str, target: &str) -> Result<(), AwsError> {
        let target = TargetDescription::builder().id(target).build();
        let call = self.network.register_targets().target_group_arn(group).targets(target);
        self.ec2.record("RegisterTargets", quiet(call.send()).await).map(drop)
    }

    pub(crate) async fn remove_target(&self, group: &str, target: &str) -> Result<(), AwsError> {
        let target = TargetDescription::builder().id(target).build();
        let call = self.network.deregister_targets().target_group_arn(group).targets(target);
        self.ec2.record("DeregisterTargets", quiet(call.send()).await).map(drop)
    }
}
