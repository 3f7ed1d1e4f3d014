//! The answer to a launch is lost, its instance is not shown yet, and meanwhile EC2 calls the launch impossible.

use std::time::Duration;

use http::StatusCode;
use machinist_testbed::aws::{Behaviour, Effect, Rule};
use serde_json::json;

use super::fleet::Fleet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_that_nobody_has_seen_yet_is_not_left_behind_by_a_machine_that_fails() {
    let fleet = Fleet::new("unheard").await.unwrap();
    let front = fleet.cloud.front();
    // Longer than it takes to ask once more, shorter than it is looked for.
    front.behave(Behaviour { hidden_for: Duration::from_secs(3), ..Behaviour::default() });
    front.inject(Rule::next("RunInstances", Effect::ResetAfter));
    let no_image = Effect::Refuse {
        status: StatusCode::BAD_REQUEST,
        code: "InvalidAMIID.NotFound".to_owned(),
        message: "no".to_owned(),
    };
    front.inject(Rule::nth("RunInstances", 2, no_image));
    let _controllers = fleet.controllers(&[]).await.unwrap();
    fleet.create_set(1, &fleet.spec(&json!({}))).await.unwrap();
    let id = fleet.settled(1).await.unwrap().remove(0).id;
    let machine = fleet.only_machine().await.unwrap();
    assert_eq!(machine.data["status"]["providerStatus"]["instanceId"], json!(id));
    assert_eq!(front.unmet_rules(), []);
    assert_eq!(front.calls_of("RunInstances").len(), 2, "nothing was made instead");
}
