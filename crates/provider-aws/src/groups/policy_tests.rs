//! The policy in `deploy/aws` has exactly the actions that are called, and changes only groups of the cluster.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Operation names are the string literals of the calls.
fn called() -> BTreeSet<String> {
    let text = read("src/groups/calls.rs");
    let names = text.split('"').skip(1).step_by(2);
    let is_operation = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let mut called: BTreeSet<_> =
        names.filter(is_operation).map(|name| format!("autoscaling:{name}")).collect();
    // Called through the EC2 client.
    called.extend(["ec2:DescribeInstances", "ec2:DescribeRegions"].map(str::to_owned));
    called
}

#[test]
fn recycler_policy_has_exactly_the_called_actions() {
    let policy: Value =
        serde_json::from_str(&read("../../deploy/aws/policy-recycler.json")).unwrap();
    let mut granted = BTreeSet::new();
    for statement in policy["Statement"].as_array().unwrap() {
        for action in statement["Action"].as_array().unwrap() {
            let action = action.as_str().unwrap();
            let looks = action.contains(":Describe");
            assert_eq!(looks, statement["Condition"].is_null(), "{action}");
            let keys = &statement["Condition"]["ForAllValues:StringLike"]["aws:TagKeys"];
            let ours = format!("{}*", machinist_provider::node_groups::mark::KEY);
            assert_eq!(keys == &Value::from(ours), action.ends_with("Tags"), "{action}");
            granted.insert(action.to_owned());
        }
    }
    assert!(granted.len() > 8);
    assert_eq!(granted, called());
}
