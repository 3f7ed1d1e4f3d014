//! A launch that EC2 refuses, although an earlier request with a lost response was carried out.

use http::StatusCode;
use machinist_provider::cloud::{Effect as Had, ErrorClass};
use machinist_testbed::aws::{Effect, Rule};
use serde_json::json;

use super::field::Field;

fn no_image() -> Effect {
    Effect::Refuse {
        status: StatusCode::BAD_REQUEST,
        code: "InvalidAMIID.NotFound".to_owned(),
        message: "no".to_owned(),
    }
}

#[tokio::test]
async fn instance_of_an_earlier_request_is_found_after_a_refusal() {
    let mut field = Field::new().await;
    let machine = field.prepared(&json!({})).await;
    field.front().inject(Rule::next("RunInstances", Effect::ResetAfter));
    field.cloud.create(&machine).await.unwrap_err();
    // Nothing is final while EC2 cannot be called.
    field.restart();
    field.front().inject(Rule::next("RunInstances", no_image()));
    field.front().inject(Rule::next("DescribeInstances", Effect::Throttle));
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::Throttled, Had::Unclear));

    field.front().inject(Rule::next("RunInstances", no_image()));
    let instance = field.cloud.create(&machine).await.unwrap();
    assert_eq!(field.made(&machine).await.instance_id(), Some(&*instance.id));
    assert_eq!(field.front().unmet_rules(), []);
}

#[tokio::test]
async fn refusal_without_an_instance_is_final() {
    let field = Field::new().await;
    let machine = field.prepared(&json!({})).await;
    field.front().inject(Rule::next("RunInstances", Effect::ResetBefore));
    field.cloud.create(&machine).await.unwrap_err();
    field.front().inject(Rule::next("RunInstances", no_image()));
    let error = field.cloud.create(&machine).await.unwrap_err();
    assert_eq!((error.class, error.effect), (ErrorClass::InvalidConfiguration, Had::None));
    assert_eq!(field.truth(&machine.uid).await, []);
}
