//! Errors in AWS's form and words, sent over the wire. `refusals.tsv` has a row for every row of the table (checked by
//! a unit test), and the source of its words.

use std::sync::Arc;

use http::StatusCode;
use machinist_domain::retry::{Category, Classified, Retry};
use machinist_provider::cloud::{
    CloudError, Effect as Had, ErrorClass, InstanceState, ObservedInstance,
};
use machinist_testbed::aws::{Effect, Rule};
use serde_json::json;

use super::field::{Field, REGION, store, tags};

fn refuse(status: u16, code: &str, message: &str) -> Effect {
    Effect::Refuse {
        status: StatusCode::from_u16(status).unwrap(),
        code: code.to_owned(),
        message: message.to_owned(),
    }
}

const MISTAKE: ErrorClass = ErrorClass::InvalidConfiguration;

pub(crate) struct Refusal {
    pub(crate) operation: &'static str,
    status: u16,
    code: &'static str,
    class: &'static str,
    effect: &'static str,
    words: &'static str,
}

impl Refusal {
    pub(crate) fn to(operations: &[&str]) -> Vec<Self> {
        let lines = include_str!("refusals.tsv").lines().filter(|line| !line.starts_with('#'));
        let read = |line: &'static str| {
            let fields: Vec<_> = line.split('\t').collect();
            let [operation, status, code, class, effect, source, words] = fields[..] else {
                panic!("{line}")
            };
            let is_quoted = source.contains('/') && source.contains('#');
            assert!(is_quoted || ["-", "invented"].contains(&source), "{line}");
            Self { operation, status: status.parse().unwrap(), code, class, effect, words }
        };
        lines.map(read).filter(|row| operations.contains(&row.operation)).collect()
    }

    pub(crate) fn rule(&self) -> Rule {
        Rule::next(self.operation, refuse(self.status, self.code, self.words))
    }

    pub(crate) fn assert_is(&self, error: &CloudError) {
        let code = self.code;
        let (class, effect) = (format!("{:?}", error.class), format!("{:?}", error.effect));
        assert_eq!((&*class, &*effect), (self.class, self.effect), "{code}");
        // Long messages are truncated.
        let start: String = self.words.chars().take(100).collect();
        assert!(error.message.contains(&start) && error.message.contains(code), "{error}");
        let shared = matches!(error.class, ErrorClass::CapacityExhausted | ErrorClass::Throttled);
        assert_eq!(error.domain.is_some(), shared, "{code}");
        assert_eq!(error.retry() == Retry::OnChange, error.class == MISTAKE, "{code}");
    }
}

#[tokio::test]
async fn classifies_errors_of_launches() {
    let field = Field::new().await;
    let machine = field.prepared(&json!({})).await;
    for refusal in Refusal::to(&["RunInstances"]) {
        field.front().inject(refusal.rule());
        refusal.assert_is(&field.cloud.create(&machine).await.unwrap_err());
    }
    assert_eq!(field.truth(&machine.uid).await.len(), 0);
}

/// The stored launch contains the zone of an attempt, so a full zone does not block another one.
#[tokio::test]
async fn stored_launch_names_the_place_of_each_attempt() {
    let field = Field::new().await;
    let mut machine = field.prepared(&json!({})).await;
    let first = machine.status.place().unwrap();
    field.front().inject(Rule::next("RunInstances", Effect::NoCapacity));
    let error = field.cloud.create(&machine).await.unwrap_err();
    let domain = error.domain.unwrap().0;
    let zone = first.split('/').next().unwrap();
    assert!(zone.starts_with(REGION) && domain.contains(zone), "{domain} {first}");
    machine.attempt = 2;
    field.prepare(&mut machine).await.unwrap();
    assert_ne!(machine.status.place(), Some(first));
    assert!(!domain.contains(machine.status.place().unwrap().split('/').next().unwrap()));
}

#[tokio::test]
async fn classifies_errors_of_hosts() {
    let field = Field::new().await;
    let host = json!({ "affinity": "DedicatedHost", "dedicatedHost": { "allocationStrategy": "Dynamic" } });
    let spec = json!({ "placement": { "region": REGION, "tenancy": "host", "host": host } });
    let machine = field.prepared(&spec).await;
    for refusal in Refusal::to(&["AllocateHosts"]) {
        field.front().inject(refusal.rule());
        refusal.assert_is(&field.cloud.create(&machine).await.unwrap_err());
    }
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn classifies_errors_of_terminations_and_tags() {
    let field = Field::new().await;
    let mut machine = field.created(&json!({})).await;
    for refusal in Refusal::to(&["TerminateInstances"]) {
        field.front().inject(refusal.rule());
        refusal.assert_is(&field.cloud.delete(&machine).await.unwrap_err());
    }
    machine.spec = field.machine(&json!({ "tags": [{ "name": "team", "value": "b" }] })).spec;
    for refusal in Refusal::to(&["CreateTags"]) {
        field.front().inject(refusal.rule());
        refusal.assert_is(&field.cloud.update(&machine).await.unwrap_err());
    }
    field.delete(&machine).await;
}

#[tokio::test]
async fn classifies_errors_of_describe_calls() {
    let field = Field::new().await;
    let mut machine = field.machine(&json!({}));
    field.mark_cluster(&machine).await;
    for refusal in Refusal::to(&["DescribeSubnets"]) {
        field.front().inject(refusal.rule());
        refusal.assert_is(&field.prepare(&mut machine).await.unwrap_err());
    }
    field.prepare(&mut machine).await.unwrap();
}

/// Failures of lookups pass; only resources that EC2 does not know are invalid configuration.
#[tokio::test]
async fn failed_lookups_are_not_invalid_configuration() {
    let root = json!({ "blockDevices": [{ "ebs": {} }], "publicIp": true });
    let actions = [
        "DescribeImages",
        "DescribeSecurityGroups",
        "DescribeSubnets",
        "DescribeAvailabilityZones",
    ];
    let troubles = [
        (Effect::Throttle, Category::Throttled),
        (Effect::ResetBefore, Category::Unavailable),
        (refuse(500, "InternalError", "x"), Category::Unavailable),
        (refuse(403, "UnauthorizedOperation", "x"), Category::Unauthorised),
        (Effect::Garble, Category::Unavailable),
    ];
    for action in actions {
        let field = Field::new().await;
        for (effect, category) in &troubles {
            field.front().inject(Rule::next(action, effect.clone()));
            let error = field.prepare(&mut field.machine(&root)).await.unwrap_err();
            assert_eq!(error.category(), *category, "{action} {effect:?}: {error}");
        }
        assert_eq!(field.front().unmet_rules(), []);
        field.prepared(&root).await;
    }
}

#[tokio::test]
async fn failed_roles_are_not_invalid_configuration() {
    let mut field = Field::new().await;
    let file = format!(
        "[default]\nrole_arn = arn:aws:iam::123456789012:role/machinist\nsource_profile = base\n\
         endpoint_url = {}\n[base]\naws_access_key_id = AKIABASE\naws_secret_access_key = y\n",
        field.bed.endpoint_url()
    );
    field.secrets.put("aws", &[("credentials", &file)]);
    for (effect, class) in [
        (refuse(403, "AccessDenied", "x"), ErrorClass::Unauthorised),
        (refuse(400, "MalformedPolicyDocument", "x"), ErrorClass::Unauthorised),
        (refuse(403, "RegionDisabledException", "x"), ErrorClass::Unauthorised),
        (Effect::Throttle, ErrorClass::Throttled),
        (refuse(500, "InternalFailure", "x"), ErrorClass::Unavailable),
        (Effect::ResetBefore, ErrorClass::Unavailable),
        (Effect::Garble, ErrorClass::Unavailable),
    ] {
        field.restart();
        field.front().inject(Rule::next("AssumeRole", effect.clone()));
        let error = field.prepare(&mut field.machine(&json!({}))).await.unwrap_err();
        assert_eq!(error.class, class, "{effect:?}: {error}");
    }
    assert_eq!(field.front().unmet_rules(), []);
    field.prepared(&json!({})).await;
}

/// A response of a proxy is neither success nor refusal, and nothing counts as gone.
#[tokio::test]
async fn html_page_is_an_invalid_response() {
    let field = Field::new().await;
    let garble = |action: &str| field.front().inject(Rule::next(action, Effect::Garble));
    let is_nobodys = |error: &CloudError| {
        let result = (error.class, error.effect);
        assert_eq!(result, (ErrorClass::Unavailable, Had::Unclear), "{error}");
        assert!(error.message.contains("<!doctype html>"), "{error}");
    };
    let mut machine = field.prepared(&json!({})).await;
    garble("RunInstances");
    is_nobodys(&field.cloud.create(&machine).await.unwrap_err());
    let instance = field.cloud.create(&machine).await.unwrap();
    store(&mut machine, &instance);
    garble("DescribeInstances");
    let ObservedInstance::Unknown(failure) = field.observe(&machine).await else {
        panic!("it is there")
    };
    assert_eq!(failure.category, Category::Unavailable);
    machine.spec = field.machine(&json!({ "tags": [{ "name": "team", "value": "b" }] })).spec;
    garble("CreateTags");
    is_nobodys(&field.cloud.update(&machine).await.unwrap_err());
    assert_eq!(tags(field.made(&machine).await.tags())["team"], "a");
    field.cloud.update(&machine).await.unwrap();
    assert_eq!(tags(field.made(&machine).await.tags())["team"], "b");
    garble("TerminateInstances");
    is_nobodys(&field.cloud.delete(&machine).await.unwrap_err());
    assert_eq!(field.present(&machine).await.state, InstanceState::Running);
    field.delete(&machine).await;
    assert_eq!(field.front().unmet_rules(), []);
}

#[tokio::test]
async fn unknown_resources_are_invalid_configuration() {
    let field = Field::new().await;
    let cases = [
        (
            json!({ "ami": { "id": "ami-00000000000000000" }, "blockDevices": [{ "ebs": {} }] }),
            "does not exist",
        ),
        (json!({ "subnet": { "id": "subnet-00000000000000000" } }), "does not exist"),
        (
            json!({ "ami": { "filters": [{ "name": "name", "values": ["none"] }] } }),
            "ami: no image in us-east-2 matches name=none",
        ),
        (
            json!({ "subnet": { "filters": [{ "name": "tag:x", "values": ["none"] }] } }),
            "subnet: no subnet in us-east-2 matches tag:x=none",
        ),
        (
            json!({ "securityGroups": [{ "filters": [{ "name": "group-name", "values": ["none"] }] }] }),
            "securityGroups: no security group in us-east-2 matches group-name=none",
        ),
        (json!({ "securityGroups": [] }), "securityGroups must not be empty"),
    ];
    let cluster = field.machine(&json!({}));
    field.mark_cluster(&cluster).await;
    for (extra, words) in cases {
        let mut machine = field.machine(&extra);
        machine.cluster = Arc::clone(&cluster.cluster);
        let error = field.prepare(&mut machine).await.unwrap_err();
        assert_eq!(error.class, MISTAKE, "{extra}: {error}");
        assert!(error.message.contains(words), "{error}");
    }
    // A named image without a lookup is refused by the launch.
    let machine = field.prepared(&json!({ "ami": { "id": "ami-00000000000000000" } })).await;
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!(error.class, MISTAKE);
    assert!(error.message.contains("ami-00000000000000000"), "{error}");
}

#[tokio::test]
async fn protected_instance_is_reported_and_kept() {
    let field = Field::new().await;
    let machine = field.created(&json!({})).await;
    let words = "The instance may not be terminated. Modify its 'disableApiTermination' attribute.";
    let refusal = refuse(400, "OperationNotPermitted", words);
    field.front().inject(Rule::next("TerminateInstances", refusal));
    let error = field.cloud.delete(&machine).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unauthorised);
    assert!(error.message.contains(words), "{error}");
    field.delete(&machine).await;
}
