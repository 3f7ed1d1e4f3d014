//! Dedicated hosts that are easily left behind: EC2 does not know them yet, does not release them at once, or nobody may look for them.

use machinist_testbed::aws::{Effect, Rule};

use super::field::Field;
use super::hosts::{own, refusal};

/// As with the rights that OpenShift grants.
async fn field_without_a_look_at_hosts() -> Field {
    let field = Field::new().await;
    field.front().inject(Rule::every("DescribeHosts", refusal("UnauthorizedOperation")));
    field
}

#[tokio::test]
async fn a_host_that_comes_of_a_token_used_once_more_and_is_not_known_yet_is_not_left() {
    let field = field_without_a_look_at_hosts().await;
    let machine = field.prepared(&own()).await;
    field.front().inject(Rule::next("AllocateHosts", Effect::ResetBefore));
    field.cloud.create(&machine).await.unwrap_err();
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
    field.front().inject(Rule::next("ReleaseHosts", refusal("InvalidHostID.NotFound")));
    field.delete(&machine).await;
    assert_eq!(field.front().calls_of("ReleaseHosts").len(), 2);
    assert_eq!(field.hosts(&machine.uid).await, [""; 0]);
}

#[tokio::test]
async fn a_host_that_ec2_has_not_known_for_a_while_is_gone() {
    let field = field_without_a_look_at_hosts().await;
    let machine = field.created(&own()).await;
    field.front().inject(Rule::every("ReleaseHosts", refusal("InvalidHostID.NotFound")));
    field.delete(&machine).await;
}
