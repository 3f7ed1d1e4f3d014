use std::fmt;

use machinist_aws_spec::config::Filter;
use machinist_domain::key::ObjectKey;
use machinist_domain::texts;
use machinist_provider::access::{CloudAccess, Credentials};
use machinist_provider::cloud::MachineRef;
use machinist_provider::cloud::ownership::TAG_MACHINE_UID;
pub(crate) use machinist_provider::messages::{
    instance_state, may_still_appear, no_instance, not_listed_yet, not_prepared, owner_changed,
    tags_differ,
};
use machinist_provider::node_groups::{GroupName, GroupRef, InstanceId};

use crate::errors::AwsError;
use crate::machines::tags::{MAX_TAGS, cluster_tags};

pub(crate) const SECRET_WITHOUT_CREDENTIALS: &str =
    "key credentials, or keys aws_access_key_id and aws_secret_access_key, must be set";
pub(crate) const SECRET_NOT_TEXT: &str = "values must be UTF-8 text";
pub(crate) const NO_CERTIFICATE: &str = "the custom CA bundle has no valid certificate; \
     see ConfigMap openshift-config-managed/kube-cloud-config, key ca-bundle.pem";
pub(crate) const NO_HOST_ID: &str = "the response contains no host id";
pub(crate) const NO_INSTANCE_ID: &str = "the response contains no instance id";
pub(crate) const NO_REFRESH_ID: &str = "the response contains no refresh id";
pub(crate) const TIMED_OUT: &str = "timed out";
pub(crate) const FETCH_PANICKED: &str =
    "the provider panicked when instance types were fetched; see the log of the controller";
pub(crate) const NO_SECURITY_GROUPS: &str = "securityGroups must not be empty";
pub(crate) const SPEC_EDITED: &str = "retrying with the edited spec";
pub(crate) const FILTERS_MATCH_OTHERS: &str =
    "retrying because the spec's filters match other resources now";
pub(crate) const REPEATING_HOST_REQUESTS: &str = "permission ec2:DescribeHosts is missing, so dedicated hosts \
     cannot be listed; grant it. Until then the last allocations are repeated with their tokens, \
     and their hosts released";

impl fmt::Display for AwsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchRegion(region) => write!(f, "region {region} is not a valid region"),
            Self::Access(failure) => f.write_str(&failure.message),
            Self::Refused { operation, code, message, .. } => {
                write!(f, "{operation} failed with {code}: {message}")
            }
            Self::NoResponse { operation, reason } => {
                write!(f, "{operation} got no response: {reason}")
            }
            Self::InvalidResponse { operation, status, reason } => {
                write!(f, "{operation} got an invalid response (HTTP {status}): {reason}")
            }
        }
    }
}

pub(crate) fn secret_unreadable(key: &ObjectKey, reason: String) -> String {
    if reason.contains(&key.to_string()) {
        reason
    } else {
        format!("cannot read Secret {key}: {reason}")
    }
}

texts! {
    pub(crate) fn invalid_secret(key: &ObjectKey, reason: &str) = "Secret {key} is invalid: {reason}";
    pub(crate) fn not_opted_in(region: &str) =
        "region {region} is not opted in; enable it for the AWS account";
    pub(crate) fn no_match(field: &str, what: &str, access: &CloudAccess, filters: &[Filter]) =
        "{field}: no {what} in {} matches {}", access.region, filters_text(filters);
    pub(crate) fn no_root_device(image: &str) = "ami: image {image} has no root device";
    pub(crate) fn user_data_unreadable(secret: &ObjectKey, reason: String) =
        "userDataSecret: {}", secret_unreadable(secret, reason);
    pub(crate) fn user_data_missing(secret: &ObjectKey, key: &str) =
        "userDataSecret: Secret {secret} has no key {key:?}";
    pub(crate) fn too_many_tags(field: &str, count: usize) =
        "{field}: {count} tags in total (spec, cluster and machinist); EC2 allows {MAX_TAGS}";
    pub(crate) fn unknown_launch_format(attempt: u32) =
        "status.providerStatus.launch of attempt {attempt} has an unknown format";
    pub(crate) fn region_changed(spec: &str, stored: &str) =
        "placement.region is {spec}, but this Machine was launched in {stored}; restore it or delete the Machine";
    pub(crate) fn invalid_platform_status(error: &serde_json::Error) =
        "status.platformStatus of Infrastructure cluster is invalid: {error}";
    pub(crate) fn wrong_account(error: &str, machine: &MachineRef) =
        "{error}; {} see nothing with tag {} in {}, so they may belong to another AWS account; \
         fix them, or add the tag to a security group or subnet of the cluster",
        credentials_text(&machine.access), cluster_tags(machine).join(" or "), machine.access.region;
    pub(crate) fn terminating(ids: &[String]) = "terminating instance {}", ids.join(", ");
    pub(crate) fn host_not_released(host: &str, why: &str) =
        "dedicated host {host} is not released yet: {why}";
    pub(crate) fn hosts_unknown(error: &str) =
        "cannot check for a dedicated host without permission ec2:DescribeHosts: {error}";
    pub(crate) fn not_registered(load_balancers: &[String]) =
        "not registered with load balancers: {}", load_balancers.join(", ");
    pub(crate) fn load_balancer_failed(name: &str, error: &str) = "load balancer {name}: {error}";
    pub(crate) fn no_target_group(name: &str) =
        "load balancer {name} has no target group for instances or IP addresses";
    pub(crate) fn load_balancers_unknown(error: &str) =
        "cannot determine the load balancers to deregister from: {error}";
    pub(crate) fn mark_too_long(length: usize) =
        "the plan of the recycle has {length} characters, which is more than the tags of a group hold";
    pub(crate) fn not_a_member(id: &InstanceId, group: &GroupRef) =
        "instance {id} is not a member of Auto Scaling group {group}";
    pub(crate) fn no_such_group(name: &GroupName) = "Auto Scaling group {name} does not exist";
    pub(crate) fn unexpected_document(root: &str, start: &str) = "expected {root}, got {start:?}";
    pub(crate) fn truncated_document(root: &str) = "{root} is truncated";
}

pub(crate) fn filters_text(filters: &[Filter]) -> String {
    let text = |filter: &Filter| format!("{}={}", filter.name, filter.values.join("|"));
    filters.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn credentials_text(access: &CloudAccess) -> String {
    match &access.credentials {
        Credentials::Ambient => "the credentials of this process".to_owned(),
        Credentials::Secret { key, .. } => format!("the credentials in Secret {key}"),
    }
}

#[derive(Debug)]
pub(crate) enum AccountMark<'a> {
    Account(&'a str),
    Subnet(String),
    ClusterTag,
}

pub(crate) fn account_not_visible(machine: &MachineRef, mark: &AccountMark<'_>) -> String {
    let mark = match mark {
        AccountMark::Account(id) => format!("of account {id}"),
        AccountMark::Subnet(id) => format!("of subnet {id}"),
        AccountMark::ClusterTag => format!("with tag {}", cluster_tags(machine).join(" or ")),
    };
    format!(
        "no instance found, but {} see nothing {mark} in {}, so they may belong to another AWS account; \
         restore the former credentials, or remove the Machine's finalizer if nothing is left",
        credentials_text(&machine.access),
        machine.access.region,
    )
}

pub(crate) fn no_credentials(reason: &str, from_secret: bool) -> String {
    let advice = if from_secret {
        "correct the Secret"
    } else {
        "set credentialsSecret in the provider spec, or give this process a role"
    };
    format!("no AWS credentials ({reason}); {advice}")
}

/// `other` is the uid in the instance's tag.
pub(crate) fn foreign_instance(id: &str, machine: &MachineRef, other: Option<&str>) -> String {
    let why = match other {
        Some(other) => format!("its tag {TAG_MACHINE_UID} is {other}"),
        None => format!(
            "it has neither tag {TAG_MACHINE_UID}={}, nor the Machine's name, nor the cluster's tag",
            machine.uid
        ),
    };
    format!(
        "instance {id} does not belong to this Machine: {why}; \
         correct spec.providerID and status.providerStatus.instanceId, or delete this Machine"
    )
}

pub(crate) fn maybe_own_instance(id: &str, machine: &MachineRef, other: Option<&str>) -> String {
    let uid = &machine.uid;
    match other {
        Some(other) => format!(
            "instance {id} has this Machine's name and cluster, but its tag {TAG_MACHINE_UID} is {other}; \
             set the tag to {uid}, or terminate the instance by hand"
        ),
        None => format!(
            "instance {id} of this Machine has neither tag {TAG_MACHINE_UID}, nor the Machine's name, \
             nor the cluster's tag; if it is this Machine's, set the tag to {uid} or terminate the instance by hand, \
             otherwise remove its id from spec.providerID and status.providerStatus.instanceId"
        ),
    }
}

#[cfg(test)]
mod tests {
    use machinist_domain::key::{Uid, Version};
    use machinist_domain::message_table::message_table;
    use machinist_domain::retry::{Category, Failure, Retry};
    use machinist_provider::cloud::ProviderStatus;
    use serde_json::value::RawValue;

    use super::*;

    fn machine() -> MachineRef {
        let secret = ObjectKey::new("ns", "aws");
        MachineRef {
            key: ObjectKey::new("ns", "worker-1"),
            uid: Uid("uid-1".into()),
            attempt: 1,
            cluster: "c1".into(),
            cluster_label: None,
            access: CloudAccess {
                region: "us-east-1".into(),
                credentials: Credentials::Secret { key: secret, version: Version(7) },
                endpoint: None,
                ca_bundle: None,
            },
            spec: RawValue::from_string("{}".to_owned()).unwrap().into(),
            provider_id: None,
            status: ProviderStatus::default(),
            created: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    fn aws_errors() -> Vec<AwsError> {
        let key = ObjectKey::new("ns", "aws");
        let failure = Failure {
            category: Category::Unavailable,
            retry: Retry::Backoff,
            message: "connection refused".to_owned(),
        };
        let operation = "RunInstances";
        vec![
            AwsError::secret(&key, failure),
            AwsError::invalid_access(invalid_secret(&key, SECRET_WITHOUT_CREDENTIALS)),
            AwsError::invalid_access(invalid_secret(&key, SECRET_NOT_TEXT)),
            AwsError::invalid_access(NO_CERTIFICATE),
            AwsError::NoSuchRegion("eu-x-1".to_owned()),
            AwsError::invalid_access(not_opted_in("eu-x-1")),
            AwsError::access(
                Category::Unauthorised,
                no_credentials("the environment has none", false),
            ),
            AwsError::access(Category::InvalidConfiguration, no_credentials("no profile x", true)),
            AwsError::access(Category::Unexpected, FETCH_PANICKED),
            AwsError::refused(operation, "VcpuLimitExceeded", "You have requested more", 400),
            AwsError::NoResponse { operation, reason: "connection closed".to_owned() },
            AwsError::NoResponse { operation, reason: TIMED_OUT.to_owned() },
            AwsError::incomplete(operation, NO_INSTANCE_ID),
            AwsError::incomplete("AllocateHosts", NO_HOST_ID),
            AwsError::incomplete("StartInstanceRefresh", NO_REFRESH_ID),
            AwsError::InvalidResponse {
                operation,
                status: 200,
                reason: unexpected_document("RunInstancesResponse", "<html>"),
            },
            AwsError::InvalidResponse {
                operation,
                status: 200,
                reason: truncated_document("RunInstancesResponse"),
            },
        ]
    }

    #[test]
    fn all_messages() {
        let (machine, mut ambient) = (machine(), machine());
        ambient.access.credentials = Credentials::Ambient;
        let filters =
            [Filter { name: "tag:Name".to_owned(), values: vec!["a".into(), "b".into()] }];
        let bad = serde_json::from_str::<bool>("1").unwrap_err();
        let mut rows: Vec<_> =
            aws_errors().iter().map(|error| ("AWS error", "", error.to_string())).collect();
        let mut add = |place, text: String| rows.push((place, "", text));
        for (field, what) in
            [("ami", "image"), ("subnet", "subnet"), ("securityGroups", "security group")]
        {
            add("launch", no_match(field, what, &machine.access, &filters));
        }
        add("launch", no_root_device("ami-1"));
        add("launch", NO_SECURITY_GROUPS.to_owned());
        let data = ObjectKey::new("ns", "data");
        add("launch", user_data_unreadable(&data, "connection refused".to_owned()));
        add("launch", user_data_missing(&data, "userData"));
        add("launch", too_many_tags("tags", 51));
        add("launch", unknown_launch_format(2));
        add("launch", region_changed("eu-west-1", "us-east-1"));
        add("launch", invalid_platform_status(&bad));
        add("launch", format!("…; {SPEC_EDITED}"));
        add("launch", format!("…; {FILTERS_MATCH_OTHERS}"));
        add("launch", wrong_account("…", &machine));
        add("launch", wrong_account("…", &ambient));
        add("describe", foreign_instance("i-1", &machine, Some("uid-2")));
        add("describe", foreign_instance("i-1", &machine, None));
        let subnet = AccountMark::Subnet("subnet-1".to_owned());
        for mark in [AccountMark::Account("123"), subnet, AccountMark::ClusterTag] {
            add("describe, delete", account_not_visible(&machine, &mark));
        }
        add("drift", not_registered(&["api".to_owned(), "ingress".to_owned()]));
        add("drift, delete", load_balancer_failed("api", "…"));
        add("drift, update", no_target_group("api"));
        add("delete", terminating(&["i-1".to_owned(), "i-2".to_owned()]));
        add("delete", maybe_own_instance("i-1", &machine, Some("uid-2")));
        add("delete", maybe_own_instance("i-1", &machine, None));
        add("delete", load_balancers_unknown("…"));
        add("delete", REPEATING_HOST_REQUESTS.to_owned());
        add("delete", host_not_released("h-1", "InvalidHost.Occupied: …"));
        add("delete", hosts_unknown("…"));
        add("node group", mark_too_long(3000));
        add("node group", not_a_member(&"i-1".into(), &GroupRef::new("us-east-1", "workers")));
        add("node group", no_such_group(&"workers".into()));
        insta::assert_snapshot!("messages", message_table(&rows));
    }
}
