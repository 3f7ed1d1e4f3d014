//! Load balancers of both kinds: running instances are registered, and deregistered before they terminate. Concurrent
//! changes are in `leaving`.

use std::time::Duration;

use aws_sdk_ec2::types::Tag;
use aws_sdk_elasticloadbalancing as classic;
use aws_sdk_elasticloadbalancingv2 as network;
use http::StatusCode;
use machinist_provider::cloud::{
    CloudError, Effect as Had, ErrorClass, InstanceState, MachineRef, ObservedInstance,
};
use machinist_testbed::aws::{Effect, Rule};
use network::types::{Action, ActionTypeEnum, LoadBalancerTypeEnum, ProtocolEnum, TargetTypeEnum};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::errors::Refusal;
use super::field::{Field, REGION, tags};

/// A field with load balancers of its own.
pub(super) struct Balanced {
    pub(super) field: Field,
    classic: classic::Client,
    network: network::Client,
    pub(super) name: String,
    /// One target group of instances, one of addresses.
    groups: Vec<String>,
    arn: String,
}

impl Balanced {
    pub(super) async fn new() -> Self {
        Self::in_region(REGION).await
    }

    /// In a region of its own, for a test that affects others.
    pub(super) async fn in_region(region: &'static str) -> Self {
        let field = Field::in_region(region).await;
        let url = field.bed.endpoint_url();
        let endpoint = json!({ "name": "elasticloadbalancing", "url": url });
        field.platform.set(json!({ "serviceEndpoints": [endpoint] }));
        let endpoint = format!("http://{}", field.bed.moto().address());
        let keys = aws_sdk_ec2::config::Credentials::new("AKIATRUTH", "x", None, None, "test");
        let classic = classic::Client::from_conf(
            classic::Config::builder()
                .behavior_version(classic::config::BehaviorVersion::v2026_01_12())
                .region(classic::config::Region::new(region))
                .credentials_provider(keys.clone())
                .endpoint_url(&endpoint)
                .build(),
        );
        let network = network::Client::from_conf(
            network::Config::builder()
                .behavior_version(network::config::BehaviorVersion::v2026_01_12())
                .region(network::config::Region::new(region))
                .credentials_provider(keys)
                .endpoint_url(&endpoint)
                .build(),
        );
        let name = field.machine(&json!({})).key.name.to_string();
        make_classic(&classic, &name, region).await;
        let kinds = [TargetTypeEnum::Instance, TargetTypeEnum::Ip];
        let (arn, groups) = make_network(&field, &network, &name, &kinds).await;
        Self { field, classic, network, name, groups, arn }
    }

    /// Creates another network load balancer, whose target group accepts no instances. Returns its name.
    pub(super) async fn make_useless(&self) -> String {
        let name = self.field.machine(&json!({})).key.name.to_string();
        make_network(&self.field, &self.network, &name, &[TargetTypeEnum::Alb]).await;
        name
    }

    pub(super) fn spec(&self) -> Value {
        let kinds = ["classic", "network"].map(|kind| json!({ "name": self.name, "type": kind }));
        json!({ "loadBalancers": kinds })
    }

    pub(super) async fn registered(&self) -> MachineRef {
        let machine = self.field.created(&self.spec()).await;
        self.field.cloud.update(&machine).await.unwrap();
        machine
    }

    pub(super) async fn known_to_classic(&self) -> Vec<String> {
        let call = self.classic.describe_load_balancers().load_balancer_names(&self.name);
        let answer = call.send().await.unwrap();
        let known = answer.load_balancer_descriptions()[0].instances();
        known.iter().filter_map(|instance| instance.instance_id()).map(str::to_owned).collect()
    }

    pub(super) async fn targets(&self, group: usize) -> Vec<String> {
        let call = self.network.describe_target_health().target_group_arn(&self.groups[group]);
        let answer = call.send().await.unwrap();
        let targets = answer.target_health_descriptions().iter();
        let ids = targets.filter_map(|target| target.target().and_then(|target| target.id()));
        ids.map(str::to_owned).collect()
    }
}

async fn make_classic(classic: &classic::Client, name: &str, region: &str) {
    let listener = classic::types::Listener::builder()
        .protocol("TCP")
        .load_balancer_port(6443)
        .instance_port(6443)
        .build()
        .unwrap();
    let made = classic.create_load_balancer().load_balancer_name(name).listeners(listener);
    made.availability_zones(format!("{region}a")).send().await.unwrap();
}

async fn make_network(
    field: &Field,
    network: &network::Client,
    name: &str,
    kinds: &[TargetTypeEnum],
) -> (String, Vec<String>) {
    let subnets = field.moto.describe_subnets().send().await.unwrap();
    let subnet = &subnets.subnets()[0];
    let made = network
        .create_load_balancer()
        .name(name)
        .r#type(LoadBalancerTypeEnum::Network)
        .subnets(subnet.subnet_id().unwrap());
    let made = made.send().await.unwrap();
    let arn = made.load_balancers()[0].load_balancer_arn().unwrap().to_owned();
    let mut groups = Vec::new();
    for (port, kind) in (6443..).zip(kinds) {
        let group = network
            .create_target_group()
            .name(format!("{name}-{port}"))
            .protocol(ProtocolEnum::Tcp)
            .port(port)
            .target_type(kind.clone())
            .vpc_id(subnet.vpc_id().unwrap());
        let group = group.send().await.unwrap();
        let group = group.target_groups()[0].target_group_arn().unwrap().to_owned();
        let forward = Action::builder().r#type(ActionTypeEnum::Forward).target_group_arn(&group);
        let listener = network
            .create_listener()
            .load_balancer_arn(&arn)
            .protocol(ProtocolEnum::Tcp)
            .port(port)
            .default_actions(forward.build());
        listener.send().await.unwrap();
        groups.push(group);
    }
    (arn, groups)
}

#[tokio::test]
async fn a_running_instance_is_registered_with_both_kinds_once() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let machine = field.created(&balanced.spec()).await;
    let made = field.made(&machine).await;
    let (id, ip) = (made.instance_id().unwrap(), made.private_ip_address().unwrap());
    let drift = field.present(&machine).await.drift.clone().unwrap();
    let name = &balanced.name;
    assert_eq!(drift, format!("not registered with load balancers: {name}, {name}"));
    let repaired = field.cloud.update(&machine).await.unwrap();
    assert_eq!(repaired.drift, None);
    assert_eq!(balanced.known_to_classic().await, [id]);
    assert_eq!(
        (balanced.targets(0).await, balanced.targets(1).await),
        (vec![id.into()], vec![ip.into()])
    );
    assert_eq!(field.present(&machine).await.drift, None);
    field.cloud.update(&machine).await.unwrap();
    let count = |action: &str| field.front().calls_of(action).len();
    assert_eq!((count("RegisterInstancesWithLoadBalancer"), count("RegisterTargets")), (1, 2));
}

#[tokio::test]
async fn deregisters_before_termination() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let machine = balanced.registered().await;
    assert_eq!(balanced.targets(1).await.len(), 1);
    field.delete(&machine).await;
    assert_eq!(balanced.known_to_classic().await, [""; 0]);
    assert_eq!((balanced.targets(0).await.len(), balanced.targets(1).await.len()), (0, 0));
    let order: Vec<_> = field.front().calls().into_iter().map(|call| call.action).collect();
    let place = |action: &str| order.iter().rposition(|other| other == action).unwrap();
    assert!(place("DeregisterTargets") < place("TerminateInstances"));
    assert!(place("DeregisterInstancesFromLoadBalancer") < place("TerminateInstances"));
}

#[tokio::test]
async fn deregisters_the_address_of_a_terminated_instance() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let machine = balanced.registered().await;
    let id = field.made(&machine).await.instance_id.unwrap();
    field.moto.terminate_instances().instance_ids(&id).send().await.unwrap();
    assert_eq!(balanced.targets(1).await.len(), 1, "EC2 knows nothing of addresses in groups");
    field.delete(&machine).await;
    assert_eq!(balanced.targets(1).await, [""; 0]);
    assert!(field.front().calls_of("TerminateInstances").is_empty());
}

#[tokio::test]
async fn address_that_another_instance_uses_stays() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let mut machine = balanced.registered().await;
    let other = balanced.registered().await;
    let id = field.made(&machine).await.instance_id.unwrap();
    field.moto.terminate_instances().instance_ids(&id).send().await.unwrap();
    machine.status.0["privateIp"] = other.status.0["privateIp"].clone();
    let before = balanced.targets(1).await;
    field.delete(&machine).await;
    assert_eq!(balanced.targets(1).await, before);
}

#[tokio::test]
async fn classifies_errors_of_registrations() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    for refusal in Refusal::to(&["RegisterInstancesWithLoadBalancer", "RegisterTargets"]) {
        // A call that is not refused is carried out, so each needs an unregistered instance.
        let machine = field.created(&balanced.spec()).await;
        field.front().inject(refusal.rule());
        refusal.assert_is(&field.cloud.update(&machine).await.unwrap_err());
        field.cloud.update(&machine).await.unwrap();
        assert_eq!(field.present(&machine).await.drift, None);
    }
}

/// These responses have no content, so a proxy's page looks the same.
#[tokio::test]
async fn html_page_neither_registers_nor_deregisters() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let is_nobodys = |error: &CloudError| {
        let result = (error.class, error.effect);
        assert_eq!(result, (ErrorClass::Unavailable, Had::Unclear), "{error}");
        assert!(error.message.contains("<!doctype html>"), "{error}");
    };
    for action in ["RegisterInstancesWithLoadBalancer", "RegisterTargets"] {
        let machine = field.created(&balanced.spec()).await;
        field.front().inject(Rule::next(action, Effect::Garble));
        is_nobodys(&field.cloud.update(&machine).await.unwrap_err());
        assert!(field.present(&machine).await.drift.is_some(), "{action}");
        field.cloud.update(&machine).await.unwrap();
        assert_eq!(field.present(&machine).await.drift, None, "{action}");
    }
    for action in ["DeregisterInstancesFromLoadBalancer", "DeregisterTargets"] {
        let machine = balanced.registered().await;
        field.front().inject(Rule::next(action, Effect::Garble));
        is_nobodys(&field.cloud.delete(&machine).await.unwrap_err());
        assert_eq!(field.present(&machine).await.state, InstanceState::Running, "{action}");
        field.delete(&machine).await;
        let id = machine.status.0["instanceId"].as_str().unwrap().to_owned();
        assert!(!balanced.known_to_classic().await.contains(&id), "{action}");
        assert!(!balanced.targets(0).await.contains(&id), "{action}");
    }
}

#[tokio::test]
async fn missing_load_balancers_are_reported_and_block_nothing() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let machine = balanced.registered().await;
    let name = &balanced.name;
    balanced.classic.delete_load_balancer().load_balancer_name(name).send().await.unwrap();
    let gone = balanced.network.delete_load_balancer().load_balancer_arn(&balanced.arn);
    gone.send().await.unwrap();
    field.delete(&machine).await;

    // A new machine that names them reports it, and is kept.
    let machine = field.created(&balanced.spec()).await;
    assert!(field.present(&machine).await.drift.is_some());
    let error = field.cloud.update(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::NotFound, "{error}");
    field.delete(&machine).await;
}

#[tokio::test]
async fn load_balancer_that_is_created_later_gets_its_members() {
    let Balanced { field, classic, name, .. } = Balanced::new().await;
    let later = format!("{name}-later");
    let spec = json!({ "loadBalancers": [{ "name": later, "type": "classic" }] });
    let machine = field.created(&spec).await;
    assert!(field.present(&machine).await.drift.is_some());
    make_classic(&classic, &later, REGION).await;
    field.cloud.update(&machine).await.unwrap();
    assert_eq!(field.front().calls_of("RegisterInstancesWithLoadBalancer").len(), 1);
    assert_eq!(field.present(&machine).await.drift, None);
}

#[tokio::test]
async fn missing_permission_for_classic_load_balancers_does_not_block_deletion() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let machine = balanced.registered().await;
    let refusal = Effect::Refuse {
        status: StatusCode::FORBIDDEN,
        code: "AccessDenied".to_owned(),
        message: "not granted".to_owned(),
    };
    field.front().inject(Rule::every("DeregisterInstancesFromLoadBalancer", refusal));
    field.delete(&machine).await;
}

#[tokio::test]
async fn failing_load_balancer_hides_no_instance_and_blocks_deletion() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let machine = field.created(&balanced.spec()).await;
    field.front().inject(Rule::next("DescribeLoadBalancers", Effect::Throttle).times(2));
    let seen = field.present(&machine).await;
    assert_eq!((seen.uncertain, &seen.drift), (true, &None), "not known is not missing");
    field.cloud.update(&machine).await.unwrap();
    assert!(!field.present(&machine).await.uncertain);
    field.front().inject(Rule::next("DeregisterTargets", Effect::Throttle));
    let error = field.cloud.delete(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Throttled);
    assert!(field.front().calls_of("TerminateInstances").is_empty());
    field.delete(&machine).await;
    assert_eq!(field.front().unmet_rules(), []);
}

#[tokio::test]
async fn hanging_load_balancer_hides_no_instance() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let classic = json!({ "loadBalancers": [{ "name": balanced.name, "type": "classic" }] });
    let mut machines = Vec::new();
    for _ in 0..3 {
        machines.push(field.created(&classic).await);
    }
    let hang = Effect::Delay(Duration::from_secs(25));
    field.front().inject(Rule::every("DescribeLoadBalancers", hang));
    for _ in 0..2 {
        let looked = timeout(Duration::from_secs(20), field.cloud.describe(&machines)).await;
        for observed in looked.expect("load balancers delay the answer") {
            let ObservedInstance::Present(instance) = observed else { panic!("{observed:?}") };
            assert_eq!((instance.uncertain, &instance.drift), (true, &None));
        }
    }
    assert!(field.front().calls_of("DescribeLoadBalancers").len() <= 1);
}

#[tokio::test]
async fn unreadable_load_balancer_is_reported_and_tags_are_repaired() {
    let balanced = Balanced::new().await;
    let field = &balanced.field;
    let machine = field.created(&balanced.spec()).await;
    let id = field.made(&machine).await.instance_id.unwrap();
    let team = Tag::builder().key("team").build();
    field.moto.delete_tags().resources(&id).tags(team).send().await.unwrap();
    let refusal = Effect::Refuse {
        status: StatusCode::FORBIDDEN,
        code: "AccessDenied".to_owned(),
        message: "not granted".to_owned(),
    };
    field.front().inject(Rule::every("DescribeLoadBalancers", refusal));
    let drift = field.present(&machine).await.drift.clone().unwrap();
    let expected = format!("load balancer {}: ", balanced.name);
    assert!(drift.starts_with("tags differ: team; ") && drift.contains(&expected), "{drift}");
    assert_eq!(field.present(&machine).await.drift, Some(drift));
    let asked = field.front().calls_of("DescribeLoadBalancers").len();
    assert_eq!(asked, 2, "each is asked once, and not again so soon");
    let error = field.cloud.update(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised, "{error}");
    assert_eq!(tags(field.made(&machine).await.tags())["team"], "a");
}
