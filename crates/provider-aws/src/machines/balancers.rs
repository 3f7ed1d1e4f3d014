//! The calls to load balancing, classic and network. Every page is one call, counted by the witness.

use std::error::Error;

use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_elasticloadbalancing as classic;
use aws_sdk_elasticloadbalancingv2 as network;
use classic::types::LoadBalancerDescription;
use network::types::{TargetDescription, TargetHealthStateEnum, TargetTypeEnum};

use super::errors::is_missing;
use crate::answers::WholeDocuments;
use crate::ec2::Ec2;
use crate::errors::AwsError;
use crate::quiet::quiet;

/// Load balancing, asked as the client of EC2 that it was made from.
pub(super) struct Balancers<'a> {
    ec2: &'a Ec2,
    classic: classic::Client,
    network: network::Client,
}

/// A target group of a network load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) arn: String,
    /// Whether its targets are addresses, and not instances.
    pub(super) by_ip: bool,
    /// The network that its addresses are in.
    pub(super) vpc: Option<String>,
    pub(super) targets: Vec<String>,
}

impl<'a> Balancers<'a> {
    /// As the same identity, at this endpoint if it is not the usual one.
    pub(super) fn of(ec2: &'a Ec2, endpoint: Option<&str>) -> Self {
        let mut classic = classic::config::Builder::from(&ec2.shared).interceptor(WholeDocuments);
        let mut network = network::config::Builder::from(&ec2.shared).interceptor(WholeDocuments);
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

    /// The ids of the instances that a classic load balancer knows.
    pub(super) async fn instances(&self, name: &str) -> Result<Vec<String>, AwsError> {
        let call = self.classic.describe_load_balancers().load_balancer_names(name);
        let answer = self.heard("DescribeLoadBalancers", quiet(call.send()).await)?;
        let known =
            answer.load_balancer_descriptions().iter().flat_map(LoadBalancerDescription::instances);
        Ok(known.filter_map(|instance| instance.instance_id()).map(str::to_owned).collect())
    }

    pub(super) async fn add_instance(&self, name: &str, id: &str) -> Result<(), AwsError> {
        let instance = classic::types::Instance::builder().instance_id(id).build();
        let call = self.classic.register_instances_with_load_balancer();
        let call = call.load_balancer_name(name).instances(instance);
        self.heard("RegisterInstancesWithLoadBalancer", quiet(call.send()).await).map(drop)
    }

    pub(super) async fn remove_instance(&self, name: &str, id: &str) -> Result<(), AwsError> {
        let instance = classic::types::Instance::builder().instance_id(id).build();
        let call = self.classic.deregister_instances_from_load_balancer();
        let call = call.load_balancer_name(name).instances(instance);
        self.heard("DeregisterInstancesFromLoadBalancer", quiet(call.send()).await).map(drop)
    }

    /// The target groups of a network load balancer, with their targets.
    pub(super) async fn groups(&self, name: &str) -> Result<Vec<Group>, AwsError> {
        let call = self.network.describe_load_balancers().names(name);
        let answer = self.heard("DescribeLoadBalancers", quiet(call.send()).await)?;
        let arn = answer.load_balancers().iter().find_map(|some| some.load_balancer_arn());
        let Some(arn) = arn else { return Ok(Vec::new()) };
        let call = self.network.describe_target_groups().load_balancer_arn(arn);
        let mut pages = call.into_paginator().send();
        let mut groups = Vec::new();
        while let Some(page) = quiet(pages.next()).await {
            for group in self.heard("DescribeTargetGroups", page)?.target_groups() {
                let by_ip = match group.target_type() {
                    Some(TargetTypeEnum::Ip) => true,
                    Some(TargetTypeEnum::Instance) => false,
                    _ => continue,
                };
                let Some(arn) = group.target_group_arn() else { continue };
                let targets = match self.targets(arn).await {
                    // It went after it was listed.
                    Err(error) if is_missing(&error) => continue,
                    targets => targets?,
                };
                let vpc = group.vpc_id().map(str::to_owned);
                groups.push(Group { arn: arn.to_owned(), by_ip, vpc, targets });
            }
        }
        Ok(groups)
    }

    /// What a target group sends requests to; those that are on their way out are none.
    async fn targets(&self, group: &str) -> Result<Vec<String>, AwsError> {
        let call = self.network.describe_target_health().target_group_arn(group);
        let answer = self.heard("DescribeTargetHealth", quiet(call.send()).await)?;
        let staying = answer.target_health_descriptions().iter().filter(|target| {
            let state = target.target_health().and_then(|health| health.state());
            state != Some(&TargetHealthStateEnum::Draining)
        });
        let ids = staying.filter_map(|target| target.target().and_then(|target| target.id()));
        Ok(ids.map(str::to_owned).collect())
    }

    pub(super) async fn add_target(&self, group: &str, target: &str) -> Result<(), AwsError> {
        let target = TargetDescription::builder().id(target).build();
        let call = self.network.register_targets().target_group_arn(group).targets(target);
        self.heard("RegisterTargets", quiet(call.send()).await).map(drop)
    }

    pub(super) async fn remove_target(&self, group: &str, target: &str) -> Result<(), AwsError> {
        let target = TargetDescription::builder().id(target).build();
        let call = self.network.deregister_targets().target_group_arn(group).targets(target);
        self.heard("DeregisterTargets", quiet(call.send()).await).map(drop)
    }
}
