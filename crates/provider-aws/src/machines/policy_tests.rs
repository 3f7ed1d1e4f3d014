//! The policy in `deploy/aws` has every action that is called here and no other one, and is within what OpenShift grants its own
//! provider, but for one right that may be refused. Another such right has a policy of its own, and who shares an account a narrower one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::tags::cluster_tag;

/// What is not called by name, but needed by what is: profiles for instances, the role of the first spot instance, keys of volumes.
const INDIRECT: [&str; 7] = [
    "iam:CreateServiceLinkedRole",
    "iam:PassRole",
    "kms:CreateGrant",
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:GenerateDataKeyWithoutPlainText",
    "kms:ReEncrypt*",
];

/// What is called and may be refused: OpenShift does not grant it, and the load balancer notices by itself. It has a policy of its own.
const OPTIONAL: [&str; 1] = ["elasticloadbalancing:DeregisterInstancesFromLoadBalancer"];

/// What is in the policy and may be refused: OpenShift does not grant it. Without it dedicated hosts are found by their tokens.
const BEYOND_OPENSHIFT: [&str; 1] = ["ec2:DescribeHosts"];

/// What OpenShift's machine-api-operator asks for its provider.
const OPENSHIFT: [&str; 32] = [
    "ec2:AllocateHosts",
    "ec2:CreateTags",
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeInternetGateways",
    "ec2:DescribeRegions",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ec2:ReleaseHosts",
    "ec2:RunInstances",
    "ec2:TerminateInstances",
    "elasticloadbalancing:DeregisterTargets",
    "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeTargetGroups",
    "elasticloadbalancing:DescribeTargetHealth",
    "elasticloadbalancing:RegisterInstancesWithLoadBalancer",
    "elasticloadbalancing:RegisterTargets",
    "iam:CreateServiceLinkedRole",
    "iam:PassRole",
    "kms:CreateGrant",
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlainText",
    "kms:ListGrants",
    "kms:ReEncrypt*",
    "kms:RevokeGrant",
];

/// How the names of operations begin.
const VERBS: [&str; 14] = [
    "allocate",
    "associate",
    "attach",
    "create",
    "delete",
    "deregister",
    "describe",
    "get",
    "modify",
    "register",
    "release",
    "run",
    "start",
    "terminate",
];

/// What changes something that is there already.
const CHANGES: [&str; 3] = ["ec2:CreateTags", "ec2:ReleaseHosts", "ec2:TerminateInstances"];

fn policy() -> Value {
    named("policy-machines")
}

fn named(name: &str) -> Value {
    let path = root().join(format!("../../deploy/aws/{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The actions of some statements, whatever the case of their fields.
fn actions(statements: &Value, field: &str) -> BTreeSet<String> {
    let statements = statements.as_array().unwrap().iter();
    let actions = statements.flat_map(|statement| statement[field].as_array().unwrap());
    actions.map(|action| action.as_str().unwrap().to_owned()).collect()
}

/// The operations that the code of machines calls: `.run_instances()` and its like. Whether a region is open is asked by the code of types, too.
fn called() -> BTreeSet<String> {
    let mut called = BTreeSet::from(["ec2:DescribeRegions".to_owned()]);
    for file in std::fs::read_dir(root().join("src/machines")).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with("_tests.rs") {
            continue;
        }
        let service = if name == "balancers.rs" { "elasticloadbalancing" } else { "ec2" };
        let text = std::fs::read_to_string(&file).unwrap();
        for piece in text.split("()").filter_map(|piece| piece.rsplit_once('.')) {
            let method = piece.1;
            let is_name = method.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            let words: Vec<_> = method.split('_').collect();
            if is_name && words.len() > 1 && VERBS.contains(&words[0]) {
                let camel = words.iter().map(|word| word[..1].to_uppercase() + &word[1..]);
                called.insert(format!("{service}:{}", camel.collect::<String>()));
            }
        }
    }
    called
}

#[test]
fn the_policy_has_what_is_called_and_no_more() {
    let mut needed = called();
    assert!(needed.contains("ec2:RunInstances") && needed.len() > 15, "{needed:?}");
    for optional in OPTIONAL {
        assert!(needed.remove(optional), "{optional} is not called");
    }
    needed.extend(INDIRECT.map(str::to_owned));
    assert_eq!(actions(&policy()["Statement"], "Action"), needed);
    let optional = named("policy-classic-load-balancers");
    let optional = actions(&optional["Statement"], "Action");
    assert_eq!(optional, BTreeSet::from(OPTIONAL.map(str::to_owned)));
}

#[test]
fn the_policy_of_one_cluster_allows_the_same_and_changes_only_what_is_the_clusters() {
    let (every, one) = (policy(), named("policy-machines-of-one-cluster"));
    let (every, one) = (&every["Statement"], &one["Statement"]);
    assert_eq!(actions(one, "Action"), actions(every, "Action"));
    let same = every.as_array().unwrap().iter().filter(|statement| statement["Sid"] != "Instances");
    for statement in same {
        assert!(one.as_array().unwrap().contains(statement), "{statement}");
    }
    // The tag is the one that everything is made with, and that other controllers of this cluster set, too.
    let owned = format!("aws:ResourceTag/{}", cluster_tag("CLUSTER_NAME"));
    let conditions = [
        json!({ "StringEquals": { owned: "owned" } }),
        json!({ "StringEquals": { "ec2:CreateAction": ["AllocateHosts", "RunInstances"] } }),
    ];
    for statement in one.as_array().unwrap() {
        let allowed = actions(&json!([statement]), "Action");
        if CHANGES.iter().any(|change| allowed.contains(*change)) {
            assert!(conditions.contains(&statement["Condition"]), "{statement}");
        }
    }
}

/// The other policies are compared with this one.
#[test]
fn profiles_go_to_ec2_by_the_name_that_it_has_in_china_too() {
    let policy = policy();
    let passes = |statement: &&Value| statement["Action"] == json!(["iam:PassRole"]);
    let pass = policy["Statement"].as_array().unwrap().iter().find(passes).unwrap();
    let services = json!(["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]);
    assert_eq!(pass["Condition"], json!({ "StringEquals": { "iam:PassedToService": services } }));
}

#[test]
fn the_policy_is_within_what_openshift_grants_but_for_hosts() {
    let mut granted: BTreeSet<_> = OPENSHIFT.map(str::to_owned).into();
    granted.extend(BEYOND_OPENSHIFT.map(str::to_owned));
    let policy = actions(&policy()["Statement"], "Action");
    assert!(policy.is_subset(&granted), "{:?}", policy.difference(&granted).collect::<Vec<_>>());
}

#[test]
fn the_request_for_openshift_asks_for_the_policy() {
    let path = root().join("../../deploy/aws/credentials-request.yaml");
    let request: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let entries = &request["spec"]["providerSpec"]["statementEntries"];
    let of_policy = |statement: &Value| {
        json!([
            statement["Effect"],
            statement["Action"],
            statement["Resource"],
            statement["Condition"]
        ])
    };
    let of_request = |entry: &Value| {
        json!([entry["effect"], entry["action"], entry["resource"], entry["policyCondition"]])
    };
    let policy: Vec<_> = policy()["Statement"].as_array().unwrap().iter().map(of_policy).collect();
    let entries: Vec<_> = entries.as_array().unwrap().iter().map(of_request).collect();
    assert_eq!(entries, policy);
}
