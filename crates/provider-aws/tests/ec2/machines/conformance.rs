//! AWS passes the conformance suite.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use machinist_domain::key::Uid;
use machinist_provider::Pending;
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::Cloud;
use machinist_provider::cloud::ownership::Ownership;
use machinist_provider::conformance::{self, Bed, Fault, Found};
use machinist_provider::provider::Provider;
use machinist_provider::spec::SpecHalf;
use machinist_provider_aws::AwsProvider;
use machinist_testbed::aws::{Behaviour, Effect, Rule};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::field::{Field, WINDOW, tags};

fn raw(spec: &Value) -> Arc<RawValue> {
    RawValue::from_string(spec.to_string()).unwrap().into()
}

fn refuse(status: StatusCode, code: &str) -> Effect {
    Effect::Refuse { status, code: code.to_owned(), message: "No.".to_owned() }
}

impl Bed for Field {
    fn specs(&self) -> Arc<dyn SpecHalf> {
        AwsProvider::default().specs()
    }

    fn cloud(&self) -> Arc<dyn Cloud> {
        Arc::clone(&self.cloud)
    }

    fn access(&self) -> CloudAccess {
        Self::access(self)
    }

    fn good_spec(&self) -> Arc<RawValue> {
        raw(&self.spec(&json!({ "blockDevices": [{ "ebs": { "volumeSize": 9 } }] })))
    }

    fn hot_spec(&self, _: &str) -> Option<Arc<RawValue>> {
        let tags = json!([{ "name": "team", "value": "another" }]);
        let disks = json!([{ "ebs": { "volumeSize": 9 } }]);
        Some(raw(&self.spec(&json!({ "blockDevices": disks, "tags": tags }))))
    }

    fn impossible_spec(&self) -> Arc<RawValue> {
        raw(&self.spec(&json!({ "ami": { "id": "ami-00000000000000000" } })))
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn set_fault(&self, fault: Fault) -> Pending<'_, ()> {
        let mut behaviour = Behaviour {
            pending_for: Duration::from_millis(200),
            shutting_down_for: Duration::from_millis(200),
            ..Behaviour::default()
        };
        let front = self.front();
        front.clear_rules();
        let hidden = WINDOW / 2;
        let rule = match fault {
            Fault::None => None,
            Fault::LostResponses => Some(("RunInstances", Effect::ResetAfter)),
            Fault::Unlisted => {
                behaviour.hidden_for = hidden;
                None
            }
            Fault::LostAndUnlisted => {
                behaviour.hidden_for = hidden;
                Some(("RunInstances", Effect::ResetAfter))
            }
            Fault::NoCapacity => Some(("RunInstances", Effect::NoCapacity)),
            Fault::Throttled => Some(("*", Effect::Throttle)),
            Fault::Unauthorised => {
                Some(("*", refuse(StatusCode::FORBIDDEN, "UnauthorizedOperation")))
            }
            Fault::Unavailable => {
                Some(("*", refuse(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")))
            }
            Fault::InvalidResponses => Some(("*", Effect::Garble)),
            Fault::SmallPages => {
                behaviour.page_size = Some(2);
                None
            }
        };
        front.behave(behaviour);
        if let Some((action, effect)) = rule {
            front.inject(Rule::every(action, effect));
        }
        Box::pin(async {})
    }

    fn truth<'a>(&'a self, machine: &'a Uid) -> Pending<'a, Vec<Found>> {
        Box::pin(async move {
            let left = self.volumes(machine).await.len() + self.hosts(machine).await.len();
            let found = Self::truth(self, machine).await.into_iter().map(|instance| {
                let state = instance.state().and_then(|state| state.name()).unwrap().as_str();
                let exists = state != "terminated";
                let tags = tags(instance.tags());
                Found {
                    id: instance.instance_id().unwrap().into(),
                    exists,
                    left: if exists { 0 } else { left },
                    ownership: Ownership::read(|tag| tags.get(tag).map(String::as_str)),
                }
            });
            found.collect()
        })
    }

    fn cause_drift<'a>(&'a self, machine: &'a Uid) -> Pending<'a, ()> {
        Box::pin(async move {
            for instance in Self::truth(self, machine).await {
                let tag = aws_sdk_ec2::types::Tag::builder().key("team").build();
                let call =
                    self.moto.delete_tags().set_resources(instance.instance_id.map(|id| vec![id]));
                call.tags(tag).send().await.unwrap();
            }
        })
    }
}

#[tokio::test]
async fn aws_passes_the_conformance_suite() {
    let passed = conformance::run(&Field::new().await).await.unwrap();
    assert!(passed.len() >= 25, "{passed:?}");
}
