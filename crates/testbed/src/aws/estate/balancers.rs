use anyhow::Result;
use serde_json::{Value, json};

use super::Estate;
use super::wire::Service;

/// A classic load balancer, and a network one with a target group of instances and one of addresses.
#[derive(Debug)]
pub struct Balancers {
    groups: Vec<String>,
}

impl Estate {
    /// Load balancers have the estate's name, and names of at most 32 letters.
    pub async fn build_balancers(&self) -> Result<Balancers> {
        let name = &*self.name;
        let classic = [
            ("LoadBalancerName", name),
            ("Listeners.member.1.Protocol", "TCP"),
            ("Listeners.member.1.LoadBalancerPort", "6443"),
            ("Listeners.member.1.InstancePort", "6443"),
            ("Subnets.member.1", &self.subnets[0]),
        ];
        self.wire.ask(Service::Classic, "CreateLoadBalancer", &classic).await?;
        let network = [
            ("Name", name),
            ("Type", "network"),
            ("Subnets.member.1", &self.subnets[0]),
            ("Subnets.member.2", &self.subnets[1]),
        ];
        let made = self.wire.ask(Service::Network, "CreateLoadBalancer", &network).await?;
        let balancer = made.texts("LoadBalancerArn").pop().unwrap_or_default();
        let mut groups = Vec::new();
        for (port, kind) in [("6443", "instance"), ("22623", "ip")] {
            let short: String = name.chars().take(24).collect();
            let group = [
                ("Name", &*format!("{short}-{port}")),
                ("Protocol", "TCP"),
                ("Port", port),
                ("TargetType", kind),
                ("VpcId", &self.vpc),
            ];
            let made = self.wire.ask(Service::Network, "CreateTargetGroup", &group).await?;
            let group = made.texts("TargetGroupArn").pop().unwrap_or_default();
            let listener = [
                ("LoadBalancerArn", &*balancer),
                ("Protocol", "TCP"),
                ("Port", port),
                ("DefaultActions.member.1.Type", "forward"),
                ("DefaultActions.member.1.TargetGroupArn", &group),
            ];
            self.wire.ask(Service::Network, "CreateListener", &listener).await?;
            groups.push(group);
        }
        Ok(Balancers { groups })
    }

    pub fn balanced(&self) -> Value {
        json!(["classic", "network"].map(|kind| json!({"name": self.name, "type": kind})))
    }

    /// With the classic one, and with each target group of the network one.
    pub async fn registered(&self, balancers: &Balancers) -> Result<Vec<Vec<String>>> {
        let named = [("LoadBalancerNames.member.1", &*self.name)];
        let answer = self.wire.ask(Service::Classic, "DescribeLoadBalancers", &named).await?;
        // moto lists an instance as often as it was registered, AWS once.
        let mut classic = answer.texts("InstanceId");
        classic.sort();
        classic.dedup();
        let mut registered = vec![classic];
        for group in &balancers.groups {
            let group = [("TargetGroupArn", &**group)];
            let answer = self.wire.ask(Service::Network, "DescribeTargetHealth", &group).await?;
            let targets = answer.all("Target");
            registered.push(targets.iter().map(|target| target.text_at(&["Id"])).collect());
        }
        Ok(registered)
    }
}
