use std::sync::Arc;
use std::time::Duration;

use aws_sdk_autoscaling::types::{
    AutoScalingGroup, Instance, InstanceRefresh, InstanceRefreshStatus, InstanceReusePolicy,
    LifecycleHook, LifecycleState, WarmPoolConfiguration,
};
use machinist_provider::node_groups::{
    Group, GroupName, Hook, InstanceFacts, InstanceId, Lifecycle, Member, Refresh, RefreshStatus,
    Sizes, WarmPool, mark,
};

use crate::machines::Ec2Instance;

const GROUP_TAG: &str = "aws:autoscaling:groupName";
/// Set by EKS on a managed group and its members.
const MANAGED_TAG: &str = "eks:nodegroup-name";
/// Tags with the node group's name, in order of preference.
const NODE_GROUP_TAGS: [&str; 2] = [MANAGED_TAG, "alpha.eksctl.io/nodegroup-name"];
const CLUSTER_TAGS: [&str; 3] =
    ["eks:cluster-name", "aws:eks:cluster-name", "alpha.eksctl.io/cluster-name"];
/// The prefix of the tag that contains the name of a self-managed cluster.
const CLUSTER_TAG_START: &str = "kubernetes.io/cluster/";
/// The prefix of lifecycle states in a warm pool.
const WARM: &str = "Warmed:";
const HEARTBEAT: u32 = 3600;

pub(super) fn facts(found: Ec2Instance) -> InstanceFacts {
    let text = |text: &str| Some(text).filter(|text| !text.is_empty()).map(Arc::from);
    let first = |names: &[&str]| names.iter().find_map(|name| found.tag(name)).and_then(text);
    let named =
        || found.tags.keys().find_map(|key| key.strip_prefix(CLUSTER_TAG_START)).and_then(text);
    InstanceFacts {
        state: found.state(),
        group: found.tag(GROUP_TAG).and_then(text).map(GroupName),
        node_group: first(&NODE_GROUP_TAGS),
        cluster: first(&CLUSTER_TAGS).or_else(named),
        instance_type: text(&found.instance_type),
        zone: text(&found.zone),
        id: InstanceId(found.id.into()),
    }
}

pub(super) fn group(group: &AutoScalingGroup) -> Option<Group> {
    let tag = |name: &str| {
        let tag = group.tags().iter().find(|tag| tag.key() == Some(name))?;
        Some(tag.value().unwrap_or_default())
    };
    let mut members: Vec<_> = group.instances().iter().filter_map(member).collect();
    members.sort_by(|a, b| a.id.cmp(&b.id));
    let suspended = group.suspended_processes().iter().filter_map(|one| one.process_name());
    let warm_size = group.warm_pool_size();
    Some(Group {
        name: group.auto_scaling_group_name()?.into(),
        sizes: Sizes {
            min: size(group.min_size()),
            max: size(group.max_size()),
            desired: size(group.desired_capacity()),
        },
        members,
        suspended: suspended.map(Arc::from).collect(),
        warm_pool: group.warm_pool_configuration().map(|pool| warm_pool(pool, warm_size)),
        hooks: Vec::new(),
        mark: mark::from_tags(tag),
        managed_by_eks: tag(MANAGED_TAG).is_some(),
        refresh: None,
        // A group has a status only while it is deleted.
        deleting: group.status().is_some_and(|status| status.starts_with("Delete")),
    })
}

fn size(size: Option<i32>) -> u32 {
    size.and_then(|size| u32::try_from(size).ok()).unwrap_or_default()
}

fn member(instance: &Instance) -> Option<Member> {
    let word = instance.lifecycle_state().map(LifecycleState::as_str).unwrap_or_default();
    if word.starts_with(WARM) {
        return None;
    }
    Some(Member {
        id: instance.instance_id()?.into(),
        lifecycle: lifecycle(word),
        healthy: instance.health_status().is_some_and(|word| word.eq_ignore_ascii_case("healthy")),
        protected_from_scale_in: instance.protected_from_scale_in().unwrap_or_default(),
        weight: instance.weighted_capacity().and_then(|text| text.parse().ok()).unwrap_or(1),
    })
}

/// `Pending:Wait` etc. are waits for a hook.
fn lifecycle(word: &str) -> Lifecycle {
    match word.split(':').next().unwrap_or_default() {
        "Pending" => Lifecycle::Pending,
        "InService" => Lifecycle::InService,
        "Terminating" => Lifecycle::Terminating,
        "Terminated" => Lifecycle::Terminated,
        "EnteringStandby" | "Standby" => Lifecycle::Standby,
        _ => Lifecycle::Other(word.into()),
    }
}

fn warm_pool(pool: &WarmPoolConfiguration, now: Option<i32>) -> WarmPool {
    let reuse = pool.instance_reuse_policy().and_then(InstanceReusePolicy::reuse_on_scale_in);
    WarmPool { size: size(now), reuses: reuse.unwrap_or_default() }
}

pub(super) fn hook(hook: &LifecycleHook) -> Option<Hook> {
    let transition = match hook.lifecycle_transition()? {
        "autoscaling:EC2_INSTANCE_LAUNCHING" => "Launching",
        "autoscaling:EC2_INSTANCE_TERMINATING" => "Terminating",
        _ => return None,
    };
    let heartbeat = hook.heartbeat_timeout().and_then(|seconds| u32::try_from(seconds).ok());
    Some(Hook {
        name: hook.lifecycle_hook_name()?.into(),
        transition,
        patience: Duration::from_secs(heartbeat.unwrap_or(HEARTBEAT).into()),
    })
}

pub(super) fn refresh(refresh: &InstanceRefresh) -> Option<Refresh> {
    let percentage = refresh.percentage_complete().unwrap_or_default().clamp(0, 100);
    Some(Refresh {
        id: refresh.instance_refresh_id()?.into(),
        status: status(refresh.status().map(InstanceRefreshStatus::as_str).unwrap_or_default()),
        percentage: u8::try_from(percentage).unwrap_or_default(),
        reason: refresh.status_reason().map(str::to_owned),
    })
}

fn status(word: &str) -> RefreshStatus {
    match word {
        "Pending" => RefreshStatus::Pending,
        "InProgress" => RefreshStatus::InProgress,
        "Successful" => RefreshStatus::Successful,
        "Failed" | "RollbackFailed" | "RollbackSuccessful" => RefreshStatus::Failed,
        "Cancelling" => RefreshStatus::Cancelling,
        "Cancelled" => RefreshStatus::Cancelled,
        other => RefreshStatus::Other(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_autoscaling::types::WarmPoolState;

    use super::*;

    #[test]
    fn waits_for_hooks_are_pending_or_terminating() {
        let cases = [
            ("Pending", Lifecycle::Pending),
            ("Pending:Wait", Lifecycle::Pending),
            ("Pending:Proceed", Lifecycle::Pending),
            ("InService", Lifecycle::InService),
            ("Terminating:Wait", Lifecycle::Terminating),
            ("Terminated", Lifecycle::Terminated),
            ("EnteringStandby", Lifecycle::Standby),
            ("Quarantined", Lifecycle::Other("Quarantined".into())),
            ("Detaching", Lifecycle::Other("Detaching".into())),
        ];
        for (word, expected) in cases {
            assert_eq!(lifecycle(word), expected, "{word}");
        }
    }

    #[test]
    fn warm_pool_instances_are_not_members() {
        let of = |id: &str, state, weight: Option<&str>| {
            let instance = Instance::builder().instance_id(id).lifecycle_state(state);
            instance.set_weighted_capacity(weight.map(str::to_owned)).build()
        };
        let pool = WarmPoolConfiguration::builder().pool_state(WarmPoolState::Stopped);
        let reuse = InstanceReusePolicy::builder().reuse_on_scale_in(true).build();
        let asked = AutoScalingGroup::builder()
            .auto_scaling_group_name("a")
            .instances(of("i-1", LifecycleState::InService, Some("4")))
            .instances(of("i-2", LifecycleState::InService, None))
            .instances(of("i-3", LifecycleState::WarmedStopped, None))
            .warm_pool_configuration(pool.instance_reuse_policy(reuse).build())
            .warm_pool_size(1)
            .build();
        let found = group(&asked).unwrap();
        let members: Vec<_> =
            found.members.iter().map(|member| (&*member.id.0, member.weight)).collect();
        assert_eq!(members, [("i-1", 4), ("i-2", 1)]);
        assert!(found.warm_pool.is_some_and(|pool| pool.reuses && pool.size == 1));
    }

    #[test]
    fn rolled_back_refresh_has_failed_and_unknown_status_is_running() {
        assert_eq!(status("RollbackSuccessful"), RefreshStatus::Failed);
        assert!(status("RollbackInProgress").is_running() && status("Baking").is_running());
        assert!(!status("Cancelled").is_running());
    }
}
