//! The policy in `deploy/aws` has exactly the actions that are called, and is within what OpenShift grants its own
//! provider, except for one optional permission. Another optional permission has a policy of its own, as has a shared
//! account.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::machines::tags::cluster_tag;

/// Needed indirectly: instance profiles, the role for spot instances, keys of volumes.
const INDIRECT: [&str; 7] = [
    "iam:CreateServiceLinkedRole",
    "iam:PassRole",
    "kms:CreateGrant",
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:GenerateDataKeyWithoutPlainText",
    "kms:ReEncrypt*",
];

/// Called, but optional: OpenShift does not grant it, and the load balancer removes terminated instances by itself.
const OPTIONAL: [&str; 1] = ["elasticloadbalancing:DeregisterInstancesFromLoadBalancer"];

/// In the policy, but optional: OpenShift does not grant it. Without it dedicated hosts are found by their tokens.
const BEYOND_OPENSHIFT: [&str; 1] = ["ec2:DescribeHosts"];

/// The permissions of OpenShift's own provider.
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

/// The first words of operations.
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

/// Actions on existing resources.
const CHANGES: [&str; 3] = ["ec2:CreateTags", "ec2:ReleaseHosts", "ec2:TerminateInstances"];

/// The policies of machines; the CredentialsRequest is compared with the first.
const POLICIES: [&str; 2] = ["policy-machines", "policy-machines-of-one-cluster"];

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

fn actions(statements: &Value, field: &str) -> BTreeSet<String> {
    let statements = statements.as_array().unwrap().iter();
    let actions = statements.flat_map(|statement| statement[field].as_array().unwrap());
    actions.map(|action| action.as_str().unwrap().to_owned()).collect()
}

/// The SDK operations in the code: `.run_instances()` etc.
fn called() -> BTreeSet<String> {
    let mut called = BTreeSet::from(["ec2:DescribeRegions".to_owned()]);
    let mut paths = vec![root().join("src/machines")];
    while let Some(file) = paths.pop() {
        if file.is_dir() {
            paths.extend(std::fs::read_dir(&file).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if file.to_string_lossy().ends_with("tests.rs") {
            continue;
        }
        let is_elb = file.ends_with("load_balancers/calls.rs");
        let service = if is_elb { "elasticloadbalancing" } else { "ec2" };
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
fn policy_has_exactly_the_called_actions() {
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
fn policy_of_one_cluster_changes_only_resources_of_the_cluster() {
    let (every, one) = (policy(), named("policy-machines-of-one-cluster"));
    let (every, one) = (&every["Statement"], &one["Statement"]);
    assert_eq!(actions(one, "Action"), actions(every, "Action"));
    for statement in every.as_array().unwrap() {
        let mut statement = statement.clone();
        match statement["Sid"].as_str().unwrap() {
            "Instances" => continue,
            sid if sid.starts_with("InstanceProfiles") => {
                let roles = statement["Resource"].as_str().unwrap();
                statement["Resource"] = json!(roles.replace("/*", "/CLUSTER_NAME"));
            }
            _ => {}
        }
        assert!(one.as_array().unwrap().contains(&statement), "{statement}");
    }
    // Everything is created with this tag, and other controllers of the cluster set it too.
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

/// A role that a machine gets is a role that its user data has.
#[test]
fn only_roles_of_machines_are_passed_and_to_ec2_alone_in_all_partitions() {
    let services = json!(["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]);
    for name in POLICIES {
        let policy = named(name);
        let passes = |statement: &&Value| {
            let actions = actions(&json!([statement]), "Action");
            let covers = |action: &String| action == "*" || action.starts_with("iam:Pass");
            actions.iter().any(|action| covers(action) || action == "iam:*")
        };
        let passes: Vec<_> =
            policy["Statement"].as_array().unwrap().iter().filter(passes).collect();
        assert_eq!(passes.len(), 2, "{name}");
        for statement in passes {
            let role = statement["Resource"].as_str().unwrap();
            let role = role.strip_prefix("arn:*:iam::*:role/").unwrap_or_else(|| panic!("{role}"));
            assert!(role.ends_with("-worker-role") || role.ends_with("-master-role"), "{role}");
            let condition = json!({ "StringEquals": { "iam:PassedToService": services } });
            assert_eq!(statement["Condition"], condition, "{name}");
        }
    }
}

/// Keys are used for the volumes that EC2 encrypts, never directly.
#[test]
fn keys_are_used_through_ec2_only() {
    let via = json!({ "kms:ViaService": ["ec2.*.amazonaws.com", "ec2.*.amazonaws.com.cn"] });
    for name in POLICIES {
        let policy = named(name);
        let mut statements = 0;
        for statement in policy["Statement"].as_array().unwrap() {
            let actions = actions(&json!([statement]), "Action");
            if !actions.iter().any(|action| action == "*" || action.starts_with("kms:")) {
                continue;
            }
            statements += 1;
            assert_eq!(statement["Condition"]["StringLike"], via, "{name}: {statement}");
            if actions.contains("kms:CreateGrant") {
                let grant = json!({ "kms:GrantIsForAWSResource": "true" });
                assert_eq!(statement["Condition"]["Bool"], grant, "{name}: {statement}");
            }
        }
        assert_eq!(statements, 2, "{name}");
    }
}

#[test]
fn policy_is_within_openshifts_permissions_except_for_hosts() {
    let mut granted: BTreeSet<_> = OPENSHIFT.map(str::to_owned).into();
    granted.extend(BEYOND_OPENSHIFT.map(str::to_owned));
    let policy = actions(&policy()["Statement"], "Action");
    assert!(policy.is_subset(&granted), "{:?}", policy.difference(&granted).collect::<Vec<_>>());
}

#[test]
fn credentials_request_matches_the_policy() {
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
    let mut entries: Vec<_> = entries.as_array().unwrap().iter().map(of_request).collect();
    let annotator = entries.pop().unwrap();
    assert_eq!(entries, policy);
    assert_eq!(annotator, json!(["Allow", called_by_the_annotator(), "*", null]));
    let accounts = json!(["machinist-machines", "machineset-annotator"]);
    assert_eq!(request["spec"]["serviceAccountNames"], accounts);
}

/// The names of the operations in its client.
fn called_by_the_annotator() -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("src/ec2.rs")).unwrap();
    let names = text.split('"').skip(1).step_by(2);
    let described = names.filter(|name| name.starts_with("Describe"));
    described.map(|name| format!("ec2:{name}")).collect()
}
