//! Auto Scaling groups, with the real SDK against moto behind the front.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use machinist_domain::retry::Failure;
use machinist_provider::Pending;
use machinist_provider::access::CloudAccess;
use machinist_provider::cloud::{CloudError, Effect as Happened, ErrorClass, InstanceState};
use machinist_provider::node_groups::{
    Group, GroupChange, GroupError, GroupName, GroupRef, InstanceId, Lifecycle, NodeGroups,
    RefreshStatus, Sizes, mark,
};
use machinist_provider::parts::{CloudTimings, Parts};
use machinist_provider::permit::{self, Permit};
use machinist_provider::platform::{NoPlatform, Platform};
use machinist_provider_aws::AwsProvider;
use machinist_testbed::aws::{
    Authority, AwsBed, Behaviour, Effect, Estate, Front, Rule, Transport,
};
use serde_json::value::RawValue;

use crate::support::{Counter, Secrets, bed, secret};

const REGION: &str = "eu-central-1";
const MINUTE: Duration = Duration::from_mins(1);
const START: GroupChange = GroupChange::StartRefresh { min_healthy: 50 };

/// Groups of one test, behind a front of its own.
struct Yard {
    bed: AwsBed,
    estate: Estate,
    groups: Arc<dyn NodeGroups>,
    counter: Arc<Counter>,
    parts: Parts,
}

impl Yard {
    async fn new() -> Self {
        static YARDS: AtomicU32 = AtomicU32::new(0);
        let bed = bed().await;
        let name = format!("yard-{}", YARDS.fetch_add(1, Ordering::Relaxed));
        let estate = Estate::found(bed.moto(), REGION, &name).await.unwrap();
        let secrets = Arc::new(Secrets::default());
        secrets.put("aws", &[("aws_access_key_id", "AKIAONE"), ("aws_secret_access_key", "x")]);
        let (counter, start) = (Arc::new(Counter::default()), Instant::now());
        let parts = Parts {
            secrets,
            platform: Arc::new(NoPlatform),
            metrics: Arc::clone(&counter) as _,
            clock: Arc::new(move || start.elapsed()),
            spawn: Arc::new(|task| drop(tokio::spawn(task))),
            timings: CloudTimings::default(),
        };
        let access = CloudAccess {
            region: "".into(),
            credentials: secret("aws", 1),
            endpoint: Some(bed.endpoint_url().into()),
            ca_bundle: None,
        };
        let groups = AwsProvider::default().node_groups_as(&parts, access);
        Self { bed, estate, groups, counter, parts }
    }

    fn front(&self) -> &Front {
        self.bed.front()
    }

    /// A group that no other test uses.
    fn named(&self, name: &str) -> GroupRef {
        GroupRef::new(REGION, format!("{}-{name}", self.estate.name()))
    }

    async fn group(&self, name: &str, sizes: [u32; 3], tags: &[(&str, &str)]) -> GroupRef {
        let group = self.named(name);
        self.estate.create_group(&group.name.0, sizes, tags).await.unwrap();
        group
    }

    async fn seen(&self, group: &GroupRef) -> Group {
        let name = std::slice::from_ref(&group.name);
        self.groups.describe(REGION, name).await.unwrap().pop().unwrap()
    }

    /// The group that each instance is in.
    async fn groups_of(&self, ids: &[InstanceId]) -> BTreeMap<InstanceId, Option<GroupName>> {
        let found = self.groups.instances(REGION, ids).await.unwrap();
        found.into_iter().map(|instance| (instance.id, instance.group)).collect()
    }

    /// A change that fails only because of the cloud.
    async fn change(&self, group: &GroupRef, change: GroupChange) -> Result<(), CloudError> {
        self.groups.change(group, &change).await.map_err(|error| match error {
            GroupError::Cloud(error) => error,
            other => panic!("not a failure of the cloud: {other}"),
        })
    }

    async fn mark(&self, group: &GroupRef, text: &str) -> Result<(), CloudError> {
        self.change(group, GroupChange::Mark(text.to_owned())).await
    }

    async fn unmark(&self, group: &GroupRef) -> Result<(), CloudError> {
        self.change(group, GroupChange::Unmark).await
    }

    async fn terminate(&self, group: &GroupRef, id: &InstanceId) -> Result<(), CloudError> {
        self.change(group, GroupChange::Terminate(id.clone())).await
    }

    async fn resize(&self, group: &GroupRef, from: Sizes, to: Sizes) -> Result<(), GroupError> {
        self.groups.change(group, &GroupChange::Resize { from, to }).await
    }

    async fn truth(&self, group: &GroupRef) -> [u32; 3] {
        self.estate.group(&group.name.0).await.unwrap().unwrap().sizes
    }
}

fn sizes(min: u32, max: u32, desired: u32) -> Sizes {
    Sizes { min, max, desired }
}

#[tokio::test]
async fn finds_the_group_of_an_instance() {
    let yard = Yard::new().await;
    let managed = [("eks:nodegroup-name", "workers"), ("eks:cluster-name", "prod")];
    let managed = yard.group("eks-workers-1234", [1, 3, 2], &managed).await;
    let own = [("alpha.eksctl.io/nodegroup-name", "own")];
    let own = yard.group("own", [0, 1, 1], &own).await;
    let single: InstanceId = (&*yard.estate.launch(&[("team", "a")]).await.unwrap()).into();
    let unknown: InstanceId = "i-0ffffffffffffffff".into();

    let mut ids: Vec<_> = Vec::new();
    for group in [&managed, &own] {
        ids.extend(yard.seen(group).await.members.into_iter().map(|member| member.id));
    }
    ids.extend([single.clone(), unknown.clone()]);
    let groups = yard.groups_of(&ids).await;
    assert_eq!(groups.len(), 4, "{groups:?}");
    assert_eq!(groups[&ids[0]].as_ref(), Some(&managed.name));
    assert_eq!(groups[&ids[2]].as_ref(), Some(&own.name));
    assert_eq!(groups[&single], None);
    assert!(!groups.contains_key(&unknown));

    let facts = yard.groups.instances(REGION, &ids[..1]).await.unwrap().pop().unwrap();
    assert_eq!(facts.state, InstanceState::Running);
    assert_eq!(facts.node_group.as_deref(), Some("workers"));
    assert_eq!(facts.cluster.as_deref(), Some("prod"));
    assert_eq!(facts.instance_type.as_deref(), Some("m5.large"));
    assert!(yard.seen(&managed).await.managed_by_eks && !yard.seen(&own).await.managed_by_eks);
}

#[tokio::test]
async fn instances_and_groups_are_described_in_batches_and_pages() {
    let yard = Yard::new().await;
    let group = yard.group("many", [0, 9, 3], &[]).await;
    let member = yard.seen(&group).await.members[0].id.clone();
    let mut ids: Vec<InstanceId> =
        (0..450).map(|number| format!("i-{number:017x}").as_str().into()).collect();
    ids.push(member);
    let before = yard.front().calls_of("DescribeInstances").len();
    let found = yard.groups_of(&ids).await;
    assert_eq!(found.into_values().collect::<Vec<_>>(), [Some(group.name.clone())]);
    assert_eq!(yard.front().calls_of("DescribeInstances").len() - before, 3);

    let mut names: Vec<GroupName> =
        (0..60).map(|number| format!("none-{number}").as_str().into()).collect();
    names.push(group.name.clone());
    let before = yard.front().calls_of("DescribeAutoScalingGroups").len();
    let found = yard.groups.describe(REGION, &names).await.unwrap();
    assert_eq!(found.len(), 1, "groups that do not exist are left out");
    assert_eq!(yard.front().calls_of("DescribeAutoScalingGroups").len() - before, 2);

    assert!(yard.groups.describe(REGION, &[]).await.unwrap().is_empty(), "never all of them");
    assert!(yard.groups_of(&[]).await.is_empty());
    let counted = yard.counter.calls.lock().len();
    assert_eq!(counted, yard.front().calls().len(), "every page is counted");
}

#[tokio::test]
async fn describes_unusual_groups() {
    let yard = Yard::new().await;
    let group = yard.group("odd", [1, 4, 2], &[]).await;
    let name = &*group.name.0;
    yard.estate.suspend(name, "Launch").await.unwrap();
    yard.estate.suspend(name, "AZRebalance").await.unwrap();
    let named = ("AutoScalingGroupName", name);
    let hook = [
        named,
        ("LifecycleHookName", "drain"),
        ("LifecycleTransition", "autoscaling:EC2_INSTANCE_TERMINATING"),
        ("HeartbeatTimeout", "120"),
        ("DefaultResult", "CONTINUE"),
    ];
    yard.estate.change_group("PutLifecycleHook", &hook).await.unwrap();
    let pool = [named, ("MinSize", "1"), ("PoolState", "Stopped")];
    yard.estate.change_group("PutWarmPool", &pool).await.unwrap();
    let plain = yard.seen(&group).await;
    let protected = &plain.members[0].id;
    let protection =
        [named, ("InstanceIds.member.1", &*protected.0), ("ProtectedFromScaleIn", "true")];
    yard.estate.change_group("SetInstanceProtection", &protection).await.unwrap();

    let seen = yard.seen(&group).await;
    assert_eq!(seen.sizes, sizes(1, 4, 2));
    let suspended = ["AZRebalance".into(), "Launch".into()];
    assert_eq!(seen.suspended, suspended.into());
    let hooks: Vec<_> = seen.hooks.iter().map(|hook| (hook.transition, hook.patience)).collect();
    assert_eq!(hooks, [("Terminating", 2 * MINUTE)]);
    assert!(seen.warm_pool.is_some());
    let flags: Vec<_> = seen.members.iter().map(|one| one.protected_from_scale_in).collect();
    assert_eq!(flags, [true, false]);
    let well = |member: &machinist_provider::node_groups::Member| {
        member.healthy && member.lifecycle == Lifecycle::InService
    };
    assert!(seen.members.iter().all(well) && !seen.deleting, "{seen:?}");
    assert_eq!((seen.mark, seen.refresh), (None, None));
}

#[tokio::test]
async fn mark_of_any_length_is_stored_replaced_and_removed() {
    let yard = Yard::new().await;
    let group = yard.group("marked", [0, 1, 1], &[("team", "a")]).await;
    let long = "v1 i-0123456789abcdef0 ".repeat(60);
    for text in [long.trim(), "v1 short", long.trim()] {
        yard.mark(&group, text).await.unwrap();
        assert_eq!(yard.seen(&group).await.mark.as_deref(), Some(text));
    }
    assert_eq!(yard.front().calls_of("CreateOrUpdateTags").len(), 3, "one call for each text");
    let member = yard.seen(&group).await.members[0].id.clone();
    yard.terminate(&group, &member).await.unwrap();
    let marked =
        |tags: &BTreeMap<String, String>| tags.keys().any(|key| key.starts_with(mark::KEY));
    let instances = yard.estate.live().await.unwrap();
    assert!(!instances.iter().any(|instance| marked(&instance.tags)), "members do not get it");

    let too_much = yard.mark(&group, "{}").await.unwrap_err();
    assert_eq!(too_much.class, ErrorClass::InvalidConfiguration);
    for _ in 0..2 {
        yard.unmark(&group).await.unwrap();
        let tags = yard.estate.group(&group.name.0).await.unwrap().unwrap().tags;
        assert!(!marked(&tags) && tags["team"] == "a", "{tags:?}");
    }
    let missing = yard.named("missing");
    yard.unmark(&missing).await.unwrap();
    let error = yard.mark(&missing, "v1").await.unwrap_err();
    assert_eq!(error.class, ErrorClass::NotFound, "{error}");
}

#[tokio::test]
async fn a_member_is_terminated_and_replaced_and_the_size_stays() {
    let yard = Yard::new().await;
    let group = yard.group("replaced", [2, 2, 2], &[]).await;
    let other = yard.group("other", [0, 1, 1], &[]).await;
    let stranger = yard.seen(&other).await.members[0].id.clone();
    let old = yard.seen(&group).await.members;
    yard.front().behave(Behaviour {
        launch_after: MINUTE,
        pending_for: MINUTE,
        shutting_down_for: MINUTE,
        ..Behaviour::default()
    });
    yard.terminate(&group, &old[0].id).await.unwrap();
    let ids = std::slice::from_ref(&old[0].id);
    let state = async || yard.groups.instances(REGION, ids).await.unwrap()[0].state;
    assert_eq!(state().await, InstanceState::Terminating);
    assert_eq!(yard.seen(&group).await.members, old[1..]);
    let repeat = yard.terminate(&group, &old[0].id).await.unwrap_err();
    assert_eq!(repeat.class, ErrorClass::NotFound, "{repeat}");

    yard.front().clock().advance(MINUTE);
    assert_eq!(state().await, InstanceState::Terminated);
    let lifecycles = async || -> Vec<Lifecycle> {
        let members = yard.seen(&group).await.members.into_iter();
        let new = members.filter(|member| member.id != old[1].id);
        new.map(|member| member.lifecycle).collect()
    };
    assert_eq!(lifecycles().await, [Lifecycle::Pending]);
    yard.front().clock().advance(MINUTE);
    assert_eq!(lifecycles().await, [Lifecycle::InService]);
    assert_eq!(yard.seen(&group).await.sizes, sizes(2, 2, 2));

    let before = yard.front().calls_of("TerminateInstanceInAutoScalingGroup").len();
    let error = yard.terminate(&group, &stranger).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::NotFound, "{error}");
    let error = yard.terminate(&yard.named("missing"), &stranger).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::NotFound, "{error}");
    let after = yard.front().calls_of("TerminateInstanceInAutoScalingGroup").len();
    assert_eq!(before, after, "a member of another group is not touched");
}

#[tokio::test]
async fn concurrent_size_changes_are_not_overwritten() {
    let yard = Yard::new().await;
    let group = yard.group("sized", [1, 3, 2], &[]).await;
    let (full, zero) = (sizes(1, 3, 2), Sizes::ZERO);
    yard.resize(&group, full, zero).await.unwrap();
    assert_eq!(yard.truth(&group).await, [0, 0, 0]);
    yard.resize(&group, full, zero).await.unwrap();
    assert_eq!(yard.front().calls_of("UpdateAutoScalingGroup").len(), 1, "it was done already");

    yard.estate.resize_group(&group.name.0, [0, 5, 1]).await.unwrap();
    let error = yard.resize(&group, zero, full).await.unwrap_err();
    assert_eq!(error, GroupError::Changed { found: sizes(0, 5, 1) });
    assert_eq!(yard.truth(&group).await, [0, 5, 1]);
    assert_eq!(yard.front().calls_of("UpdateAutoScalingGroup").len(), 1, "nothing was written");
}

#[tokio::test]
async fn lost_response_is_unclear_and_repeatable() {
    let yard = Yard::new().await;
    let group = yard.group("lost", [1, 3, 2], &[]).await;
    let lose = |action: &str| yard.front().inject(Rule::next(action, Effect::ResetAfter));
    lose("UpdateAutoScalingGroup");
    let (from, to) = (sizes(1, 3, 2), sizes(1, 3, 3));
    let GroupError::Cloud(error) = yard.resize(&group, from, to).await.unwrap_err() else {
        panic!("not a failure of the cloud")
    };
    assert_eq!((error.class, error.effect), (ErrorClass::Unavailable, Happened::Unclear));
    assert_eq!(yard.truth(&group).await, [1, 3, 3], "it was done all the same");
    yard.resize(&group, from, to).await.unwrap();

    lose("CreateOrUpdateTags");
    yard.mark(&group, "v1").await.unwrap_err();
    yard.mark(&group, "v1").await.unwrap();
    let member = yard.seen(&group).await.members[0].id.clone();
    lose("TerminateInstanceInAutoScalingGroup");
    let error = yard.terminate(&group, &member).await.unwrap_err();
    assert_eq!(error.effect, Happened::Unclear, "{error}");
    let error = yard.terminate(&group, &member).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::NotFound, "{error}");
    assert_eq!(yard.truth(&group).await, [1, 3, 3], "one was replaced, and only one");
    lose("DeleteTags");
    yard.unmark(&group).await.unwrap_err();
    yard.unmark(&group).await.unwrap();
    assert!(yard.front().unmet_rules().is_empty());
}

/// Its virtual machine is suspended after the group was described; meanwhile another leader finishes the recycle.
#[tokio::test]
async fn leader_that_was_suspended_after_describe_sends_no_update() {
    let yard = Yard::new().await;
    let group = yard.group("suspended", [1, 3, 2], &[]).await;
    let counter = Arc::clone(&yard.counter);
    let resumed = move || counter.calls.lock().iter().any(|(name, _)| name.contains("Describe"));
    let permit = Permit::new(move || (!resumed()).then_some(MINUTE));
    let change = GroupChange::Resize { from: sizes(1, 3, 2), to: Sizes::ZERO };
    let changed = permit::within(permit, yard.groups.change(&group, &change)).await;
    let Err(GroupError::Cloud(error)) = changed else { panic!("{changed:?}") };
    assert_eq!((error.class, error.effect), (ErrorClass::NotLeader, Happened::None), "{error}");
    assert_eq!(yard.front().calls_of("DescribeAutoScalingGroups").len(), 1);
    assert_eq!(yard.front().calls_of("UpdateAutoScalingGroup").len(), 0);
    assert_eq!(yard.truth(&group).await, [1, 3, 2]);
    yard.groups.change(&group, &change).await.unwrap();
    assert_eq!(yard.truth(&group).await, [0, 0, 0]);
}

#[tokio::test]
async fn refusals_by_class() {
    let yard = Yard::new().await;
    let group = yard.group("refused", [1, 3, 2], &[]).await;
    let refuse = |status: u16, code: &str| Effect::Refuse {
        status: http::StatusCode::from_u16(status).unwrap(),
        code: code.to_owned(),
        message: "no".to_owned(),
    };
    let cases = [
        (Effect::Throttle, ErrorClass::Throttled),
        (refuse(403, "AccessDenied"), ErrorClass::Unauthorised),
        (refuse(500, "ResourceContention"), ErrorClass::Unavailable),
        (refuse(400, "ScalingActivityInProgress"), ErrorClass::Unavailable),
        (refuse(400, "ValidationError"), ErrorClass::InvalidConfiguration),
        (Effect::ResetBefore, ErrorClass::Unavailable),
    ];
    for (effect, class) in cases {
        yard.front().inject(Rule::next("UpdateAutoScalingGroup", effect.clone()));
        let error = yard.resize(&group, sizes(1, 3, 2), Sizes::ZERO).await.unwrap_err();
        let GroupError::Cloud(error) = error else { panic!("{effect:?}: {error}") };
        assert_eq!(error.class, class, "{effect:?}: {error}");
    }
    assert_eq!(yard.truth(&group).await, [1, 3, 2]);
    yard.front().inject(Rule::next("DescribeAutoScalingGroups", Effect::Throttle));
    let name = std::slice::from_ref(&group.name);
    let error = yard.groups.describe(REGION, name).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Throttled, "could not ask is not absent");
    yard.front().inject(Rule::next("DescribeAutoScalingGroups", Effect::Garble));
    let error = yard.groups.describe(REGION, name).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Unavailable, "a page of HTML is not an empty list");
}

#[tokio::test]
async fn a_refresh_is_started_once_followed_and_stopped() {
    let yard = Yard::new().await;
    let group = yard.group("refreshed", [2, 2, 2], &[]).await;
    let old = yard.seen(&group).await.members;
    yard.front().behave(Behaviour { refresh_step: MINUTE, ..Behaviour::default() });
    yard.change(&group, START).await.unwrap();
    let id = yard.seen(&group).await.refresh.unwrap().id;
    let sent = &yard.front().calls_of("StartInstanceRefresh")[0].parameters;
    assert_eq!(sent["Preferences.MinHealthyPercentage"], "50");
    assert_eq!(sent["Preferences.SkipMatching"], "false");
    let again = yard.groups.change(&group, &START).await.unwrap_err();
    assert_eq!(again, GroupError::RefreshRunning);
    let progress = async || {
        let refresh = yard.seen(&group).await.refresh.unwrap();
        (refresh.id, refresh.status, refresh.percentage)
    };
    assert_eq!(progress().await, (id.clone(), RefreshStatus::Pending, 0));
    yard.front().clock().advance(MINUTE);
    assert_eq!(progress().await, (id.clone(), RefreshStatus::InProgress, 50));

    for _ in 0..2 {
        yard.change(&group, GroupChange::CancelRefresh).await.unwrap();
        assert_eq!(progress().await, (id.clone(), RefreshStatus::Cancelled, 50));
    }
    yard.front().clock().advance(5 * MINUTE);
    let members = yard.seen(&group).await.members;
    assert!(members.contains(&old[1]) && !members.contains(&old[0]), "{members:?}");
    yard.change(&group, START).await.unwrap();
    let second = yard.seen(&group).await.refresh.unwrap().id;
    assert_ne!(second, id);
    yard.front().clock().advance(2 * MINUTE);
    assert_eq!(progress().await, (second, RefreshStatus::Successful, 100));
    let error = yard.change(&yard.named("missing"), START).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::NotFound, "{error}");
}

/// OpenShift's Infrastructure names endpoints, and a ConfigMap their CA.
#[tokio::test]
async fn endpoints_and_ca_of_the_cluster_are_used() {
    struct Settings(String, Arc<str>);
    impl Platform for Settings {
        fn status(&self) -> Pending<'_, Result<Option<Arc<RawValue>>, Failure>> {
            let status = RawValue::from_string(self.0.clone()).unwrap();
            Box::pin(std::future::ready(Ok(Some(Arc::from(status)))))
        }

        fn ca_bundle(&self) -> Pending<'_, Result<Option<Arc<str>>, Failure>> {
            Box::pin(std::future::ready(Ok(Some(Arc::clone(&self.1)))))
        }
    }
    let yard = Yard::new().await;
    let group = yard.group("settings", [0, 1, 1], &[]).await;
    let tls = || async {
        yard.bed.another_front(Transport::Tls(Authority::new().unwrap())).await.unwrap()
    };
    let (ec2, scaling) = (tls().await, tls().await);
    let (ec2_url, scaling_url) = (ec2.endpoint_url(), scaling.endpoint_url());
    let status = format!(
        r#"{{"aws": {{"serviceEndpoints": [{{"name": "ec2", "url": "{ec2_url}"}},
            {{"name": "autoscaling", "url": "{scaling_url}"}}]}}}}"#
    );
    let bundle = format!("{}{}", ec2.ca_pem().unwrap(), scaling.ca_pem().unwrap());
    let parts = Parts { platform: Arc::new(Settings(status, bundle.into())), ..yard.parts.clone() };
    let access = CloudAccess {
        region: "".into(),
        credentials: secret("aws", 1),
        endpoint: None,
        ca_bundle: None,
    };
    let groups = AwsProvider::default().node_groups_as(&parts, access);
    let seen = groups.describe(REGION, std::slice::from_ref(&group.name)).await.unwrap();
    let ids: Vec<_> = seen[0].members.iter().map(|member| member.id.clone()).collect();
    assert_eq!(groups.instances(REGION, &ids).await.unwrap().len(), 1);
    assert_eq!(scaling.front().calls_of("DescribeAutoScalingGroups").len(), 1);
    assert_eq!(ec2.front().calls_of("DescribeInstances").len(), 1);
}
